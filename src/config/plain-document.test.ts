/** Plain data out of YAML and JSON. */
import { expect, test } from 'vitest';
import { readPlain } from './plain-document.js';

test.each<[string, string, unknown]>([
  ['YAML', 'a: [1, x, true, null]\nb: {c: "2"}', { a: [1, 'x', true, null], b: { c: '2' } }],
  ['JSON', '{"a": [1, "x"]}', { a: [1, 'x'] }],
  ["Go's words for true", 'a: yes', { a: true }],
  ['nothing', '', undefined],
  ['a comment', '# nothing', undefined],
])('%s', (_name, text, expected) => expect(readPlain(text)).toEqual(expected));

test('a key named like the prototype is a key', () => {
  const read = readPlain('__proto__: {polluted: true}') as object;
  expect(Object.keys(read)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test.each(['a: [b', 'a: 1\na: 2', '{"a": }'])('%j is refused', (text) => expect(() => readPlain(text)).toThrow());
