/** When an edit of a ConfigMap is followed. */
import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import type { ExactRef } from '../../api/config-ref.js';
import { InPlaceSpread } from './in-place.js';

const source: ExactRef = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };

test('an edit in place waits its part of the jitter, and a second edit does not wait again', async () => {
  const clock = new ManualClock();
  const spread = new InPlaceSpread(clock, 60_000, () => 0.5);
  const edited = { ...source, resourceVersion: '2' };
  expect(spread.waitMs(source, edited)).toBe(30_000);
  await clock.advance(20_000);
  expect(spread.waitMs(source, { ...source, resourceVersion: '3' })).toBe(10_000);
  await clock.advance(10_000);
  expect(spread.waitMs(source, { ...source, resourceVersion: '3' })).toBe(0);
  expect(spread.waitMs(source, { ...edited, name: 'other' })).toBe(0);
  expect(spread.waitMs(undefined, edited)).toBe(0);
});
