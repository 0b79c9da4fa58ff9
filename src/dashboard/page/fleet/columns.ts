/** Columns of the fleet table: titles, widths, and which of them are hidden in this browser. Widths are pure. */
import type { Row } from '../../wire.js';
import { remembered } from '../remembered.js';
import { type ColumnName, columns, flagsOf } from './fleet-view.js';

export const columnTitles: Record<ColumnName, string> = {
  name: 'Node',
  state: 'State',
  error: 'Error',
  set: 'Set',
  assigned: 'Assigned',
  active: 'Active',
  kubelet: 'Kubelet',
  since: 'Changed',
  zone: 'Zone',
};

/** Without name and state a row means nothing. */
export const optionalColumns = columns.filter((name) => name !== 'name' && name !== 'state');

const { value, choose } = remembered<ColumnName[]>(
  'relet-hidden-columns',
  (text) => optionalColumns.filter((name) => text?.split(',').includes(name)),
  (hidden) => hidden.join(),
);

export const hiddenColumns = value;

export const showColumn = (name: ColumnName, isShown: boolean): void =>
  choose(optionalColumns.filter((one) => (one === name ? !isShown : value.value.includes(one))));

/** Characters that a column has at most: longer texts are cut, but for the state, which never is. */
const most: Record<ColumnName, number> = {
  name: 40,
  state: Number.POSITIVE_INFINITY,
  error: 34,
  set: 20,
  assigned: 24,
  active: 24,
  kubelet: 12,
  since: 9,
  zone: 16,
};

/** The longest text of each column, in characters. */
export type Longest = Record<ColumnName, number>;

/** Room for the title with its arrow. */
const titlesOnly = Object.fromEntries(columns.map((name) => [name, columnTitles[name].length + 2])) as Longest;

/** At least `before`: columns grow, and do not move back and forth while one reads. */
export function longestIn(rows: readonly Row[], before: Longest = { ...titlesOnly, state: 12 }): Longest {
  let { name, state, error, set, assigned, active, kubelet, since, zone } = before;
  // Field by field: this runs for 15,000 rows whenever one of them changes.
  for (const row of rows) {
    if (row.name.length > name) name = row.name.length;
    if (row.error.length > error) error = row.error.length;
    if (row.assigned.length > assigned) assigned = row.assigned.length;
    if (row.active.length > active) active = row.active.length;
    if (row.kubelet.length > kubelet) kubelet = row.kubelet.length;
    if (row.zone.length > zone) zone = row.zone.length;
    if (row.since > 0) since = most.since;
    const setLength = row.set.length + (row.wave > 0 ? ', wave 1'.length : 0);
    if (setLength > set) set = setLength;
    const length = stateLength(row);
    if (length > state) state = length;
  }
  const longest = { name, state, error, set, assigned, active, kubelet, since, zone };
  for (const column of columns) longest[column] = Math.min(most[column], longest[column]);
  return longest;
}

/** For `grid-template-columns`; a state has its sign before it, and what is left over goes to the last column. */
export const columnWidths = (longest: Longest, shown: readonly ColumnName[]): string =>
  shown
    .map((column, at) => {
      const width = `calc(${longest[column]}ch + ${column === 'state' ? 36 : 20}px)`;
      return at === shown.length - 1 ? `minmax(${width}, 1fr)` : width;
    })
    .join(' ');

/** Each flag has a border and a gap besides, and silent nodes have an age. */
function stateLength(row: Row): number {
  const length = row.state.length + (row.silentSince > 0 ? 6 : 0);
  if (row.ready && !row.held && !row.taken) return length;
  return flagsOf(row).reduce((sum, flag) => sum + flag.length + 3, length);
}
