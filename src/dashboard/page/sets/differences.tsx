/** Changes on the nodes of a plan: one section per difference, with its impact, and with node names if there are several differences. */
import type { RolloutPlanNode } from '../../wire.js';
import { ConfigDiffView } from '../parts/config-diff.js';
import { NodeLinks } from '../parts/node-links.js';
import { Section } from '../parts/panels.js';
import { changeGroups } from './plan-view.js';

export function Differences({ nodes }: { nodes: readonly RolloutPlanNode[] }) {
  const groups = changeGroups(nodes);
  return (
    <>
      {groups.map(({ names, difference, notes }) => (
        <Section
          key={names[0]}
          title={`Difference on ${names.length} ${names.length === 1 ? 'node' : 'nodes'}${difference === undefined ? ': not known' : ''}`}
        >
          {groups.length > 1 && <NodeLinks names={names.slice(0, 10)} count={names.length} />}
          {difference && <ConfigDiffView diff={{ from: 'what runs', to: 'this set', ...difference }} />}
          {notes.map((text) => (
            <p key={text} class="hint">
              {text}
            </p>
          ))}
        </Section>
      ))}
    </>
  );
}
