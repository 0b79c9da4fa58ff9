/** How often sync may restart the kubelet, and when an edit of a ConfigMap is followed, on a clock that a test moves. */
import { describe, expect, test } from 'vitest';
import { fixedRandom } from '../../../test/fixed-random.js';
import { ManualClock } from '../../../test/manual-clock.js';
import type { ExactRef } from '../../api/config-ref.js';
import { Bucket, defaultRestartLimit, EditJitter } from './change-pace.js';

const second = 1000;

/** Changes come every `everyMs` and are asked for again whenever their wait is over. The times of the restarts, in seconds. */
async function restartsUnder(everyMs: number, forMs: number, limit = defaultRestartLimit): Promise<number[]> {
  const clock = new ManualClock();
  const bucket = new Bucket(clock, limit);
  const restarts: number[] = [];
  for (let now = 0; now <= forMs; now += everyMs) {
    if (bucket.waitMs === 0) {
      bucket.take();
      restarts.push(clock.monotonic() / second);
    }
    await clock.advance(everyMs);
  }
  return restarts;
}

describe('kubelet restarts by sync', () => {
  test('ten are free, and changes that never stop restart the kubelet once in ten seconds after them', async () => {
    const restarts = await restartsUnder(500, 60 * second);
    expect(restarts).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 10, 20, 30, 40, 50, 60]);
  });

  test('changes ten seconds apart are never delayed', async () => {
    expect(await restartsUnder(10 * second, 300 * second)).toHaveLength(31);
  });

  test('a restart that does not wait leaves the next one to wait ten seconds at most', async () => {
    const clock = new ManualClock();
    const bucket = new Bucket(clock, defaultRestartLimit);
    for (let restart = 0; restart < 30; restart++) bucket.take();
    expect(bucket.waitMs).toBe(10 * second);
    await clock.advance(100 * second);
    expect(bucket.fullInMs).toBe(0);
  });

  test('the next process continues the count, and not with a clock that was set back', () => {
    const after = (fullInMs: number) => new Bucket(new ManualClock(), defaultRestartLimit, fullInMs).waitMs;
    expect([-5, 0, 90 * second, 95 * second, 100 * second, 101 * second].map(after)).toEqual([
      0,
      0,
      0,
      5 * second,
      10 * second,
      0,
    ]);
  });

  test('a person on the host ends the delay', () => {
    const bucket = new Bucket(new ManualClock(), { burst: 1, intervalMs: second });
    bucket.take();
    expect(bucket.waitMs).toBe(second);
    bucket.fill();
    expect(bucket.waitMs).toBe(0);
  });

  test('an interval of 0 turns the limit off', async () => {
    expect(await restartsUnder(100, second, { burst: 1, intervalMs: 0 })).toHaveLength(11);
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
