/** Durations: what Go reads, how it prints, what it says of the rest. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDuration, parseDuration, tryParseDuration } from './duration.js';

describe('durations', () => {
  test.each([
    ['1m', '1m0s'],
    ['1s1h', '1h0m1s'],
    ['9223372036s', '2562047h47m16s'],
    ['90s', '1m30s'],
    ['1.5h', '1h30m0s'],
    ['.5s', '500ms'],
    ['1.s', '1s'],
    ['-1.5m', '-1m30s'],
    ['+5s', '5s'],
    ['0', '0s'],
    ['-0', '0s'],
    ['1h1ns', '1h0m0.000000001s'],
    ['1500us', '1.5ms'],
    ['3\u00b5s', '3\u00b5s'],
    ['3\u03bcs', '3\u00b5s'],
    ['999ns', '999ns'],
    ['0.3333333333333333333h', '20m0s'],
    ['9223372036854775807ns', '2562047h47m16.854775807s'],
    ['-9223372036854775808ns', '-2562047h47m16.854775808s'],
    ['0.100000000000000000000h', '6m0s'],
  ])('%s is %s', (text, printed) => {
    expect(formatDuration(parseDuration(text))).toBe(printed);
  });

  test.each([
    ['', 'time: invalid duration ""'],
    ['10', 'time: missing unit in duration "10"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['10 s', 'time: unknown unit " s" in duration "10 s"'],
    ['1e3s', 'time: unknown unit "e" in duration "1e3s"'],
    ['s', 'time: invalid duration "s"'],
    ['.', 'time: invalid duration "."'],
    ['+', 'time: invalid duration "+"'],
    ['--1s', 'time: invalid duration "--1s"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['3000000h', 'time: invalid duration "3000000h"'],
    ['1m30', 'time: missing unit in duration "1m30"'],
  ])('%j: %s', (text, message) => {
    expect(() => parseDuration(text)).toThrow(message);
    expect(tryParseDuration(text)).toBeUndefined();
  });

  test('what is printed is read back', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanoseconds) => {
        expect(parseDuration(formatDuration(nanoseconds))).toBe(nanoseconds);
      }),
    );
  });
});
