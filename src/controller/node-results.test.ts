/** A failure is in the history of its node when it happens, and what people did to a node is an Event. */
import { expect, test } from 'vitest';
import { byAnnotation, type Claim } from '../api/node-annotations.js';
import type { NodeConfig } from '../api/node-config.js';
import { historyAnnotation, historyTexts, readHistory, resultAnnotation, withEntry } from '../fleet/config-history.js';
import { claimPatch } from '../rollout/claim-patch.js';
import { failurePatch, markEvents } from './node-results.js';

const at = '2026-03-01T10:00:00Z';
const entry = (from: string, to: string, verb = 'set') => ({ at, by: 'ann', verb, from, to });
const ref = { namespace: 'n', name: 'a', kubeletConfigKey: 'k' };
const exact = { configMap: { ...ref, uid: 'u', resourceVersion: '1' } };

const crashed = (annotations: Record<string, string>, reason = 'CrashLoop', observedGeneration = 2): NodeConfig => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfig',
  metadata: { name: 'node-1', resourceVersion: '7', generation: 2, annotations },
  spec: { configSource: { configMap: ref } },
  status: {
    observedGeneration,
    cause: 'bind: address already in use',
    config: { assigned: exact, error: 'failed' },
    conditions: [{ type: 'ConfigOK', status: 'False', reason, message: 'm', lastTransitionTime: at }],
  },
});
const annotationsIn = (patch: object | undefined) =>
  (patch as { metadata: { annotations: Record<string, string> } }).metadata.annotations;

const history = withEntry({}, entry('local', 'n/a/k'));

test('a config that crashed is recorded with reason and message, once', () => {
  const patch = failurePatch(crashed({ [historyAnnotation]: history }));
  expect(patch).toMatchObject({ metadata: { resourceVersion: '7' } });
  const written = { [historyAnnotation]: history, ...annotationsIn(patch) };
  expect(readHistory(historyTexts(crashed(written)))[0]!.result).toEqual({
    outcome: 'rolled back',
    reason: 'CrashLoop',
    message: expect.stringContaining('bind: address already in use'),
  });
  expect(failurePatch(crashed(written))).toBeUndefined();
  expect(failurePatch(crashed(written, 'NotHealthy'))).toBeDefined();
});

test.each([
  ['whose report is about an earlier spec', crashed({ [historyAnnotation]: history }, 'CrashLoop', 1)],
  ['that was changed without relet', crashed({ [historyAnnotation]: withEntry({}, entry('local', 'n/b/k')) })],
  ['without a history', crashed({})],
  ['that is well', { ...crashed({ [historyAnnotation]: history }), status: { observedGeneration: 2, config: {} } }],
])('nothing is recorded for a node %s', (_name, object) => {
  expect(failurePatch(object)).toBeUndefined();
});

test('a set that corrects a node keeps the failure, and removes the name of who changed it before', () => {
  const claim: Claim = { set: 'gpu', revision: 'r', source: { ...ref, name: 'c' }, wave: 1, at, previous: undefined };
  const written = annotationsIn(
    claimPatch(crashed({ [historyAnnotation]: history, [byAnnotation]: 'ann' }), claim, undefined),
  );
  expect(readHistory({ history: written[historyAnnotation] }).map(({ by, result }) => [by, result?.reason])).toEqual([
    ['set/gpu', undefined],
    ['ann', 'CrashLoop'],
  ]);
  expect(written).toMatchObject({ [byAnnotation]: null, [resultAnnotation]: null });
});

test('a hold that is new is an Event with who and why; the name counts as checked only where policies check it', () => {
  const held = withEntry({ history }, { ...entry('n/a/k', 'n/a/k', 'hold'), why: 'broken fan' });
  const object = crashed({ [historyAnnotation]: held, [byAnnotation]: 'ann' });
  expect(markEvents(history, object, { areNamesChecked: true })).toEqual([
    { reason: 'Held', message: 'ann held the node: "broken fan"' },
  ]);
  expect(markEvents(history, object, { areNamesChecked: false })[0]!.message).toBe(
    'ann (unverified) held the node: "broken fan"',
  );
  expect(markEvents(held, object, { areNamesChecked: true })).toEqual([]);
});
