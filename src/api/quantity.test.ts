/** Quantities: what is read, how it is printed. */
import { describe, expect, test } from 'vitest';
import { compareQuantities, formatQuantity, parseQuantity } from './quantity.js';

describe('quantities', () => {
  test.each([
    ['2000m', '2'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['110', '110'],
    ['12e6', '12e6'],
    ['1000k', '1M'],
    ['100Ki', '100Ki'],
    ['0.5', '500m'],
    ['-1Gi', '-1Gi'],
    ['1023Ki', '1023Ki'],
    ['0.5Ki', '512'],
    ['0', '0'],
    ['0Gi', '0'],
    ['.5', '500m'],
    ['1500m', '1500m'],
    ['0.1n', '1n'],
    ['1E', '1E'],
    ['1Ei', '1Ei'],
    ['+3', '3'],
    ['1.', '1'],
  ])('%s is printed as %s', (text, printed) => {
    expect(formatQuantity(parseQuantity(text)!)).toBe(printed);
  });

  test.each(['', 'lots', '1 Gi', '1gi', '1.2.3', '--1', 'Gi', '1e', '1e999', '0x10'])('%j is no quantity', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  test('compare by value, not by form', () => {
    const [a, b] = [parseQuantity('1Gi')!, parseQuantity('1G')!];
    expect(compareQuantities(a, b)).toBeGreaterThan(0);
    expect(compareQuantities(parseQuantity('1000m')!, parseQuantity('1')!)).toBe(0);
  });
});
