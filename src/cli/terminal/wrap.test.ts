/** Text broken to fit. */
import { describe, expect, test } from 'vitest';
import { createPaint, hanging, wrap, wrapLines, wrapWords } from './terminal.js';

describe('wrap', () => {
  test('breaks at spaces so that no line is longer than the columns', () => {
    expect(wrap('one two three four', 9, '  ')).toBe('  one two\n  three\n  four');
  });

  test('keeps a word longer than the line whole', () => {
    expect(wrap('see /a/very/long/path now', 8)).toBe('see\n/a/very/long/path\nnow');
  });

  test('keeps a quoted command on one line where it fits, so that it can be copied', () => {
    expect(wrap("wait for its end with 'relet wait node-1', or not", 30)).toBe(
      "wait for its end with\n'relet wait node-1', or not",
    );
    expect(wrap("(see 'relet get')  now", 80)).toBe("(see 'relet get')  now");
    expect(wrap("use 'relet wait node-1 --for=lastKnownGood'", 20)).toBe(
      "use 'relet wait\nnode-1\n--for=lastKnownGood'",
    );
  });

  test('breaks such a word behind a slash on a terminal, and keeps the indent', () => {
    const text = 'see /a/very/long/path/of/a/file.yaml now';
    expect(wrapWords(text, { width: 14, columns: 14 }, '  ')).toBe(
      '  see /a/very/\n  long/path/\n  of/a/file.\n  yaml now',
    );
    expect(wrapWords(text, { width: undefined, columns: 14 }, '  ')).toBe(wrap(text, 14, '  '));
  });

  test('breaks a word without slashes where the line ends, and loses no letter', () => {
    expect(wrapWords('abcdefghijklmnopqrstuvwxyz', { width: 10, columns: 10 })).toBe('abcdefghij\nklmnopqrst\nuvwxyz');
  });

  test('keeps the line breaks of the text, and no spaces at line ends', () => {
    expect(wrap('a\n\nb', 80, '  ')).toBe('  a\n\n  b');
  });

  test('each line keeps its own indent', () => {
    expect(wrapLines('a long line\n  and one below', 8)).toBe('a long\nline\n  and\n  one\n  below');
  });

  test('a line that hangs is broken on a terminal and whole in a pipe', () => {
    const text = 'node-1: kube-system/a -> kube-system/b';
    expect(hanging(text, { width: 24, columns: 24 })).toBe('node-1: kube-system/a ->\n    kube-system/b');
    expect(hanging(text, { width: undefined, columns: 24 })).toBe(text);
    const { red } = createPaint(true);
    expect(hanging(red('node-1: one two'), { width: 15, columns: 15 })).toBe(red('node-1: one two'));
    expect(hanging('cause:  one two three', { width: 14, columns: 14 }, 8)).toBe(
      'cause:  one\n        two\n        three',
    );
  });
});
