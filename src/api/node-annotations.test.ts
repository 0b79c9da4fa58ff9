/** Annotations of Nodes and NodeConfigs: the cause of an error, what is left to do, and the claim of a set. */
import { describe, expect, test } from 'vitest';
import { addOwed, causeText, claimText, readCause, readClaim, readHeld, readOwed } from './node-annotations.js';

const configMap = {
  namespace: 'relet-system',
  name: 'a',
  kubeletConfigKey: 'kubelet',
  uid: 'u1',
  resourceVersion: '7',
};
const status = { assigned: { configMap }, error: 'failed to validate config, see Kubelet log for details' };

describe('the cause', () => {
  const text = causeText(status, 'unknown field "maxPodz"');

  test('is read back', () => expect(readCause(text, status)).toBe('unknown field "maxPodz"'));

  test.each([
    ['no error', { assigned: { configMap } }],
    ['another error', { ...status, error: 'failed to load config, see Kubelet log for details' }],
    ['another version of the config', { ...status, assigned: { configMap: { ...configMap, resourceVersion: '8' } } }],
    ['the local config', { error: status.error }],
  ])('is not shown beside %s', (_what, other) => expect(readCause(text, other)).toBeUndefined());

  test('that was damaged is not shown', () => expect(readCause(text.slice(1), status)).toBeUndefined());
});

test('a node with an unreadable annotation is held all the same', () => {
  expect(readHeld('because')).toEqual({});
  expect(readHeld('{"since":"2026-03-01T12:00:00Z","why":"repair","who":"ann"}')).toEqual({
    since: '2026-03-01T12:00:00Z',
    why: 'repair',
    who: 'ann',
  });
  expect(readHeld(undefined)).toBeUndefined();
});

const reboot = { needs: ['reboot' as const], fields: ['cgroupDriver'], at: '2026-01-01T00:00:00Z' };
const drain = { needs: ['drain' as const], fields: ['featureGates[X]'], at: '2026-01-02T00:00:00Z' };

test('it is read as it was written', () => {
  expect(readOwed(JSON.stringify(reboot))).toEqual(reboot);
});

test.each([
  undefined,
  '',
  'reboot',
  '[]',
  '{"needs":["reboot"]}',
  '{"needs":["party"],"at":"x"}',
  '{"needs":1,"at":"x"}',
])('%j owes nothing', (text) => {
  expect(readOwed(text)).toBeUndefined();
});

test('an action of a newer relet is left out', () => {
  expect(readOwed('{"needs":["party","drain"],"at":"x"}')).toEqual({ needs: ['drain'], fields: [], at: 'x' });
});

test('another change keeps what is still owed', () => {
  expect(addOwed(reboot, drain)).toEqual({
    needs: ['drain', 'reboot'],
    fields: ['cgroupDriver', 'featureGates[X]'],
    at: drain.at,
  });
  expect(addOwed(reboot, undefined)).toEqual(reboot);
  expect(addOwed(undefined, drain)).toEqual(drain);
});

test('a claim is read as it was written, and anything else is none', () => {
  const stored = { set: 'gpu', revision: 'a', source: 'n/c/k', wave: 1, at: '2026-01-01T00:00:00Z', previous: 'local' };
  const source = { namespace: 'n', name: 'c', kubeletConfigKey: 'k' };
  const claim = { ...stored, source, previous: undefined };
  expect(readClaim(JSON.stringify(stored))).toEqual(claim);
  expect(JSON.parse(claimText(claim))).toEqual(stored);
  expect(readClaim(JSON.stringify({ ...stored, released: true, more: 1 }))).toEqual({ ...claim, released: true });
  const wrong = [{ wave: '1' }, { source: 'c' }, { previous: '' }].map((one) => JSON.stringify({ ...stored, ...one }));
  for (const text of [undefined, '', 'null', '[]', '{', ...wrong]) expect(readClaim(text), text).toBeUndefined();
});

test('fields that are not text are ignored, so that a value which has no text fails no list of nodes', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const text = `{"needs":["drain"],"at":"x","fields":["maxPods",${deep},{"toString":1},7]}`;
  expect(readOwed(text)?.fields).toEqual(['maxPods']);
});
