/** Each change is in the bar of its time, and none is lost at the edges. */
import { expect, test } from 'vitest';
import { bucketChanges } from './change-buckets.js';

const change = (at: number, nodes: number, failed = 0) => ({
  at,
  nodes,
  failed,
  by: 'a',
  verb: 'set',
  from: 'x',
  to: 'y',
  names: [],
});

test('nodes are counted in the part of the time in which they changed', () => {
  const changes = [change(0, 1), change(99, 2), change(100, 4, 1), change(1000, 8), change(-5, 16)];
  const { times, changed, failed } = bucketChanges({ from: 0, to: 1000, changes }, 10);
  expect(changed).toEqual([3, 4, 0, 0, 0, 0, 0, 0, 0, 8]);
  expect(failed).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  expect([times[0], times[9]]).toEqual([0.05, 0.95]);
});
