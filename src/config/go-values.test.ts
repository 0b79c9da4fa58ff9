/** Durations and quantities, read and written as Go does. */
import { describe, expect, test } from 'vitest';
import { formatDuration, parseDuration } from './go-duration.js';
import { formatQuantity, isWholeNumber, parseQuantity, quantityErrors } from './go-quantity.js';

describe('durations', () => {
  test.each([
    ['1h30m', '1h30m0s'],
    ['1.5h', '1h30m0s'],
    ['.5s', '500ms'],
    ['5.s', '5s'],
    ['1s1h', '1h0m1s'],
    ['1m1m', '2m0s'],
    ['0.1s', '100ms'],
    ['1us', '1µs'],
    ['1μs', '1µs'],
    ['-5s', '-5s'],
    ['+5s', '5s'],
    ['0', '0s'],
    ['9223372036s', '2562047h47m16s'],
  ])('%s is written %s', (text, canonical) => {
    expect(formatDuration(parseDuration(text)!)).toBe(canonical);
  });

  test.each(['', '5', '-', '.s', '5 s', '1d', '1h 30m', '9223372037s', 's', '5sx', 'toString'])(
    '%j is no duration',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('quantities', () => {
  test.each([
    ['1.5Gi', '1536Mi'],
    ['100Mi', '100Mi'],
    ['0.1', '100m'],
    ['12e6', '12e6'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1000k', '1M'],
    ['-10Mi', '-10Mi'],
    ['0Mi', '0'],
    ['1.5', '1500m'],
    ['0.5Ki', '512'],
    ['100G', '100G'],
    ['1e9999999999', `${10n ** 1n}e399`],
  ])('%s is written %s', (text, canonical) => {
    expect(formatQuantity(parseQuantity(text) as Exclude<ReturnType<typeof parseQuantity>, string>)).toBe(canonical);
  });

  test.each([
    ['', quantityErrors.format],
    ['100MI', quantityErrors.format],
    ['1KiB', quantityErrors.format],
    ['one', quantityErrors.format],
    ['1K', quantityErrors.suffix],
    ['1e', quantityErrors.suffix],
  ])('%j is refused', (text, message) => {
    expect(parseQuantity(text)).toBe(message);
  });

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
