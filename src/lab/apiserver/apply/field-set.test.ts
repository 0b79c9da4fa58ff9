/** Sets of fields behave as sets of paths, whatever tree they are written as. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deepDifference, difference, type FieldSet, fromPaths, intersection, paths, union } from './field-set.js';
import { readManagers } from './managers.js';
import { pathText, sortElements } from './path-element.js';

const element = fc.constantFrom('f:a', 'f:b', 'f:__proto__', 'f:constructor', 'k:{"name":"x"}', 'v:1', 'v:"s"', 'i:0');
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const pathList = fc.array(path, { maxLength: 8 });

const members = (set: FieldSet) => new Set([...paths(set)].map((each) => each.join('/')));
const texts = (list: string[][]) => new Set(list.map((each) => each.join('/')));
const entry = (fieldsV1: unknown) => [{ operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 }];

describe('sets of fields', () => {
  test('hold exactly the paths they are made of', () => {
    fc.assert(
      fc.property(pathList, (list) => {
        expect(members(fromPaths(...list))).toEqual(texts(list));
      }),
    );
  });

  test('join, meet and differ as sets of paths do', () => {
    fc.assert(
      fc.property(pathList, pathList, (a, b) => {
        const [one, two] = [fromPaths(...a), fromPaths(...b)];
        const [inA, inB] = [texts(a), texts(b)];
        expect(members(union(one, two))).toEqual(new Set([...inA, ...inB]));
        expect(members(intersection(one, two))).toEqual(new Set([...inA].filter((each) => inB.has(each))));
        expect(members(difference(one, two))).toEqual(new Set([...inA].filter((each) => !inB.has(each))));
      }),
    );
  });

  test('lose with an element all that lies below it when asked to', () => {
    fc.assert(
      fc.property(pathList, pathList, (a, b) => {
        const isBelow = (each: string) => b.some((top) => `${each}/`.startsWith(`${top.join('/')}/`));
        const left = [...texts(a)].filter((each) => !isBelow(each));
        expect(members(deepDifference(fromPaths(...a), fromPaths(...b)))).toEqual(new Set(left));
      }),
    );
  });

  test('are the same object where nothing was added or taken', () => {
    fc.assert(
      fc.property(pathList, (list) => {
        const set = fromPaths(...list);
        expect(union(set, fromPaths(...list.slice(1)))).toBe(set);
        expect(difference(set, fromPaths(['f:elsewhere']))).toBe(set);
      }),
    );
  });

  test('come back from JSON as they were', () => {
    fc.assert(
      fc.property(pathList, (list) => {
        const set = fromPaths(...list);
        const [read] = readManagers(entry(JSON.parse(JSON.stringify(set))))!;
        expect(members(read!.fieldsV1)).toEqual(texts(list));
        expect(readManagers(entry(read!.fieldsV1))).toEqual([read]);
      }),
    );
  });
});

describe('what clients send as owners', () => {
  test('is brought into one form: keys in order, unknown kinds of elements left out', () => {
    const fieldsV1 = { 'k:{"b": 1, "a":"<"}': {}, 'x:later': { 'f:a': {} }, 'f:z': {}, 'f:a': { 'f:b': {} } };
    const [read] = readManagers(entry(fieldsV1))!;
    expect(JSON.stringify(read!.fieldsV1)).toBe(
      JSON.stringify({ 'f:a': { 'f:b': {} }, 'f:z': {}, 'k:{"a":"\\u003c","b":1}': {} }),
    );
  });

  test.each([
    ['an element without a kind', { a: {} }],
    ['keys that are no object', { 'k:[]': {} }],
    ['a value that is no JSON', { 'v:{': {} }],
    ['a place that is no number', { 'i:x': {} }],
    ['fields that are no object', { 'f:a': 1 }],
  ])('is refused as a whole for %s', (_what, fieldsV1) => {
    expect(readManagers(entry(fieldsV1))).toBeUndefined();
  });

  test('is refused when it is a tower', () => {
    let tower: object = {};
    for (let depth = 0; depth < 100_000; depth++) tower = { 'f:a': tower };
    expect(readManagers(entry(tower))).toBeUndefined();
  });
});

test('paths read as in Kubernetes messages, and sort as there', () => {
  expect(pathText(['f:spec', 'f:containers', 'k:{"name":"a","port":80}', 'v:"x"', 'i:3'])).toBe(
    '.spec.containers[name="a",port=80][="x"][3]',
  );
  const elements = ['v:10', 'i:2', 'k:{"port":443}', 'f:b', 'v:9', 'k:{"port":80}', '.', 'f:a'];
  expect(sortElements(elements)).toEqual(['.', 'f:a', 'f:b', 'k:{"port":80}', 'k:{"port":443}', 'v:9', 'v:10', 'i:2']);
});
