/** Columns of the fleet table: their titles and widths, and which of them this browser hides. Widths are pure. */
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

const widths: Record<Exclude<ColumnName, 'name' | 'state'>, string> = {
  error: '264px',
  set: '128px',
  assigned: '176px',
  active: '176px',
  kubelet: '80px',
  since: '72px',
  zone: '80px',
};

/** The longest name and the longest state, in characters. */
export interface Longest {
  name: number;
  state: number;
}

/** At least `before`: columns grow, and do not move back and forth while one reads. Names are cut where they are very long. */
export function longestIn(rows: readonly Row[], before: Longest = { name: 8, state: 12 }): Longest {
  let { name, state } = before;
  for (const row of rows) {
    if (row.name.length > name) name = Math.min(40, row.name.length);
    const length = stateLength(row);
    if (length > state) state = length;
  }
  return { name, state };
}

/** For `grid-template-columns`. The state is as wide as the longest, so that it is never cut. */
export const columnWidths = ({ name, state }: Longest, shown: readonly ColumnName[]): string =>
  shown
    .map((column) =>
      column === 'name' ? `calc(${name}ch + 24px)` : column === 'state' ? `calc(${state}ch + 36px)` : widths[column],
    )
    .join(' ');

/** Each flag has a border and a gap besides, and silent nodes have an age. */
function stateLength(row: Row): number {
  const length = row.state.length + (row.silentSince > 0 ? 6 : 0);
  if (row.ready && !row.held && !row.taken) return length;
  return flagsOf(row).reduce((sum, flag) => sum + flag.length + 3, length);
}
