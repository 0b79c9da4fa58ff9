/** One config: its text, the nodes and sets that use it, and the changes of nodes to it and from it. */
import type { ConfigDetails } from '../../wire.js';
import { apiPath } from '../api.js';
import { ChangeTable } from '../fleet/timeline.js';
import { Age } from '../parts/age.js';
import { ButtonLink } from '../parts/button.js';
import { Facts } from '../parts/facts.js';
import { NodeLinks } from '../parts/node-links.js';
import { Loaded, PageTitle, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';
import { link } from '../router.js';

export function ConfigPage({ namespace, name }: { namespace: string; name: string }) {
  const config = useResource<ConfigDetails>(apiPath('configs', namespace, name));
  const nodes = <ButtonLink href={link([], { config: name })}>Its nodes in the fleet</ButtonLink>;
  return (
    <>
      <PageTitle actions={nodes}>{name}</PageTitle>
      <Loaded resource={config}>{(data) => <Config config={data} />}</Loaded>
    </>
  );
}

function Config({ config }: { config: ConfigDetails }) {
  const { documents, nodeNames, nodes, sets, history } = config;
  return (
    <>
      <Facts
        facts={[
          ['Namespace', config.namespace],
          ['Age', <Age key="age" ms={config.createdAt} />],
          ['Sets', sets.length > 0 && sets.map((set) => <a key={set} href={link(['sets', set])}>{`${set} `}</a>)],
          ['Nodes', <NodeLinks key="nodes" names={nodeNames} count={nodes} />],
          ['Unused', config.unused && 'Nothing refers to it any more; `relet gc` removes it.'],
        ]}
      />
      {Object.entries(documents).map(([key, { text, isOverlay }]) => (
        <Section key={key} title={`${isOverlay ? 'Overlay' : 'Whole config'}, key ${key}`}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre class="log" tabIndex={0}>
            {text}
          </pre>
        </Section>
      ))}
      {history.length > 0 && (
        <Section title="Changes to it and from it">
          <ChangeTable changes={history} differences={config.namespace} />
        </Section>
      )}
    </>
  );
}
