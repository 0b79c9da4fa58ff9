/** A cause in an annotation is shown only beside the error and the config that it is about. */
import { describe, expect, test } from 'vitest';
import { causeText, readCause, readHeld } from './node-annotations.js';

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
