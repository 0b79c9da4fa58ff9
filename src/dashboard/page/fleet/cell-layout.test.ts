/** Every cell has one place, and a point in it finds its node again. */
import { expect, test } from 'vitest';
import type { Row } from '../../wire.js';
import { cellAt, layOut, titleHeight, visibleCells } from './cell-layout.js';

const nodes = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({ name: `${prefix}-${at}` }) as Row);
const groups = [
  { title: 'a', rows: nodes('a', 7) },
  { title: 'b', rows: nodes('b', 3) },
];

test('a point in a cell is its node; titles, gaps and the space after the last cell are none', () => {
  const layout = layOut(groups, 100);
  expect([layout.pitch, layout.perRow]).toEqual([24, 4]);
  expect(cellAt(layout, 1, titleHeight + 1)?.name).toBe('a-0');
  expect(cellAt(layout, 95, titleHeight + 1)?.name).toBe('a-3');
  expect(cellAt(layout, 1, titleHeight + 25)?.name).toBe('a-4');
  expect(cellAt(layout, 95, titleHeight + 25)).toBeUndefined();
  expect(cellAt(layout, 97, titleHeight + 1)).toBeUndefined();
  expect(cellAt(layout, 1, 1)).toBeUndefined();
  const { top } = layout.groups[1]!;
  expect(cellAt(layout, 25, top + titleHeight)?.name).toBe('b-1');
  expect(cellAt(layout, 25, top - 1)).toBeUndefined();
  expect(layout.height).toBe(layout.groups[1]!.bottom);
});

test('only cells between two heights are drawn', () => {
  const layout = layOut([{ title: 'all', rows: nodes('n', 15_000) }], 900);
  const [group] = layout.groups;
  expect(visibleCells(layout, group!, 0, layout.height)).toEqual({ first: 0, end: 15_000 });
  const { first, end } = visibleCells(layout, group!, 500, 600);
  expect(end - first).toBeLessThan(100 * 13);
  expect(visibleCells(layout, group!, layout.height + 50, layout.height + 90)).toEqual({ first: 15_000, end: 15_000 });
});
