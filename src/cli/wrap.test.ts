/** Text broken to fit. */
import { describe, expect, test } from 'vitest';
import { wrap, wrapLines } from './wrap.js';

describe('wrap', () => {
  test('breaks at spaces so that no line is longer than the columns', () => {
    expect(wrap('one two three four', 9, '  ')).toBe('  one two\n  three\n  four');
  });

  test('keeps a word longer than the line whole', () => {
    expect(wrap('see /a/very/long/path now', 8)).toBe('see\n/a/very/long/path\nnow');
  });

  test('keeps the line breaks of the text, and no spaces at line ends', () => {
    expect(wrap('a\n\nb', 80, '  ')).toBe('  a\n\n  b');
  });

  test('each line keeps its own indent', () => {
    expect(wrapLines('a long line\n  and one below', 8)).toBe('a long\nline\n  and\n  one\n  below');
  });
});
