/** Place of a cursor, marked by `|` in the text. */
import { expect, test } from 'vitest';
import { yamlPlaceAt } from './yaml-place.js';

const place = (marked: string) => yamlPlaceAt(marked.replace('|', ''), marked.indexOf('|'));

test.each<[string, string, string[], 'key' | 'value', string, string[]]>([
  ['an empty text', '|', [], 'key', '', []],
  ['a word at the top', 'maxPods: 5\nev|', [], 'key', 'ev', ['maxPods']],
  ['a value', 'cpuManagerPolicy: st|', ['cpuManagerPolicy'], 'value', 'st', []],
  ['an empty value', 'failSwapOn: |\nmaxPods: 3', ['failSwapOn'], 'value', '', []],
  ['under a key', 'evictionHard:\n  mem|', ['evictionHard'], 'key', 'mem', []],
  ['after a sibling', 'evictionHard:\n  memory.available: 1Mi\n  |', ['evictionHard'], 'key', '', ['memory.available']],
  ['back at the top', 'evictionHard:\n  a: 1\n|', [], 'key', '', ['evictionHard']],
  ['two levels down', 'logging:\n  options:\n    json:\n      spl|', ['logging', 'options', 'json'], 'key', 'spl', []],
  ['a value under a quoted key', 'a:\n  "b.c": tr|', ['a', 'b.c'], 'value', 'tr', []],
  ['an item of a list', 'enforceNodeAllocatable:\n  - po|', ['enforceNodeAllocatable', '[]'], 'key', 'po', []],
  ['an item at the column of its key', 'a:\n- x\n- |', ['a', '[]'], 'key', '', []],
  ['a key in an item', 'taints:\n  - key: a\n    ef|', ['taints', '[]'], 'key', 'ef', ['key']],
  ['a value in an item', 'taints:\n  - key: a\n    effect: No|', ['taints', '[]', 'effect'], 'value', 'No', []],
  ['the first key in an item', 'taints:\n  - ke|\n    effect: b', ['taints', '[]'], 'key', 'ke', ['effect']],
  ['with comments and blank lines between', 'a:\n  # why\n\n  b|', ['a'], 'key', 'b', []],
])('%s', (_name, marked, path, typing, typed, siblings) => {
  const found = place(marked);
  expect(found).toMatchObject({ path, typing, typed, siblings });
  expect(found!.from).toBe(marked.indexOf('|') - typed.length);
});

test.each([['a: b # comm|'], ['a: {b|'], ['a: [b, |']])('nothing is completed in %s', (marked) => {
  expect(place(marked)).toBeUndefined();
});
