/** Nodes on which a revision failed: the reason, and the kubelet's own error. */
import type { SetSummary } from '../../wire.js';
import { link } from '../router.js';
import { failuresText } from './set-view.js';

export function Failures({ set }: { set: SetSummary }) {
  const { failures, nodes } = set;
  if (failures.length === 0) return null;
  return (
    <div class="failures">
      <p>{failuresText(set)}</p>
      {failures.map(({ node, reason, message, line }) => (
        <div key={node}>
          <p>
            <a href={link(['nodes', node])}>{node}</a> {message} <span class="reason">{reason}</span>
          </p>
          {line !== '' && <pre class="cause">{line}</pre>}
        </div>
      ))}
      {nodes.failed > failures.length && (
        <p>
          <a href={link([], { set: set.name, state: 'in trouble' })}>and {nodes.failed - failures.length} more</a>
        </p>
      )}
    </div>
  );
}
