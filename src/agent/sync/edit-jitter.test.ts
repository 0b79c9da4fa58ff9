/** When an edit of a ConfigMap is followed. */
import { expect, test } from 'vitest';
import { fixedRandom } from '../../../test/fixed-random.js';
import { ManualClock } from '../../../test/manual-clock.js';
import type { ExactRef } from '../../api/config-ref.js';
import { EditJitter } from './edit-jitter.js';

const source: ExactRef = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };

test('an edit in place waits its part of the jitter, and a second edit does not wait again', async () => {
  const clock = new ManualClock();
  const jitter = new EditJitter(clock, 60_000, fixedRandom(0.5));
  const edited = { ...source, resourceVersion: '2' };
  expect(jitter.waitMs(source, edited)).toBe(30_000);
  await clock.advance(20_000);
  expect(jitter.waitMs(source, { ...source, resourceVersion: '3' })).toBe(10_000);
  await clock.advance(10_000);
  expect(jitter.waitMs(source, { ...source, resourceVersion: '3' })).toBe(0);
  expect(jitter.waitMs(source, { ...edited, name: 'other' })).toBe(0);
  expect(jitter.waitMs(undefined, edited)).toBe(0);
});
