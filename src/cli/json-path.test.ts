/** JSONPath templates as people know them from kubectl. */
import { describe, expect, test } from 'vitest';
import { JsonPathError, parseTemplate, printTemplate, valuesAt } from './json-path.js';

const root = {
  kind: 'List',
  items: [
    { metadata: { name: 'a', labels: { 'x.y/z': '1' } }, status: { n: 1, ready: true } },
    { metadata: { name: 'b', labels: {} }, status: { n: 20 } },
    { metadata: { name: 'c' }, status: { n: 3 } },
  ],
};
const print = (template: string) => printTemplate(parseTemplate(template), root);

describe('a template', () => {
  test.each([
    ['{.kind}', 'List'],
    ['.kind', 'List'],
    ['{$.kind}', 'List'],
    ['{@.kind}', 'List'],
    ['{.items[*].metadata.name}', 'a b c'],
    ['{.items[0].metadata.name}', 'a'],
    ['{.items[-1].metadata.name}', 'c'],
    ['{.items[0:2].metadata.name}', 'a b'],
    ['{.items[::2].metadata.name}', 'a c'],
    ['{.items[0,2].metadata.name}', 'a c'],
    ["{.items[0]['metadata'].name}", 'a'],
    ['{.items[0].metadata.labels.x\\.y/z}', '1'],
    ['{.items[0].metadata.labels["x.y/z"]}', '1'],
    ['{range .items[*]}{.metadata.name}={.status.n}{"\\n"}{end}', 'a=1\nb=20\nc=3\n'],
    ['{.items[?(@.metadata.name=="b")].status.n}', '20'],
    ['{.items[?(@.status.n>2)].metadata.name}', 'b c'],
    ['{.items[?(@.status.ready)].metadata.name}', 'a'],
    ['{.items[?(@.status.ready==true)].metadata.name}', 'a'],
    ['{..name}', 'a b c'],
    ['{.items[0].status}', '{"n":1,"ready":true}'],
    ['{.items[0].status.*}', '1 true'],
    ['{.nothing.here}', ''],
    ['names: {.items[*].metadata.name}!', 'names: a b c!'],
    ['{"{}"}', '{}'],
  ])('%s', (template, text) => {
    expect(print(template)).toBe(text);
  });

  test.each(['{.items', '.a}', '{range .items[*]}', '{end}', '{.items[abc]}', '{"a}'])('%s is refused', (template) => {
    expect(() => parseTemplate(template)).toThrow(JsonPathError);
  });

  test('paths of columns and sorting stand with or without braces and dot', () => {
    for (const path of ['.metadata.name', '{.metadata.name}', 'metadata.name'])
      expect(valuesAt(path, root.items[0])).toEqual(['a']);
  });

  test('inherited properties are not there', () => {
    expect(valuesAt('.constructor.name', {})).toEqual([]);
    expect(valuesAt('.__proto__', {})).toEqual([]);
  });
});
