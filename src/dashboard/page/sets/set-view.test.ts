/** Numbers and texts of the pages about sets. */
import { expect, test } from 'vitest';
import { completion, failedBefore, inWords, paceText, signOf, waveViews } from './set-view.js';

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
    'waiting',
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
