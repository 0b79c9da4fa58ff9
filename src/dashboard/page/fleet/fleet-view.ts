/** Selects, sorts and groups the nodes to show, from the query of the URL. Pure: cells and table use the same view. */

import { byNaturalOrder } from '../../../natural-order.js';
import type { Row } from '../../wire.js';
import { type RowState, stateOrder } from '../parts/signs.js';

export const flags = ['not ready', 'held', 'taken from its set'] as const;
export type Flag = (typeof flags)[number];

const flagTests: Record<Flag, (row: Row) => boolean> = {
  'not ready': ({ ready }) => !ready,
  held: ({ held }) => held,
  'taken from its set': ({ taken }) => taken,
};

export const flagsOf = (row: Row): Flag[] => flags.filter((flag) => flagTests[flag](row));

/**
 * Every node is in exactly one of them. An error puts it in trouble whatever its state is. On target: it runs what it should, and that is
 * known; where a set has it, the revision that the set wants.
 */
export const overallStates = [
  'on target',
  'in trial',
  'waiting',
  'outdated',
  'held',
  'not ready',
  'silent',
  'no agent',
  'in trouble',
] as const;
export type OverallState = (typeof overallStates)[number];

export function overallStateOf({ state, error, ready, held }: Row): OverallState {
  if (error !== '' || state === 'rejected' || state === 'rolled back') return 'in trouble';
  if (state === 'no agent' || state === 'silent') return state;
  if (!ready) return 'not ready';
  if (held) return 'held';
  if (state === 'trial') return 'in trial';
  return state === 'waiting' || state === 'outdated' ? state : 'on target';
}

/** States that are shown even if no node is in them. */
export const alwaysShown: readonly OverallState[] = ['on target', 'in trial', 'waiting', 'in trouble'];

export const groupings = ['set', 'zone', 'config', 'kubelet', 'none'] as const;
export type Grouping = (typeof groupings)[number];

/** Name, state and error first: they fit beside the cells on every screen from 1280 pixels on. */
export const columns = ['name', 'state', 'error', 'set', 'assigned', 'active', 'kubelet', 'since', 'zone'] as const;
export type ColumnName = (typeof columns)[number];

/** Filters that name one value of a row. */
export const choices = ['set', 'zone', 'config', 'kubelet'] as const;
export type Choice = (typeof choices)[number];

export interface FleetQuery {
  text: string;
  states: string[];
  chosen: Partial<Record<Choice, string>>;
  group: Grouping;
  sort: ColumnName;
  isDescending: boolean;
}

/** In the address, the value of nodes that have none: an empty one would be no filter. */
export const none = '-';

export function readQuery(query: URLSearchParams): FleetQuery {
  const sort = query.get('sort') ?? 'name';
  const column = sort.replace(/^-/, '') as ColumnName;
  const group = query.get('group') as Grouping;
  const chosen: FleetQuery['chosen'] = {};
  for (const choice of choices) {
    const value = query.get(choice);
    if (value) chosen[choice] = value;
  }
  return {
    text: (query.get('q') ?? '').trim().toLowerCase(),
    states: query.get('state')?.split(',').filter(Boolean) ?? [],
    chosen,
    group: groupings.includes(group) ? group : 'set',
    sort: columns.includes(column) ? column : 'name',
    isDescending: sort.startsWith('-'),
  };
}

/** Value of a row that a filter or a group compares. */
export const choiceOf = (row: Row, by: Choice): string => (by === 'config' ? row.assigned : row[by]) || none;

/** Any of the states, overall states and flags that were chosen. */
function hasState(row: Row, states: string[]): boolean {
  return states.some(
    (state) => row.state === state || overallStateOf(row) === state || flagTests[state as Flag]?.(row) === true,
  );
}

const hasText = (row: Row, text: string): boolean =>
  [row.name, row.assigned, row.active, row.set, row.zone, row.kubelet, row.error].some((value) =>
    value.toLowerCase().includes(text),
  );

/** `rows` in the order of their names, which decides where two are equal. */
export function select(rows: readonly Row[], query: FleetQuery): Row[] {
  const { text, states, chosen, sort, isDescending } = query;
  const wanted = Object.entries(chosen) as [Choice, string][];
  const kept = rows.filter(
    (row) =>
      (states.length === 0 || hasState(row, states)) &&
      wanted.every(([by, value]) => choiceOf(row, by) === value) &&
      (text === '' || hasText(row, text)),
  );
  if (sort !== 'name') kept.sort(comparisons[sort]);
  if (isDescending) kept.reverse();
  return kept;
}

const rank = new Map<string, number>(stateOrder.map((state, at) => [state, at]));
const byText = (column: 'assigned' | 'active' | 'set' | 'zone' | 'kubelet' | 'error') => (a: Row, b: Row) =>
  a[column] < b[column] ? -1 : a[column] > b[column] ? 1 : 0;

const comparisons: Record<Exclude<ColumnName, 'name'>, (a: Row, b: Row) => number> = {
  state: (a, b) => rank.get(a.state)! - rank.get(b.state)!,
  assigned: byText('assigned'),
  active: byText('active'),
  set: byText('set'),
  zone: byText('zone'),
  kubelet: byText('kubelet'),
  // The newest change first; nodes that were never changed last.
  since: (a, b) => b.since - a.since,
  error: (a, b) => (a.error === '' ? 1 : 0) - (b.error === '' ? 1 : 0) || byText('error')(a, b),
};

export interface Group {
  title: string;
  rows: Row[];
}

const titlesOfNone: Record<Choice, string> = {
  set: 'in no set',
  zone: 'no zone',
  config: 'nothing assigned',
  kubelet: 'version unknown',
};

/** In the order of their titles; nodes without a value are last. */
export function groupRows(rows: Row[], grouping: Grouping): Group[] {
  if (grouping === 'none') return rows.length === 0 ? [] : [{ title: 'all nodes', rows }];
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const value = choiceOf(row, grouping);
    const known = groups.get(value);
    if (known) known.push(row);
    else groups.set(value, [row]);
  }
  return [...groups.entries()]
    .sort(([a], [b]) => Number(a === none) - Number(b === none) || byNaturalOrder(a, b))
    .map(([value, rows]) => ({ title: value === none ? titlesOfNone[grouping] : value, rows }));
}

export interface Counts {
  total: number;
  overall: Record<OverallState, number>;
  states: Record<RowState, number>;
  flags: Record<Flag, number>;
}

export function countRows(rows: readonly Row[]): Counts {
  const zeros = <Name extends string>(names: readonly Name[]) =>
    Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  const counts = { total: rows.length, overall: zeros(overallStates), states: zeros(stateOrder), flags: zeros(flags) };
  for (const row of rows) {
    counts.overall[overallStateOf(row)]++;
    counts.states[row.state]++;
    for (const flag of flagsOf(row)) counts.flags[flag]++;
  }
  return counts;
}

/** The values to choose from, in order. */
export function valuesOf(rows: readonly Row[], by: Choice): string[] {
  return [...new Set(rows.map((row) => choiceOf(row, by)))].sort(byNaturalOrder);
}
