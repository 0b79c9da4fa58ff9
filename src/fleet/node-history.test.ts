/** The history of a node as people read it: results, and names that the API server has checked. */
import { expect, test } from 'vitest';
import { configuredNode } from '../../test/configured-node.js';
import { resultText, withEntry } from './config-history.js';
import { entryBy, historyOf, resultSentence, resultSummary } from './node-history.js';

const entry = (from: string, to: string, by = 'ann') => ({ at: '2026-03-01T10:00:00Z', by, verb: 'set', from, to });
const ref = { namespace: 'n', name: 'a', kubeletConfigKey: 'k' };
const exact = { configMap: { ...ref, uid: 'u', resourceVersion: '1' } };
const history = withEntry({}, entry('local', 'n/a/k'));
const assigned = { configSource: { configMap: ref }, history };
const failed = {
  ...assigned,
  status: { assigned: exact, error: 'failed' },
  condition: { status: 'False', reason: 'CrashLoop', message: 'm', since: '' },
  cause: 'bind: address already in use',
};

test('a failure is shown at once, before anybody has recorded it', () => {
  const [newest] = historyOf(configuredNode('node-1', failed));
  expect(resultSummary(newest!)).toBe('rolled back (CrashLoop)');
  expect(resultSentence(newest!)).toMatch(/^rolled back \(CrashLoop\): the kubelet .*: bind: address already in use$/);
});

test('a failure that was recorded stays visible after the node runs the config after all', () => {
  const status = { assigned: exact, active: exact, lastKnownGood: exact };
  const changeResult = resultText(1, { outcome: 'rolled back', reason: 'CrashLoop' });
  expect(resultSummary(historyOf(configuredNode('node-1', { ...assigned, status, changeResult }))[0]!)).toBe(
    'rolled back (CrashLoop), active now',
  );
});

test('the signers of what a node runs belong to its newest change, and to none that it does not run', () => {
  const signing = { required: true, signers: ['ann', 'bob'], serial: 7 };
  const status = { assigned: exact, active: exact, lastKnownGood: exact };
  const signersOf = (node: object) =>
    historyOf(configuredNode('node-1', { ...assigned, signing, ...node }))[0]?.signers;
  expect(signersOf({ status })).toEqual(['ann', 'bob']);
  expect(signersOf(failed)).toBeUndefined();
  expect(signersOf({ status, history: withEntry({ history }, entry('n/a/k', 'n/b/k')) })).toBeUndefined();
});

test('nothing is said about a change that somebody replaced without relet', () => {
  const other = { ...failed, configSource: { configMap: { ...ref, name: 'b' } } };
  expect(resultSummary(historyOf(configuredNode('node-1', other))[0]!)).toBe('');
});

test('only the name of the newest entry is verified, and only where it is the one that the API server checked', () => {
  const two = withEntry({ history }, entry('n/a/k', 'n/b/k', 'bob'));
  const names = (changedBy?: string) =>
    historyOf(configuredNode('node-1', { history: two, changedBy })).map((one) => entryBy(one));
  expect(names('bob')).toEqual(['bob', 'ann (unverified)']);
  expect(names('ann')).toEqual(['bob (unverified)', 'ann (unverified)']);
  expect(names()).toEqual(['bob (unverified)', 'ann (unverified)']);
});
