/** Numbers and texts of the pages about sets. */
import { describe, expect, test } from 'vitest';
import { anyRow } from '../../../../test/rig/fleet-row.js';
import { anySummary } from '../../../../test/rig/set-summary.js';
import {
  completion,
  failedBefore,
  failuresText,
  headline,
  inWords,
  nodesOfWave,
  paceText,
  signOf,
  standingText,
  urgencyOf,
  waveViews,
} from './set-view.js';

const nodes = { selected: 40, updated: 12, inTrial: 3, pending: 1, failed: 0, excluded: 2 };

test('completion leaves excluded nodes out, and reaches 100 only at the end', () => {
  expect(completion({ nodes })).toEqual({ updated: 12, total: 38, percent: 31 });
  expect(completion({ nodes: { ...nodes, selected: 1002, updated: 999 } }).percent).toBe(99);
  expect(completion({ nodes: { ...nodes, selected: 2 } })).toEqual({ updated: 0, total: 0, percent: 0 });
});

test('after a rollback the revision names where it failed; a node that fails now is in the table of those', () => {
  const status = { revisions: [{ revision: 'r2', source: '', startedAt: '', failedNodes: ['node-3', 'node-4'] }] };
  const failedSamples = [{ name: 'node-4', reason: 'CrashLoop', message: '' }];
  expect(failedBefore({ revision: 'r2', status })).toEqual(['node-3', 'node-4']);
  expect(failedBefore({ revision: 'r2', status: { ...status, failedSamples } })).toEqual(['node-3']);
  expect(failedBefore({ revision: 'r1', status })).toEqual([]);
});

test('a wave has only its own nodes, by what has become of them', () => {
  const waves = [
    { wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'Done' as const },
    { wave: 2, nodes: 10, assigned: 5, updated: 2, failed: 1, state: 'Rolling' as const },
    { wave: 3, nodes: 38, assigned: 0, updated: 0, failed: 0, state: 'Pending' as const },
  ];
  expect(waveViews(waves, { stopped: false })).toEqual([
    { wave: 1, own: 1, parts: { updated: 1, trial: 0, failed: 0, left: 0 }, state: 'done' },
    { wave: 2, own: 9, parts: { updated: 2, trial: 2, failed: 1, left: 4 }, state: 'rolling' },
    { wave: 3, own: 28, parts: { updated: 0, trial: 0, failed: 0, left: 28 }, state: 'pending' },
  ]);
  expect(waveViews(waves, { stopped: true })[1]!.state).toBe('stopped');
  expect(waveViews([{ ...waves[0]!, failed: 1 }], { stopped: false })[0]!.state).toBe('done, with failures');
});

test('what waits for a person or a time has another sign than what is under way', () => {
  const sign = (reason: string, paused = false) => signOf({ assessment: 'progressing', reason, paused });
  expect([sign('RollingOut'), sign('Soaking'), sign('AwaitingApproval'), sign('BudgetSpent')]).toEqual([
    'trial',
    'trial',
    'waiting',
    'trial',
  ]);
  expect(sign('NoNodeToChange')).toBe('waiting');
  expect(signOf({ assessment: 'stopped', reason: 'Halted', paused: false })).toBe('rejected');
  expect(signOf({ assessment: 'stopped', reason: 'Undone', paused: false })).toBe('local');
  expect(signOf({ assessment: 'complete', reason: 'RolloutComplete', paused: false })).toBe('active');
  expect(inWords('AwaitingApproval')).toBe('awaiting approval');
});

test('the pace is in nodes a minute, or an hour where it is slow', () => {
  expect([0, 0.02, 0.4, 1, 250.4].map(paceText)).toEqual([
    undefined,
    '1 node an hour',
    '24 nodes an hour',
    '1 node a minute',
    '250 nodes a minute',
  ]);
});

describe('a rollout', () => {
  test.each([
    ['stopped', 'Halted', 'halted'],
    ['stopped', 'RolledBack', 'halted'],
    ['stopped', 'InvalidConfig', 'halted'],
    ['stopped', 'Undone', undefined],
    ['stopped', 'Aborted', undefined],
    ['progressing', 'AwaitingApproval', 'waiting'],
    ['progressing', 'Paused', 'waiting'],
    ['progressing', 'RollingOut', 'running'],
    ['progressing', 'BudgetSpent', 'running'],
    ['progressing', 'Soaking', 'running'],
    ['unseen', '', 'running'],
    ['complete', 'RolloutComplete', undefined],
  ] as const)('that is %s because of %s is %s', (assessment, reason, urgency) => {
    expect(urgencyOf({ assessment, reason })).toBe(urgency);
  });
});

test('a rollout that uses its budget is a rollout as usual', () => {
  const set = anySummary('gpu', { assessment: 'progressing', reason: 'BudgetSpent', wave: '2/4' });
  expect([standingText(set), headline(set)]).toEqual(['rolling out', 'is rolling out, wave 2 of 4']);
});

test('the headline of a set continues its name, and the failures are counted against what is allowed', () => {
  const text = (changes: Parameters<typeof anySummary>[1]) => headline(anySummary('gpu', changes));
  expect(text({ assessment: 'stopped', reason: 'Halted', wave: '1/3' })).toBe('has halted, wave 1 of 3');
  expect(text({ assessment: 'stopped', reason: 'InvalidConfig' })).toBe('has stopped: invalid config');
  const approval = { wave: 1, follows: '' };
  expect(text({ assessment: 'progressing', reason: 'AwaitingApproval', approval })).toBe(
    'waits for the approval of wave 1',
  );
  expect(text({ assessment: 'progressing', reason: 'RollingBack' })).toBe('is rolling back');
  const failed = anySummary('gpu', { nodes: { ...nodes, failed: 1 }, budgets: { failed: { used: 1, allowed: 0 } } });
  expect(failuresText(failed)).toBe('1 node failed; maxFailed allows 0.');
});

test('a wave has the nodes with its config: not those that have a wave of an earlier revision, nor those taken from the set', () => {
  const row = (name: string, changes: object) => anyRow(name, { set: 'gpu', wave: 1, assigned: 'gpu-2', ...changes });
  const rows = [
    row('node-1', {}),
    row('node-2', { state: 'rolled back' }),
    row('node-3', { assigned: 'gpu-1', state: 'outdated' }),
    row('node-4', { taken: true }),
    row('node-5', { wave: 2 }),
    row('node-6', { set: 'web' }),
  ];
  const source = 'relet-system/gpu-2/kubelet';
  const set = { name: 'gpu', revision: 'r2', revisions: [{ revision: 'r2', source, startedAt: '', decided: '' }] };
  expect(nodesOfWave(rows, set, 1).map(({ name }) => name)).toEqual(['node-2', 'node-1']);
});
