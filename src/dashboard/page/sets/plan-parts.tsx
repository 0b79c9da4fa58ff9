/** Parts of a plan that preview and approval share: nodes that would reject the config, and pods that a drain would move. */
import type { RolloutPlan } from '../../wire.js';
import { DataTable } from '../parts/data-table.js';
import { NodeLinks } from '../parts/node-links.js';
import { Section } from '../parts/panels.js';
import { link } from '../router.js';

export function Rejections({ rejections = [] }: Pick<RolloutPlan, 'rejections'>) {
  if (rejections.length === 0) return null;
  return (
    <Section title="Nodes that would reject it">
      <DataTable
        caption="Rejections"
        rows={rejections}
        rowKey={({ nodes, kubeletVersion, message }) => JSON.stringify([nodes[0], kubeletVersion, message])}
        columns={[
          { title: 'Kubelet', cell: ({ kubeletVersion }) => kubeletVersion },
          { title: 'Nodes', cell: ({ nodes }) => <NodeLinks names={nodes.slice(0, 5)} count={nodes.length} /> },
          { title: 'Reason', cell: ({ reason }) => <span class="reason">{reason}</span> },
          { title: 'Why', cell: ({ message }) => message, isText: true },
        ]}
      />
    </Section>
  );
}

const mostDrains = 50;
const mostPods = 10;

/** Absent where nothing is drained: then no pod moves. */
export function Drains({ drains }: Pick<RolloutPlan, 'drains'>) {
  if (drains.length === 0) return null;
  return (
    <Section title={`Drained first: ${drains.length}`}>
      <DataTable
        caption="Nodes that are drained first"
        rows={drains.slice(0, mostDrains)}
        rowKey={({ node }) => node}
        columns={[
          { title: 'Node', cell: ({ node }) => <a href={link(['nodes', node])}>{node}</a> },
          {
            title: 'Pods that move',
            cell: ({ pods }) =>
              pods === undefined
                ? 'not known'
                : `${pods.slice(0, mostPods).join(', ') || 'none'}${moreText(pods.length)}`,
            isText: true,
          },
          { title: 'Cannot be drained as things are', cell: ({ undrainable = '' }) => undrainable, isText: true },
        ]}
      />
      {drains.length > mostDrains && <p class="muted">and {drains.length - mostDrains} more nodes</p>}
    </Section>
  );
}

const moreText = (pods: number): string => (pods > mostPods ? ` and ${pods - mostPods} more` : '');
