/** How soon a kubelet is looked at again. */
import { describe, expect, test } from 'vitest';
import { lookAgainMs } from './look-again.js';

describe('look again', () => {
  test.each([
    ['a kubelet just started, at once', { silent: true, isWell: false, sinceStartMs: 0 }, 10],
    ['one that takes long, at a fortieth of that', { silent: true, isWell: false, sinceStartMs: 2000 }, 50],
    ['one that does not come up, every second', { silent: true, isWell: false, sinceStartMs: 300_000 }, 1000],
    ['one that answers and is not Ready yet, less often', { silent: false, isWell: false, sinceStartMs: 2000 }, 500],
    ['one that is never Ready, every second', { silent: false, isWell: false, sinceStartMs: 300_000 }, 1000],
    ['one that is well, now and then', { silent: false, isWell: true, trialLeftMs: 600_000 }, 10_000],
    ['one that is well, not after the end of its trial', { silent: false, isWell: true, trialLeftMs: 3000 }, 3000],
    ['one that is well and has nothing to prove, never in a circle', { silent: false, isWell: true }, 20],
  ])('%s', (_name, looked, ms) => {
    expect(lookAgainMs({ sinceStartMs: 0, trialLeftMs: 0, ...looked })).toBe(ms);
  });
});
