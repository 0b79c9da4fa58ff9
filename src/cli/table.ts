/** Columns as kubectl prints them: three spaces between, no lines. On a terminal long cells give way so that a row is a line. */

import { oneLine } from '../visible-text.js';

export interface Column<T> {
  title: string;
  cell(row: T): string;
  /** May be cut to fit a terminal, at the end or in the middle where the end tells more (hashes). */
  gives?: 'end' | 'middle';
}

const gap = 3;
/** No column is cut shorter than this. */
const shortest = 8;

/** `width` undefined: nothing is cut. */
export function tableLines<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  width: number | undefined,
  { headers = true } = {},
): string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => oneLine(cell(row)) || '<none>'));
  const all = headers ? [columns.map(({ title }) => title), ...cells] : cells;
  const natural = columns.map((_, at) => Math.max(0, ...all.map((row) => row[at]!.length)));
  const widths = width === undefined ? natural : shrink(natural, columns, width);
  return all.map((row, line) =>
    row
      .map((text, at) => cut(text, widths[at]!, headers && line === 0 ? 'end' : columns[at]!.gives).padEnd(widths[at]!))
      .join(' '.repeat(gap))
      .trimEnd(),
  );
}

/** Takes from the widest column that gives until it fits, or nothing gives any more. */
function shrink<T>(natural: readonly number[], columns: readonly Column<T>[], width: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, one) => sum + one, 0) + gap * (widths.length - 1);
  while (total() > width) {
    let widest = -1;
    for (const [at, { gives }] of columns.entries())
      if (gives !== undefined && widths[at]! > shortest && (widest < 0 || widths[at]! > widths[widest]!)) widest = at;
    if (widest < 0) break;
    widths[widest]!--;
  }
  return widths;
}

function cut(text: string, width: number, gives: 'end' | 'middle' | undefined): string {
  if (text.length <= width) return text;
  if (gives !== 'middle') return `${text.slice(0, width - 1)}…`;
  const tail = Math.ceil((width - 1) * 0.6);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(-tail)}`;
}
