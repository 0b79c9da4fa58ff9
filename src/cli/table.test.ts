/** Columns and ages as kubectl prints them, and how rows fit a terminal. */
import { describe, expect, test } from 'vitest';
import { ageOf, shortDuration } from './age.js';
import { type Column, tableLines } from './table.js';

interface Row {
  name: string;
  config: string;
  error: string;
}
const columns: Column<Row>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'CONFIG', cell: ({ config }) => config, gives: 'middle' },
  { title: 'ERROR', cell: ({ error }) => error, gives: 'end' },
];
const rows = [
  { name: 'node-1', config: 'kubelet-config-5t8b9kd2m4', error: 'failed to validate config' },
  { name: 'node-200', config: 'local', error: '' },
];

describe('a table', () => {
  test('aligns columns with three spaces, and has no space at the end of a line', () => {
    expect(tableLines(columns, rows, undefined)).toEqual([
      'NAME       CONFIG                      ERROR',
      'node-1     kubelet-config-5t8b9kd2m4   failed to validate config',
      'node-200   local                       <none>',
    ]);
  });

  test('gives way on a terminal: hashes keep their end, sentences their beginning', () => {
    const lines = tableLines(columns, rows, 44);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(44);
    expect(lines[1]).toContain('2m4');
    expect(lines[1]).toContain('failed');
  });

  test('is never cut to nothing, however narrow the terminal', () => {
    expect(tableLines(columns, rows, 5)[1]).toMatch(/^node-1 {5}\S{8} {3}\S+/);
  });

  test('may come without titles, and empty', () => {
    expect(tableLines(columns, rows, undefined, { headers: false })).toHaveLength(2);
    expect(tableLines(columns, [], undefined)).toEqual(['NAME   CONFIG   ERROR']);
  });
});

describe('an age', () => {
  test.each([
    [0, '0s'],
    [-5000, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [252_000, '4m12s'],
    [12 * 60_000, '12m'],
    [200 * 60_000, '3h20m'],
    [47 * 3_600_000, '47h'],
    [50 * 3_600_000, '2d2h'],
    [20 * 86_400_000, '20d'],
    [800 * 86_400_000, '2y70d'],
  ])('%i ms is %s', (ms, text) => {
    expect(shortDuration(ms)).toBe(text);
  });

  test('of no time is unknown', () => {
    expect(ageOf(undefined, 0)).toBe('<unknown>');
    expect(ageOf('nonsense', 0)).toBe('<unknown>');
  });
});
