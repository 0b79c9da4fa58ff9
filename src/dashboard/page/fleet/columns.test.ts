/** Widths of the fleet table: a state with its flags is never cut. */
import { expect, test } from 'vitest';
import { anyRow } from '../../../../test/rig/fleet-row.js';
import { columnWidths, longestIn } from './columns.js';

test('the state is as wide as the longest one with its flags, also when a node gets a flag later, and stays so', () => {
  const first = longestIn([anyRow('node-1', { state: 'rolled back' })]);
  expect(first).toMatchObject({ name: 'node-1'.length, state: 12 });
  const flagged = longestIn([anyRow('node-1', { state: 'rolled back', ready: false, held: true })], first);
  expect(flagged.state).toBe('rolled back'.length + 'not ready'.length + 3 + 'held'.length + 3);
  expect(longestIn([anyRow('node-1')], flagged)).toEqual(flagged);
});

test('a very long name does not push the error off the screen, and an error has no room before there is one', () => {
  const { name, error } = longestIn([anyRow('x'.repeat(120))]);
  expect([name, error]).toEqual([40, 'Error'.length + 2]);
  const longest = longestIn([anyRow('node-1', { error: 'y'.repeat(200) })]);
  expect(columnWidths({ ...longest, name: 10 }, ['name', 'state', 'error'])).toBe(
    'calc(10ch + 20px) calc(12ch + 36px) minmax(calc(34ch + 20px), 1fr)',
  );
});
