/** Keys in the grid: arrows by one, page keys by a page, Home and End within the row, with Ctrl in the whole grid. */
import { expect, test } from 'vitest';
import { move } from './grid-keys.js';

const size = { rows: 100, columns: 9, page: 20 };
const press = (key: string, row: number, column: number, changes = {}) =>
  move({ row, column }, { key, ctrlKey: false, metaKey: false, altKey: false, ...changes }, size);

test.each([
  ['ArrowDown', 1, 0, { row: 2, column: 0 }],
  ['ArrowDown', 100, 0, { row: 100, column: 0 }],
  ['ArrowUp', 1, 3, { row: 0, column: 3 }],
  ['ArrowUp', 0, 3, { row: 0, column: 3 }],
  ['ArrowRight', 5, 8, { row: 5, column: 8 }],
  ['ArrowLeft', 5, 1, { row: 5, column: 0 }],
  ['PageDown', 90, 2, { row: 100, column: 2 }],
  ['PageUp', 5, 2, { row: 1, column: 2 }],
  ['Home', 7, 4, { row: 7, column: 0 }],
  ['End', 7, 4, { row: 7, column: 8 }],
])('%s from row %i, column %i', (key, row, column, to) => {
  expect(press(key, row, column)).toEqual(to);
});

test('Ctrl+Home and Ctrl+End go to the first and the last cell; other keys are not the grid’s', () => {
  expect(press('Home', 50, 4, { ctrlKey: true })).toEqual({ row: 1, column: 0 });
  expect(press('End', 50, 4, { ctrlKey: true })).toEqual({ row: 100, column: 8 });
  expect(press('a', 50, 4)).toBeUndefined();
  expect(press('ArrowLeft', 50, 4, { altKey: true })).toBeUndefined();
});
