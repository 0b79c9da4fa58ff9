/** The rows of the page: in the order of their names, through snapshots and changes. */
import { beforeEach, expect, test } from 'vitest';
import { anyRow as row } from '../../../../test/rig/fleet-row.js';
import { applyRows, forgetRows, isLoaded, rowOf, rowsByName, takeSnapshot } from './fleet-store.js';

const names = () => rowsByName().map(({ name }) => name);

beforeEach(forgetRows);

test('a snapshot is complete after its last part, and rows that it lacks are gone', () => {
  applyRows([row('old')], []);
  const part = takeSnapshot();
  part([row('node-10')], false);
  expect(isLoaded.value).toBe(false);
  part([row('node-2')], true);
  expect(isLoaded.value).toBe(true);
  expect(names()).toEqual(['node-2', 'node-10']);
});

test('a change replaces the row in its place; nodes come and go', () => {
  takeSnapshot()([row('node-1'), row('node-01'), row('node-3')], true);
  const before = names();
  applyRows([row('node-01', { state: 'trial' })], []);
  expect(names()).toEqual(before);
  expect(rowsByName().find(({ name }) => name === 'node-01')?.state).toBe('trial');
  expect(rowsByName().find(({ name }) => name === 'node-1')?.state).toBe('active');
  applyRows([row('node-2')], ['node-1']);
  expect(names()).toEqual(['node-01', 'node-2', 'node-3']);
  expect(rowOf('node-1')).toBeUndefined();
});
