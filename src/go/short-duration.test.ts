/** Lengths of time in the words of kubectl. */
import { describe, expect, test } from 'vitest';
import { shortDuration } from './short-duration.js';

describe('a length of time', () => {
  test.each([
    [0, '0s'],
    [-1000, '0s'],
    [-5000, '<invalid>'],
    [119_000, '119s'],
    [120_000, '2m'],
    [252_000, '4m12s'],
    [12 * 60_000, '12m'],
    [200 * 60_000, '3h20m'],
    [47 * 3_600_000, '47h'],
    [50 * 3_600_000, '2d2h'],
    [20 * 86_400_000, '20d'],
    [800 * 86_400_000, '2y70d'],
    [9 * 365 * 86_400_000, '9y'],
  ])('%i ms is %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });
});
