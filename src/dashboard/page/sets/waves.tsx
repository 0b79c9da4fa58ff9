/** The waves of a rollout as they happen, and its budgets with the nodes that use them. */
import type { Budget } from '../../../api/node-config-set.js';
import { tryParseDuration } from '../../../go/duration.js';
import type { SetDetails } from '../../wire.js';
import { rowsByName, rowsVersion } from '../fleet/fleet-store.js';
import { Countdown } from '../parts/age.js';
import { NodeLinks } from '../parts/node-links.js';
import { StateSign } from '../parts/state-badge.js';
import { link } from '../router.js';
import { ProgressBar, ProgressText } from './progress-bar.js';
import { nodesOfWave, waveViews } from './set-view.js';

export function Waves({ set }: { set: SetDetails }) {
  const views = waveViews(set.waves, { stopped: set.assessment === 'stopped' });
  return (
    <ol class="waves">
      {views.map(({ wave, own, parts, state, isSkipped }, at) => (
        <li
          key={wave}
          class={`wave ${state.replace(/\W.*/, '')}`}
          aria-current={wave === set.status.wave ? 'step' : undefined}
        >
          <div class="wave-head">
            <strong>Wave {wave}</strong>
            <span>
              {own} {own === 1 ? 'node' : 'nodes'}
            </span>
            <span class="wave-state">{state}</span>
            {!isSkipped && set.assessment !== 'stopped' && <After wave={set.waves[at]!} />}
          </div>
          {!isSkipped && <ProgressBar parts={parts} label={`Wave ${wave}`} />}
          <ProgressText parts={parts} />
          <WaveNodes set={set} wave={wave} />
        </li>
      ))}
    </ol>
  );
}

const mostNodes = 30;

/** Opens by itself in the present wave. */
function WaveNodes({ set, wave }: { set: SetDetails; wave: number }) {
  rowsVersion.value;
  const rows = nodesOfWave(rowsByName(), set, wave);
  if (rows.length === 0) return null;
  return (
    <details open={wave === set.status.wave}>
      <summary>
        {rows.length.toLocaleString('en')} {rows.length === 1 ? 'node' : 'nodes'} of this wave
      </summary>
      <ul class="wave-nodes">
        {rows.slice(0, mostNodes).map((row) => (
          <li key={row.name}>
            <StateSign state={row.state} /> <a href={link(['nodes', row.name])}>{row.name}</a>{' '}
            <span class="muted">
              {row.state === 'trial' && row.trialEndsAt > 0 ? (
                <>
                  trial, <Countdown endMs={row.trialEndsAt} />
                </>
              ) : (
                row.error || row.state
              )}
              {!row.ready && ', not ready'}
            </span>
          </li>
        ))}
      </ul>
      {rows.length > mostNodes && <a href={link([], { set: set.name })}>and {rows.length - mostNodes} more</a>}
    </details>
  );
}

/** Pause before the next wave. */
function After({ wave: { state, soak, approve, endedAt } }: { wave: SetDetails['waves'][number] }) {
  if (state === 'Soaking' && endedAt !== undefined)
    return <Countdown endMs={Date.parse(endedAt) + Number((tryParseDuration(soak) ?? 0n) / 1_000_000n)} />;
  if (state === 'Done' || state === 'AwaitingApproval') return null;
  const then = [...(soak !== '' && soak !== '0s' ? [`soak ${soak}`] : []), ...(approve ? ['approval'] : [])];
  return then.length === 0 ? null : <span class="muted">then {then.join(', then ')}</span>;
}

export function Budgets({ set: { status } }: { set: SetDetails }) {
  const budgets: [string, string, Budget | undefined][] = [
    ['Unavailable', 'maxUnavailable', status.unavailable],
    ['In trial', 'maxInTrial', status.inTrial],
    ['Failed', 'maxFailed', status.failed],
  ];
  return (
    <dl class="budgets">
      {budgets.map(
        ([title, field, budget]) => budget && <BudgetUse key={field} title={title} field={field} budget={budget} />,
      )}
    </dl>
  );
}

function BudgetUse({
  title,
  field,
  budget: { used, allowed, nodes = [] },
}: {
  title: string;
  field: string;
  budget: Budget;
}) {
  // A rollout that uses its budget is as it should be; one that has spent its failures stops at the next.
  const isSpent = field === 'maxFailed' && used >= allowed && used > 0;
  return (
    <div class={isSpent ? 'budget spent' : 'budget'}>
      <dt>
        {title} <code class="muted">{field}</code>
      </dt>
      <dd>
        <span class="budget-count">
          {used} of {allowed} allowed
          {used >= allowed && used > 0 && !isSpent && ', all in use'}
        </span>
        <meter min={0} max={Math.max(1, allowed)} value={used} aria-label={`${title}: ${used} of ${allowed} used`} />
        {nodes.length > 0 && (
          <div>
            <NodeLinks names={nodes} count={used} />
          </div>
        )}
      </dd>
    </div>
  );
}
