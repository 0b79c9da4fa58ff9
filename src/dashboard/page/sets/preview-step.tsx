/** Step 4: preview of the rollout, decided by the controller's own code: difference, impact, waves. Changes nothing. */
import { useEffect, useState } from 'preact/hooks';
import { shortDuration } from '../../../go/short-duration.js';
import type { PlanAnswer, RolloutPlan, RolloutPlanWave, SetBase } from '../../wire.js';
import { type ApiFailure, post } from '../api.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { Facts } from '../parts/facts.js';
import { NodeLinks } from '../parts/node-links.js';
import { ErrorPanel, Section } from '../parts/panels.js';
import { StateSign } from '../parts/state-badge.js';
import { asFailure } from '../resource.js';
import { Differences } from './differences.js';
import { Drains, Rejections } from './plan-parts.js';
import { inWords } from './set-view.js';

export function PreviewStep({ yaml, base }: { yaml: string; base: SetBase | undefined }) {
  const [answer, setAnswer] = useState<PlanAnswer>();
  const [failure, setFailure] = useState<ApiFailure>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setAnswer(undefined);
    setFailure(undefined);
    post<PlanAnswer>('sets/plan', { yaml, base }, stop.signal).then(setAnswer, (error: unknown) => {
      if (!stop.signal.aborted) setFailure(asFailure(error));
    });
    return () => stop.abort();
  }, [yaml, base, attempt]);
  if (failure) return <ErrorPanel failure={failure} retry={() => setAttempt(attempt + 1)} />;
  if (answer === undefined)
    return (
      <p class="loading" role="status">
        Planning…
      </p>
    );
  return (
    <>
      {answer.problem !== undefined && (
        <div class="panel error" role="alert">
          <p>
            <strong>It cannot be planned.</strong>
          </p>
          <pre>{answer.problem}</pre>
        </div>
      )}
      {answer.plan !== undefined && <Plan plan={answer.plan} />}
      <p class="hint">The same in a terminal:</p>
      <CopyCommand command={answer.command} />
    </>
  );
}

function Plan({ plan }: { plan: RolloutPlan }) {
  const { stalled, rejections = [], waves, selected, excluded, expectedSeconds, trialSeconds } = plan;
  const isRejected = stalled === undefined && rejections.length > 0;
  const toChange = waves.reduce((sum, { nodes }) => sum + nodes.length, 0);
  const own = waves.filter(({ nodes }) => nodes.length > 0);
  const approvals = own.some(({ approve }) => approve) ? '; approvals come on top' : '';
  return (
    <>
      <div class={`panel standing ${stalled || isRejected ? 'halted' : ''}`}>
        <Facts
          facts={[
            [
              'Outcome',
              <span key="outcome" class="state">
                <StateSign state={stalled || isRejected ? 'rejected' : 'active'} />
                {stalled
                  ? `would be stalled: ${inWords(stalled.reason)}`
                  : isRejected
                    ? 'would be rejected'
                    : toChange === 0
                      ? 'nothing to change'
                      : 'would be rolled out'}
              </span>,
            ],
            ['Because', stalled?.message],
            ['Change', <code key="change">{plan.summary}</code>],
            [
              'Nodes',
              `${selected} selected, ${toChange} to change${excluded.length > 0 ? `, ${excluded.length} excluded` : ''}`,
            ],
            [
              'Duration',
              !stalled &&
                !isRejected &&
                toChange > 0 &&
                (expectedSeconds === undefined
                  ? 'no end: a budget of 0 lets nothing happen'
                  : `about ${shortDuration(expectedSeconds * 1000)}, with trials of ${shortDuration(trialSeconds * 1000)}${approvals}`),
            ],
          ]}
        />
      </div>
      <Rejections rejections={rejections} />
      {own.length > 0 && (
        <Section title="Waves">
          <ol class="waves">
            {waves.map((wave) => (
              <PlannedWave key={wave.wave} wave={wave} />
            ))}
          </ol>
        </Section>
      )}
      <Drains drains={plan.drains} />
      <Differences nodes={plan.nodes} />
      {excluded.length > 0 && (
        <Section title={`Not changed for now: ${excluded.length}`}>
          <DataTable
            caption="Excluded nodes"
            rows={excluded.slice(0, 50)}
            rowKey={({ name }) => name}
            columns={[
              { title: 'Node', cell: ({ name }) => name },
              { title: 'Reason', cell: ({ reason }) => <span class="reason">{reason}</span> },
              { title: 'Why', cell: ({ message }) => message, isText: true },
            ]}
          />
        </Section>
      )}
    </>
  );
}

function PlannedWave({ wave: { wave, nodes, soakSeconds, approve, skipped } }: { wave: RolloutPlanWave }) {
  const then = [
    ...(soakSeconds > 0 ? [`soak ${shortDuration(soakSeconds * 1000)}`] : []),
    ...(approve ? ['approval'] : []),
  ];
  return (
    <li class="wave">
      <div class="wave-head">
        <strong>Wave {wave}</strong>
        <span>{skipped ? 'no nodes, skipped' : `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`}</span>
        {then.length > 0 && <span class="muted">then {then.join(', then ')}</span>}
      </div>
      <NodeLinks names={nodes.slice(0, 20)} count={nodes.length} />
    </li>
  );
}
