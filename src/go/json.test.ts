/** JSON in Go's words: errors, keys that stand twice, hostile keys. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseGoJson } from './json.js';
import { JsonError } from './json-reader.js';

describe('JSON as Go reads it', () => {
  test('reads every JSON value as JSON.parse does, without duplicates', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseGoJson(text)).toEqual({ value: JSON.parse(text), duplicates: [] });
      }),
    );
  });

  test('the slow reader agrees with JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        // A key twice forces the slow reader.
        const { value, duplicates } = parseGoJson(`{"a":1,"a":[${text}]}`);
        expect(value).toEqual({ a: [JSON.parse(text)] });
        expect(duplicates).toEqual(['a']);
      }),
    );
  });

  test('every text is read or refused with words, never anything else', () => {
    fc.assert(
      fc.property(fc.string(), fc.json(), fc.nat(), (noise, json, at) => {
        const cut = at % (json.length + 1);
        try {
          parseGoJson(json.slice(0, cut) + noise + json.slice(cut + 1));
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
          expect((error as Error).message).toMatch(/^(invalid character|unexpected end of JSON input|exceeded)/);
        }
      }),
    );
  });

  test.each([
    ['', 'unexpected end of JSON input'],
    ['{"data":', 'unexpected end of JSON input'],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['{} x', "invalid character 'x' after top-level value"],
    ["'", "invalid character '\\'' looking for beginning of value"],
    ['trux', "invalid character 'x' in literal true (expecting 'e')"],
    ['"\n"', "invalid character '\\n' in string literal"],
    ['"\\q"', "invalid character 'q' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['-', 'unexpected end of JSON input'],
    ['\u0081', "invalid character 'Â' looking for beginning of value"],
    ['😀', "invalid character 'ð' looking for beginning of value"],
    ['"\x01"', "invalid character '\\x01' in string literal"],
  ])('%j: %s', (text, message) => {
    expect(() => parseGoJson(text)).toThrow(expect.objectContaining({ name: 'JsonError', message }));
  });

  test('keys that stand twice are named, and objects add up', () => {
    const { value, duplicates } = parseGoJson('{"data":{"k":"1","k":"2"},"data":{"z":"3"},"l":[{"a":1,"a":2}]}');
    expect(value).toEqual({ data: { k: '2', z: '3' }, l: [{ a: 2 }] });
    expect(duplicates).toEqual(['data.k', 'data', 'l[0].a']);
  });

  test('a string that looks like a key is not taken for one', () => {
    expect(parseGoJson('{"a":"\\"b\\":1"}').duplicates).toEqual([]);
  });

  test('hostile keys stay plain keys', () => {
    const { value } = parseGoJson('{"__proto__":{"x":1},"__proto__":{"y":2}}');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  test('nesting without end is refused', () => {
    expect(() => parseGoJson('['.repeat(200_000))).toThrow(/max depth/);
    expect(() => parseGoJson(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)).toThrow(/max depth/);
  });
});
