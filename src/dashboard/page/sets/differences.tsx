/** Changes on the nodes of a plan: one section for each difference, with its impact. */
import type { RolloutPlanNode } from '../../wire.js';
import { ConfigDiffView } from '../parts/config-diff.js';
import { Section } from '../parts/panels.js';
import { changeGroups } from './plan-view.js';
import { NodeLinks } from './waves.js';

export function Differences({ nodes }: { nodes: readonly RolloutPlanNode[] }) {
  return (
    <>
      {changeGroups(nodes).map(({ names, difference, notes }) => (
        <Section
          key={names[0]}
          title={`Difference on ${names.length} ${names.length === 1 ? 'node' : 'nodes'}${difference === undefined ? ': not known' : ''}`}
        >
          <NodeLinks names={names.slice(0, 10)} total={names.length} />
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
