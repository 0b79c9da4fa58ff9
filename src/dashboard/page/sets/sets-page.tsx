/** All sets: the state of each rollout, and the reason if it waits. */

import { byName } from '../../../natural-order.js';
import type { SetSummary } from '../../wire.js';
import { ButtonLink } from '../parts/button.js';
import { CopyCommand } from '../parts/copy-command.js';
import { type Column, DataTable } from '../parts/data-table.js';
import { EmptyPanel, PageTitle } from '../parts/panels.js';
import { StateSign } from '../parts/state-badge.js';
import { link } from '../router.js';
import { me } from '../session.js';
import { sets } from '../stream.js';
import { ExpectedEnd } from './expected-end.js';
import { ProgressBar } from './progress-bar.js';
import { completion, signOf, standingText } from './set-view.js';

const columns: Column<SetSummary>[] = [
  { title: 'Set', cell: ({ name }) => <a href={link(['sets', name])}>{name}</a> },
  { title: 'State', cell: (set) => <SetState set={set} /> },
  { title: 'Progress', cell: (set) => <SetProgress set={set} /> },
  { title: 'Wave', cell: ({ wave }) => wave },
  { title: 'Failed', cell: ({ nodes }) => (nodes.failed > 0 ? <strong>{nodes.failed}</strong> : 0), isNumber: true },
  { title: 'Expected end', cell: (set) => <ExpectedEnd set={set} /> },
  {
    title: 'Waits for, or why it stopped',
    cell: ({ waiting, assessment, message }) => waiting || (assessment === 'stopped' && message),
    isText: true,
  },
];

export function SetsPage() {
  const all = sets.value;
  const mayCreate = me.value!.may.createSets;
  return (
    <>
      <PageTitle
        actions={
          mayCreate && (
            <ButtonLink href={link(['sets', 'new'])} kind="primary">
              New set
            </ButtonLink>
          )
        }
      >
        Sets
      </PageTitle>
      {all === undefined && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
      {all?.length === 0 && <NoSets mayCreate={mayCreate} />}
      {all !== undefined && all.length > 0 && (
        <DataTable caption="Sets of nodes" columns={columns} rows={sorted(all)} rowKey={({ name }) => name} />
      )}
    </>
  );
}

const urgency: Record<SetSummary['assessment'], number> = { stopped: 0, unseen: 1, progressing: 2, complete: 3 };
const sorted = (all: SetSummary[]): SetSummary[] =>
  [...all].sort((a, b) => urgency[a.assessment] - urgency[b.assessment] || byName(a, b));

function NoSets({ mayCreate }: { mayCreate: boolean }) {
  return (
    <EmptyPanel title="There is no set of nodes yet.">
      <p>A NodeConfigSet declares what a pool of nodes runs, and rolls a change out in waves.</p>
      {mayCreate ? (
        <ButtonLink href={link(['sets', 'new'])}>Write one, step by step</ButtonLink>
      ) : (
        <CopyCommand command="relet set -l pool=gpu --as-set gpu maxPods=150" />
      )}
    </EmptyPanel>
  );
}

export function SetState({ set }: { set: SetSummary }) {
  return (
    <span class="state set-state">
      <StateSign state={signOf(set)} />
      {standingText(set)}
      {set.paused && set.reason !== 'Paused' && <span class="flag">paused</span>}
    </span>
  );
}

export function SetProgress({ set }: { set: SetSummary }) {
  const { updated, total, percent } = completion(set);
  const { inTrial, pending, failed } = set.nodes;
  const trial = inTrial + pending;
  const parts = { updated, trial, failed, left: Math.max(0, total - updated - trial - failed) };
  return (
    <div class="set-progress">
      <ProgressBar parts={parts} label={`${set.name}, ${percent}%`} />
      <span>
        {updated} of {total}
      </span>
    </div>
  );
}
