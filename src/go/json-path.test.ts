/** JSONPath templates and paths as client-go reads them. */
import { describe, expect, test } from 'vitest';
import { findAll, JsonPathError, parsePath, parseTemplate, printTemplate } from './json-path.js';

const root = {
  kind: 'List',
  items: [
    { metadata: { name: 'a', labels: { 'x.y/z': '1' } }, status: { n: 1, ready: true } },
    { metadata: { name: 'b', labels: {} }, status: { n: 20 } },
    { metadata: { name: 'c' }, status: { n: 3 } },
  ],
};
const print = (template: string) => printTemplate(parseTemplate(template), root);

describe('a JSONPath template', () => {
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
    ['{.items[?(@.status.n>"2")].metadata.name}', ''],
    ['{.items[0].status[?(@.n)]}', ''],
    ['{..name}', 'a b c'],
    ['{.items[0].status}', '{"n":1,"ready":true}'],
    ['{.items[0].status.*}', '1 true'],
    ['{.nothing.here}', ''],
    ['names: {.items[*].metadata.name}!', 'names: a b c!'],
    ['{"{}"}', '{}'],
  ])('%s', (template, text) => {
    expect(print(template)).toBe(text);
  });

  test.each(['{.items', '.a}', '{range .items[*]}', '{end}', '{.items[abc]}', '{"a}'])('%s is rejected', (template) => {
    expect(() => parseTemplate(template)).toThrow(JsonPathError);
  });

  test('a path of a column or for sorting may lack braces and the leading dot', () => {
    for (const path of ['.metadata.name', '{.metadata.name}', 'metadata.name'])
      expect(findAll(root.items[0], parsePath(path))).toEqual(['a']);
  });

  test('inherited properties are not found', () => {
    expect(findAll({}, parsePath('.constructor.name'))).toEqual([]);
    expect(findAll({}, parsePath('.__proto__'))).toEqual([]);
  });
});
