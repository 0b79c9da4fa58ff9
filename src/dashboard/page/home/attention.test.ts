/** The list of the first screen, and its order. */
import { expect, test } from 'vitest';
import { anyRow } from '../../../../test/rig/fleet-row.js';
import { anySummary } from '../../../../test/rig/set-summary.js';
import { attentionOf, isCalm, mostNames, mostReasons, mostRollouts } from './attention.js';

test('halted rollouts are before those that wait, and those before the ones that run; then nodes, trouble first', () => {
  const { rollouts, nodes, others } = attentionOf(
    [
      anySummary('runs', { assessment: 'progressing', reason: 'BudgetSpent' }),
      anySummary('waits', { assessment: 'progressing', reason: 'AwaitingApproval' }),
      anySummary('done', {}),
      anySummary('halted', { assessment: 'stopped', reason: 'Halted' }),
    ],
    [
      anyRow('node-1', { state: 'no agent' }),
      anyRow('node-2', { state: 'silent' }),
      anyRow('node-3', { ready: false }),
      anyRow('node-4', { state: 'rolled back', error: 'the kubelet kept crashing' }),
      anyRow('node-5', { held: true }),
      anyRow('node-6', { state: 'outdated' }),
    ],
  );
  expect(rollouts.map(({ urgency, shown }) => [urgency, ...shown.map(({ name }) => name)])).toEqual([
    ['halted', 'halted'],
    ['waiting', 'waits'],
    ['running', 'runs'],
  ]);
  expect(nodes.map(({ kind, names }) => [kind, ...names])).toEqual([
    ['in trouble', 'node-4'],
    ['silent', 'node-2'],
    ['no agent', 'node-1'],
    ['not ready', 'node-3'],
  ]);
  expect(others).toEqual([
    { state: 'held', count: 1 },
    { state: 'outdated', count: 1 },
  ]);
});

test('a node that the halted rollout names is not listed a second time; another one in trouble is', () => {
  const failures = [{ node: 'node-1', reason: 'CrashLoop', message: 'crashed', line: '' }];
  const error = 'the kubelet kept crashing';
  const { nodes } = attentionOf(
    [anySummary('gpu', { assessment: 'stopped', reason: 'Halted', failures })],
    [anyRow('node-1', { state: 'rolled back', error }), anyRow('node-2', { state: 'rolled back', error })],
  );
  expect(nodes).toEqual([{ kind: 'in trouble', reason: error, count: 1, names: ['node-2'] }]);
});

test('with 15,000 nodes and 100 sets the list stays short, and every node is counted', () => {
  const rows = Array.from({ length: 15_000 }, (_, at) =>
    at % 2 === 0 ? anyRow(`n-${at}`, { error: `error ${at % 20}` }) : anyRow(`n-${at}`, { state: 'no agent' }),
  );
  const sets = Array.from({ length: 100 }, (_, at) =>
    anySummary(`s-${at}`, { assessment: 'stopped', reason: 'Halted' }),
  );
  const { rollouts, nodes, moreReasons } = attentionOf(sets, rows);
  expect(rollouts).toHaveLength(1);
  expect(rollouts[0]!.shown).toHaveLength(mostRollouts);
  expect(rollouts[0]!.more).toBe(100 - mostRollouts);
  expect(nodes).toHaveLength(mostReasons + 1);
  expect(moreReasons).toBe(10 - mostReasons);
  expect(nodes.every(({ names }) => names.length === mostNames)).toBe(true);
  expect(nodes.at(-1)).toMatchObject({ kind: 'no agent', count: 7500 });
});

test('where nothing needs anybody, the rollout that ended last is known', () => {
  const attention = attentionOf(
    [anySummary('a', { endedAt: 5 }), anySummary('b', { endedAt: 9 }), anySummary('c', {})],
    [anyRow('node-1')],
  );
  expect(isCalm(attention)).toBe(true);
  expect(attention.lastEnd).toEqual({ set: 'b', at: 9 });
  expect(attentionOf([], []).lastEnd).toBeUndefined();
});
