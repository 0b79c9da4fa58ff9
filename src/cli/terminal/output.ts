/**
 * Output in kubectl's style: tables with three spaces between columns, ages, and long cells cut to one line on a terminal; and objects
 * with `-o json|yaml|name|jsonpath=…|custom-columns=…`.
 */

import { CannotRun } from '../../cannot-run.js';
import { findAll, JsonPathError, parsePath, parseTemplate, printTemplate, valueText } from '../../go/json-path.js';
import { shortDuration } from '../../go/short-duration.js';
import { asYaml } from '../../go/yaml/write.js';
import { jsonText } from '../../json.js';
import { byNaturalOrder } from '../../natural-order.js';
import { oneLine } from '../../visible-text.js';

export interface Column<T> {
  title: string;
  cell(row: T): string;
  /** May be cut to fit a terminal: at its end, in its middle, or at its start where the end is what differs (hashes). */
  gives?: 'end' | 'middle' | 'start';
  /** A shorter text, used if the cell would be cut. */
  brief?(row: T): string | undefined;
  /** The fewest letters that it is cut to. */
  least?: number;
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
  const natural = columns.map(({ title, reserve = 0 }, at) => {
    const least = headers ? title.length : 0;
    const reserved = before === undefined ? 0 : Math.max(title.length, reserve, before.get(title) ?? 0);
    return cells.reduce((widest, row) => Math.max(widest, row[at]!.length), Math.max(least, reserved));
  });
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
        if (
          may(column) &&
          widths[at]! > Math.max(least, column.least ?? 0) &&
          (widest < 0 || widths[at]! > widths[widest]!)
        )
          widest = at;
      if (widest < 0) return;
      widths[widest]!--;
    }
  };
  for (const [at, { optional }] of columns.entries()) if (optional && total() > width) widths[at] = 0;
  shrink(({ gives }) => gives === 'start', hashLength);
  shrink(({ gives }) => gives === 'end' || gives === 'middle', shortest);
  shrink(({ gives }) => gives !== undefined, shortest);
  // The same config is cut to the same text in each column.
  const isCut = (at: number) => widths[at]! > 0 && widths[at]! < natural[at]!;
  const cutColumns = columns.flatMap(({ gives }, at) => (gives === 'start' && isCut(at) ? [at] : []));
  const least = Math.min(...cutColumns.map((at) => widths[at]!));
  for (const at of cutColumns) widths[at] = least;
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

export type ObjectFormat =
  | { kind: 'json' | 'yaml' | 'name' }
  | { kind: 'jsonpath'; template: string }
  | { kind: 'custom-columns'; columns: { title: string; path: string }[] };

/** Undefined: a table, plain or wide. */
export function parseFormat(output: string | undefined): ObjectFormat | undefined {
  if (output === undefined || output === '' || output === 'wide') return undefined;
  if (output === 'json' || output === 'yaml' || output === 'name') return { kind: output };
  const equals = output.indexOf('=');
  const [kind, rest] = equals < 0 ? [output, ''] : [output.slice(0, equals), output.slice(equals + 1)];
  if (kind === 'jsonpath' && rest !== '') return readable({ kind, template: rest });
  if (kind === 'custom-columns' && rest !== '') return readable({ kind, columns: rest.split(',').map(parseColumn) });
  throw new CannotRun(
    `-o ${output}: choose one of wide, json, yaml, name, jsonpath={.items[*].metadata.name}, custom-columns=NODE:.metadata.name`,
  );
}

function parseColumn(word: string): { title: string; path: string } {
  const colon = word.indexOf(':');
  if (colon < 1) throw new CannotRun(`-o custom-columns: '${word}' is not TITLE:PATH, as in NODE:.metadata.name`);
  return { title: word.slice(0, colon), path: word.slice(colon + 1) };
}

/** Parsed first, so that an invalid path is reported before any request. */
function readable(format: ObjectFormat): ObjectFormat {
  try {
    if (format.kind === 'jsonpath') parseTemplate(format.template);
    if (format.kind === 'custom-columns') for (const { path } of format.columns) parsePath(path);
    return format;
  } catch (error) {
    if (error instanceof JsonPathError) throw new CannotRun(`-o ${format.kind}: ${error.message}`);
    throw error;
  }
}

/** The result of a verb that is not an object of the API. `names`: what `-o name` prints. */
export function writeResult(format: 'json' | 'yaml' | 'name', result: unknown, names: readonly string[] = []): string {
  if (format === 'name') return names.join('\n');
  const text = jsonText(result, 2);
  return format === 'yaml' ? asYaml(JSON.parse(text)) : text;
}

interface Named {
  metadata: { name: string };
}

interface Shown<T> {
  /** Prefix of names with `-o name`. */
  resource: string;
  objects: T[];
  /** A single object that was requested by name is written without a list around it. */
  single: boolean;
}

export function writeObjects<T extends Named>(format: ObjectFormat, shown: Shown<T>): string {
  const { resource, objects, single } = shown;
  const whole = single && objects.length === 1 ? objects[0]! : { apiVersion: 'v1', kind: 'List', items: objects };
  switch (format.kind) {
    case 'json':
      return JSON.stringify(whole, null, 2);
    case 'yaml':
      return asYaml(whole);
    case 'name':
      return objects.map(({ metadata }) => `${resource}/${metadata.name}`).join('\n');
    case 'jsonpath':
      return printTemplate(parseTemplate(format.template), whole, (value) => oneLine(valueText(value)));
    case 'custom-columns':
      return tableLines(
        format.columns.map(({ title, path }) => ({
          title,
          cell: (object: T) => findAll(object, parsePath(path)).map(valueText).join(','),
        })),
        objects,
        undefined,
      ).join('\n');
  }
}

/** Orders by a JSONPath, numbers as numbers; what lacks it comes first, as with kubectl. */
export function sortByPath<T>(objects: T[], path: string): T[] {
  const key = (object: T): unknown => {
    try {
      return findAll(object, parsePath(path))[0];
    } catch (error) {
      if (error instanceof JsonPathError) throw new CannotRun(`--sort-by ${path}: ${error.message}`);
      throw error;
    }
  };
  const compare = (a: unknown, b: unknown): number => {
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
    return typeof a === 'number' && typeof b === 'number' ? a - b : byNaturalOrder(valueText(a), valueText(b));
  };
  return objects
    .map((object) => ({ object, value: key(object) }))
    .sort((a, b) => compare(a.value, b.value))
    .map(({ object }) => object);
}
