/** When the health of a kubelet is checked again. */
import { describe, expect, test } from 'vitest';
import { nextCheckMs } from './health-loop.js';

describe('the next health check of', () => {
  test.each([
    ['a kubelet just started, at once', { silent: true, isHealthy: false, sinceStartMs: 0 }, 10],
    ['one that takes long, at a fortieth of that', { silent: true, isHealthy: false, sinceStartMs: 2000 }, 50],
    ['one that does not come up, every second', { silent: true, isHealthy: false, sinceStartMs: 300_000 }, 1000],
    ['one that answers and is not Ready yet, less often', { silent: false, isHealthy: false, sinceStartMs: 2000 }, 500],
    ['one that is never Ready, every second', { silent: false, isHealthy: false, sinceStartMs: 300_000 }, 1000],
    ['one that is healthy, now and then', { silent: false, isHealthy: true, trialLeftMs: 600_000 }, 10_000],
    [
      'one that has been up for a minute, less often',
      { silent: false, isHealthy: true, sinceStartMs: 60_000, trialLeftMs: 600_000 },
      30_000,
    ],
    [
      'one that is healthy, not after the end of its trial',
      { silent: false, isHealthy: true, trialLeftMs: 3000 },
      3000,
    ],
    ['one whose trial is over and cannot be ended, now and then', { silent: false, isHealthy: true }, 10_000],
    ['one whose trial ends at once, not at once', { silent: false, isHealthy: true, trialLeftMs: 1 }, 20],
  ])('%s', (_name, last, ms) => {
    expect(nextCheckMs({ sinceStartMs: 0, trialLeftMs: 0, ...last })).toBe(ms);
  });
});
