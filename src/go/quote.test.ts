/** Strings as Go's %q prints them. */
import { expect, test } from 'vitest';
import { quote, unquote } from './quote.js';

test.each([
  ['plain', '"plain"'],
  ['a "b" \\', '"a \\"b\\" \\\\"'],
  ['\x07\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
  ['\x00\x7f', '"\\x00\\x7f"'],
  ['é世 \u00a0\u{e0001}', '"é世 \\u00a0\\U000e0001"'],
])('%j is printed as %s, and read back', (text, quoted) => {
  expect(quote(text)).toBe(quoted);
  expect(unquote(quoted)).toBe(text);
});

test('half of a surrogate pair is printed as U+FFFD, as Go reads it', () => {
  expect(quote('\ud800')).toBe('"\ufffd"');
});
