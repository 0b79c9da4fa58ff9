/** Field selectors: terms, escapes, and errors. */
import { describe, expect, test } from 'vitest';
import { exactName, parseFieldSelector } from './field-selector.js';

describe('field selectors', () => {
  test('terms are sorted and both spellings of equality are one', () => {
    expect(parseFieldSelector('status.phase!=Running,metadata.name==a')).toEqual([
      { field: 'metadata.name', operator: '=', value: 'a' },
      { field: 'status.phase', operator: '!=', value: 'Running' },
    ]);
  });

  test('empty terms are skipped and escapes undone', () => {
    expect(parseFieldSelector(',a=b\\,c\\=d\\\\,')).toEqual([{ field: 'a', operator: '=', value: 'b,c=d\\' }]);
  });

  test.each([
    ['nothing', "invalid selector: 'nothing'; can't understand 'nothing'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('%s is rejected', (selector, message) => {
    expect(() => parseFieldSelector(selector)).toThrow(message);
  });

  test.each([
    ['metadata.name=a', 'a'],
    ['x=y,metadata.name==a', 'a'],
    ['metadata.name!=a', undefined],
    ['metadata.name=a/b', undefined],
    ['metadata.name=', undefined],
    ['broken', undefined],
  ])('%s asks for exactly %s', (selector, name) => {
    expect(exactName(selector)).toBe(name);
  });
});
