/** Quantities: what is read, how it is printed. */
import { describe, expect, test } from 'vitest';
import {
  canonicalQuantity,
  formatQuantity,
  isWholeNumber,
  parseQuantity,
  quantityProblem,
  quantityRule,
} from './quantity.js';

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

  test.each(['', 'lots', '1 Gi', '1gi', '1.2.3', '--1', '1mm', '1e', '0x10', '100MI', '1K'])(
    '%j is not a quantity',
    (text) => {
      expect(parseQuantity(text)).toBeUndefined();
    },
  );
});

test('a text that is too long is not a quantity, and is rejected at once', () => {
  expect(parseQuantity(`${'1'.repeat(2_000_000)}x`)).toBeUndefined();
});

describe('as read and shown again', () => {
  test.each([
    ['0100Mi', '0100Mi'],
    ['+5', '+5'],
    ['1024Mi', '1Gi'],
    ['8Mi', '8Mi'],
    ['1e100', '10e99'],
    ['1E3', '1E3'],
    ['16Ei', '9223372036854775807'],
    ['12000e3', '12e6'],
    ['0.1Gi', '107374182400m'],
    ['1e9999999999', '1e9999999999'],
    ['Gi', '0'],
    ['.', '0'],
    ['-', '0'],
  ])('%s is shown as %s', (text, shown) => {
    expect(canonicalQuantity(text)).toBe(shown);
    expect(quantityProblem(text)).toBeUndefined();
  });

  test.each([
    ['lots', quantityRule],
    ['', quantityRule],
    ['10%', quantityRule],
    ['1KiB', quantityRule],
    ['1mm', "unable to parse quantity's suffix"],
    ['1e', "unable to parse quantity's suffix"],
  ])('%j: %s', (text, problem) => {
    expect(quantityProblem(text)).toBe(problem);
    expect(canonicalQuantity(text)).toBeUndefined();
  });
});

describe('whole numbers of 64 bits', () => {
  test.each([
    ['0', true],
    ['10Mi', true],
    ['-10Mi', true],
    ['12e6', true],
    ['99999Gi', true],
    ['100000Gi', false],
    ['99Ti', true],
    ['1Pi', false],
    ['1.5Gi', false],
    ['1.0', false],
    ['1000m', false],
    ['9E', true],
    ['10E', false],
    ['1e400', false],
    ['', false],
  ])('%s is a whole number to the kubelet: %s', (text, whole) => {
    expect(isWholeNumber(text)).toBe(whole);
  });
});
