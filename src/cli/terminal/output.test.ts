/** Columns and ages as kubectl prints them, and how rows fit a terminal. */
import { describe, expect, test } from 'vitest';
import { ageOf, type Column, tableLines } from './output.js';

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

  test('cuts the same config to the same text in each column', () => {
    const two = (title: string, cell: (row: { from: string; to: string }) => string) =>
      ({ title, cell, gives: 'start' }) as const;
    const lines = tableLines(
      [two('ASSIGNED', ({ to }) => to), two('ACTIVE', ({ from }) => from), { title: 'AGE', cell: () => '5m' }],
      [
        { from: 'kubelet-config-kg45k6g2cb', to: 'kubelet-config-kg45k6g2cb' },
        { from: 'another-kubelet-config-5t8b9kd2m4', to: 'kubelet-config-5t8b9kd2m4' },
      ],
      46,
    );
    for (const line of lines.slice(1)) expect(new Set(line.split(/ +/).slice(0, 2)).size).toBe(1);
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
  test('of what is still to come is nothing', () => {
    expect(ageOf('2026-01-01T00:00:09Z', Date.parse('2026-01-01T00:00:00Z'))).toBe('0s');
  });

  test('of no time is unknown', () => {
    expect(ageOf(undefined, 0)).toBe('<unknown>');
    expect(ageOf('nonsense', 0)).toBe('<unknown>');
  });
});
