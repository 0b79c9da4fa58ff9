/** Links to nodes by name: all of a few, or the first of many. */
import type { NodeNames } from '../../wire.js';
import { link } from '../router.js';

export function NodeLinks({ names, count }: NodeNames) {
  const more = count - names.length;
  if (count === 0) return <>none</>;
  return (
    <>
      {names.map((name, at) => (
        <span key={name} class="node-name">
          {at > 0 && ', '}
          <a href={link(['nodes', name])}>{name}</a>
        </span>
      ))}
      {more > 0 && ` and ${more.toLocaleString('en')} more`}
    </>
  );
}

/** One by its name; many as a number that opens. */
export function NodeCount({ nodes }: { nodes: NodeNames }) {
  if (nodes.count === 1) return <NodeLinks {...nodes} />;
  return (
    <details>
      <summary>{nodes.count.toLocaleString('en')} nodes</summary>
      <NodeLinks {...nodes} />
    </details>
  );
}
