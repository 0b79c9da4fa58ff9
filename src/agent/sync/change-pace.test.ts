/** How often sync may restart the kubelet, and when an edit of a ConfigMap is followed, on a clock that a test moves. */
import { describe, expect, test } from 'vitest';
import { fixedRandom } from '../../../test/fixed-random.js';
import { ManualClock } from '../../../test/manual-clock.js';
import type { ExactRef } from '../../api/config-ref.js';
import { EditJitter, leastDistanceMs, RestartLimit } from './change-pace.js';

const second = 1000;

/** Changes come every `everyMs` and are asked for again whenever their wait is over. The times of the restarts, in ms. */
async function restartsUnder(everyMs: number, forMs: number, maxMs = 60 * second): Promise<number[]> {
  const clock = new ManualClock();
  const limit = new RestartLimit(clock, maxMs);
  const restarts: number[] = [];
  for (let now = 0; now <= forMs; now += everyMs) {
    if (limit.waitMs() === 0) {
      limit.restarted();
      restarts.push(clock.monotonic());
    }
    await clock.advance(everyMs);
  }
  return restarts;
}

describe('kubelet restarts by sync', () => {
  test('the least distance doubles from one second up to the maximum', () => {
    const distances = Array.from({ length: 9 }, (_, restarts) => leastDistanceMs(restarts, 60 * second) / second);
    expect(distances).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
  });

  test('changes that never stop restart the kubelet seven times in the first minute or so, then once a minute', async () => {
    const restarts = await restartsUnder(500, 300 * second);
    expect(restarts.map((ms) => ms / second)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  });

  test('the first change after a quiet minute is not delayed', async () => {
    const clock = new ManualClock();
    const limit = new RestartLimit(clock, 60 * second);
    for (let change = 0; change < 8; change++) {
      await clock.advance(limit.waitMs());
      limit.restarted();
    }
    await clock.advance(59 * second);
    expect(limit.waitMs()).toBe(second);
    limit.settled();
    await clock.advance(second);
    expect(limit.waitMs()).toBe(0);
    limit.restarted();
    expect(limit.waitMs()).toBe(second);
  });

  test('changes a minute apart are never delayed', async () => {
    expect(await restartsUnder(60 * second, 300 * second)).toHaveLength(6);
  });

  test('the next process continues the burst, and not after a quiet minute or with a clock that was set back', () => {
    const after = (agoMs: number) => {
      const clock = new ManualClock();
      return new RestartLimit(clock, 60 * second, { restarts: 3, atMs: clock.now() - agoMs }).waitMs();
    };
    expect([0, second, 4 * second, 59 * second, 60 * second, -second].map(after)).toEqual([4000, 3000, 0, 0, 0, 0]);
  });

  test('a person on the host ends the delay', () => {
    const limit = new RestartLimit(new ManualClock(), 60 * second);
    limit.waitMs();
    limit.restarted();
    expect(limit.waitMs()).toBe(second);
    limit.reset();
    expect(limit.remainingMs).toBe(0);
    expect(limit.waitMs()).toBe(0);
  });

  test('a maximum of 0 turns the limit off', async () => {
    expect(await restartsUnder(100, second, 0)).toHaveLength(11);
  });
});

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
  // Asked again where it could not be followed.
  expect(jitter.waitMs(source, { ...source, resourceVersion: '3' })).toBe(0);
  jitter.followed();
  expect(jitter.waitMs(source, { ...source, resourceVersion: '4' })).toBe(30_000);
  expect(jitter.waitMs(source, { ...edited, name: 'other' })).toBe(0);
  expect(jitter.waitMs(undefined, edited)).toBe(0);
});
