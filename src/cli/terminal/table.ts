/** Columns and ages as kubectl prints them: three spaces between columns, no lines. On a terminal long cells are cut so that a row is one line. */

import { shortDuration } from '../../go/short-duration.js';
import { oneLine } from '../../visible-text.js';

export interface Column<T> {
  title: string;
  cell(row: T): string;
  /** May be cut to fit a terminal: at its end, in its middle, or at its start where the end is what differs (hashes). */
  gives?: 'end' | 'middle' | 'start';
  /** Says it in fewer letters, where the cell would be cut. */
  brief?(row: T): string | undefined;
  /** Left out where a terminal has no room for it. */
  optional?: boolean;
  /** Room to keep in a table that grows row by row, for what may come. */
  reserve?: number;
  /** Colours the cell. */
  paint?(text: string): string;
}

export interface TableOptions {
  headers?: boolean;
  /** Widths of what was printed before, by title; kept up to date, so that later rows stand below earlier ones. */
  widths?: Map<string, number>;
}

const gap = 3;
/** No column is cut shorter than this; a name with a hash keeps the hash as long as anything else can give. */
const shortest = 8;
const hashLength = 12;

/** `width` undefined: nothing is cut. */
export function tableLines<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  width: number | undefined,
  { headers = true, widths: before }: TableOptions = {},
): string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => oneLine(cell(row)) || '<none>'));
  const natural = columns.map(({ title, reserve = 0 }, at) =>
    Math.max(
      headers ? title.length : 0,
      ...cells.map((row) => row[at]!.length),
      ...(before === undefined ? [] : [title.length, reserve, before.get(title) ?? 0]),
    ),
  );
  for (const [at, { title }] of columns.entries()) before?.set(title, natural[at]!);
  const widths = width === undefined ? natural : widthsWithin(natural, columns, width);
  const line = (texts: readonly string[], row?: T) =>
    texts
      .flatMap((text, at) => {
        const room = widths[at]!;
        if (room === 0) return [];
        const { gives, paint } = columns[at]!;
        const whole = text.length > room && row !== undefined ? (columns[at]!.brief?.(row) ?? text) : text;
        const short = cut(oneLine(whole), room, row === undefined ? 'end' : gives);
        const painted = row !== undefined && paint !== undefined ? paint(short) : short;
        return [painted + ' '.repeat(room - short.length)];
      })
      .join(' '.repeat(gap))
      .trimEnd();
  const lines = cells.map((texts, at) => line(texts, rows[at]!));
  return headers ? [line(columns.map(({ title }) => title)), ...lines] : lines;
}

/** 0 for a column that is left out. */
function widthsWithin<T>(natural: readonly number[], columns: readonly Column<T>[], width: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, one) => sum + (one > 0 ? one + gap : 0), -gap);
  /** Takes from the widest of those that may give. */
  const shrink = (may: (column: Column<T>) => boolean, least: number) => {
    while (total() > width) {
      let widest = -1;
      for (const [at, column] of columns.entries())
        if (may(column) && widths[at]! > least && (widest < 0 || widths[at]! > widths[widest]!)) widest = at;
      if (widest < 0) return;
      widths[widest]!--;
    }
  };
  for (const [at, { optional }] of columns.entries()) if (optional && total() > width) widths[at] = 0;
  shrink(({ gives }) => gives === 'start', hashLength);
  shrink(({ gives }) => gives === 'end' || gives === 'middle', shortest);
  shrink(({ gives }) => gives !== undefined, shortest);
  return widths;
}

function cut(text: string, width: number, gives: Column<unknown>['gives']): string {
  if (text.length <= width) return text;
  if (gives === 'start') return `…${text.slice(1 - width)}`;
  if (gives !== 'middle') return `${text.slice(0, width - 1)}…`;
  const tail = Math.ceil((width - 1) * 0.6);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(-tail)}`;
}

/** `<unknown>` for no time, as kubectl has it. A server whose clock is ahead made it just now. */
export function ageOf(timestamp: string | undefined, nowMs: number): string {
  const then = Date.parse(timestamp ?? '');
  return Number.isNaN(then) ? '<unknown>' : shortDuration(Math.max(0, nowMs - then));
}
