/** The fleet for a query: the same rows for cells and table, each counted once. */
import { describe, expect, test } from 'vitest';
import { anyRow as node } from '../../../../test/rig/fleet-row.js';
import { countRows, groupRows, overallStateOf, readQuery, select, valuesOf } from './fleet-view.js';

const fleet = [
  node('cpu-1', { state: 'local', assigned: 'local', since: 5, zone: 'b' }),
  node('cpu-2', { ready: false, since: 9, zone: 'a' }),
  node('gpu-1', { set: 'gpu', state: 'trial', zone: 'a' }),
  node('gpu-2', { set: 'gpu', state: 'rolled back', error: 'the kubelet kept crashing', zone: 'b', taken: true }),
  node('gpu-10', { set: 'gpu', state: 'waiting', held: true, zone: 'b' }),
];
const names = (query: string) => select(fleet, readQuery(new URLSearchParams(query))).map(({ name }) => name);

describe('select', () => {
  test.each([
    ['', ['cpu-1', 'cpu-2', 'gpu-1', 'gpu-2', 'gpu-10']],
    ['state=trial,waiting', ['gpu-1', 'gpu-10']],
    ['state=in trouble', ['gpu-2']],
    ['state=not ready,held', ['cpu-2', 'gpu-10']],
    ['state=taken from its set', ['gpu-2']],
    ['set=-', ['cpu-1', 'cpu-2']],
    ['set=gpu&zone=b', ['gpu-2', 'gpu-10']],
    ['config=local', ['cpu-1']],
    ['q=CRASHING', ['gpu-2']],
    ['q=u-1&state=trial', ['gpu-1']],
    ['sort=-name', ['gpu-10', 'gpu-2', 'gpu-1', 'cpu-2', 'cpu-1']],
    ['sort=since', ['cpu-2', 'cpu-1', 'gpu-1', 'gpu-2', 'gpu-10']],
    ['sort=state', ['gpu-2', 'gpu-10', 'gpu-1', 'cpu-2', 'cpu-1']],
    ['sort=error', ['gpu-2', 'cpu-1', 'cpu-2', 'gpu-1', 'gpu-10']],
    ['sort=nonsense&group=nonsense', ['cpu-1', 'cpu-2', 'gpu-1', 'gpu-2', 'gpu-10']],
  ])('?%s', (query, expected) => {
    expect(names(query)).toEqual(expected);
  });
});

test('groups are in the order of their titles, nodes without a value last', () => {
  expect(groupRows(fleet, 'set').map(({ title, rows }) => [title, rows.length])).toEqual([
    ['gpu', 3],
    ['in no set', 2],
  ]);
  expect(groupRows(fleet, 'none')).toHaveLength(1);
  expect(groupRows([], 'none')).toEqual([]);
});

test('every node has one state and one overall state; flags are counted beside them', () => {
  const { total, states, overall, flags } = countRows(fleet);
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);
  expect([total, sum(states), sum(overall)]).toEqual([5, 5, 5]);
  expect(overall).toMatchObject({ 'on target': 1, 'in trial': 1, held: 1, 'not ready': 1, 'in trouble': 1 });
  expect(flags).toEqual({ 'not ready': 1, held: 1, 'taken from its set': 1 });
});

test('a node that runs its config and reports an error is in trouble', () => {
  expect(countRows([node('x', { error: 'the ConfigMap cannot be read' })]).overall['in trouble']).toBe(1);
});

test.each([
  ['runs the revision that its set wants', {}, 'on target'],
  ['runs another revision than its set wants', { state: 'outdated' }, 'outdated'],
  ['has no agent, and is not ready', { state: 'no agent', ready: false }, 'no agent'],
  ['has an agent that is silent', { state: 'silent' }, 'silent'],
  ['is not ready', { ready: false }, 'not ready'],
  ['is held', { held: true }, 'held'],
] as const)('a node that %s', (_what, changes, overall) => {
  expect(overallStateOf(node('x', changes))).toBe(overall);
});

test('the values to choose from have each value once, and one for nodes that have none', () => {
  expect(valuesOf(fleet, 'set')).toEqual(['-', 'gpu']);
});
