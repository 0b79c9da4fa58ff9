/** Widths of the fleet table: a state with its flags is never cut. */
import { expect, test } from 'vitest';
import { anyRow } from '../../../../test/rig/fleet-row.js';
import { columnWidths, longestIn } from './columns.js';

test('the state is as wide as the longest one with its flags, also when a node gets a flag later, and stays so', () => {
  const first = longestIn([anyRow('node-1', { state: 'rolled back' })]);
  expect(first).toEqual({ name: 8, state: 12 });
  const flagged = longestIn([anyRow('node-1', { state: 'rolled back', ready: false, held: true })], first);
  expect(flagged.state).toBe('rolled back'.length + 'not ready'.length + 3 + 'held'.length + 3);
  expect(longestIn([anyRow('node-1')], flagged)).toEqual(flagged);
});

test('a very long name does not push the error off the screen', () => {
  const { name } = longestIn([anyRow('x'.repeat(120))]);
  expect(name).toBe(40);
  expect(columnWidths({ name: 10, state: 12 }, ['name', 'state', 'error'])).toBe(
    'calc(10ch + 24px) calc(12ch + 36px) 264px',
  );
});
