/** Field sets behave as sets of paths. */
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
  test('a field set contains exactly the paths it was made of', () => {
    fc.assert(
      fc.property(pathList, (list) => {
        expect(members(fromPaths(...list))).toEqual(texts(list));
      }),
    );
  });

  test('union, intersection and difference of field sets are those of their paths', () => {
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

  test('a recursive difference removes everything below an element', () => {
    fc.assert(
      fc.property(pathList, pathList, (a, b) => {
        const isBelow = (each: string) => b.some((top) => `${each}/`.startsWith(`${top.join('/')}/`));
        const left = [...texts(a)].filter((each) => !isBelow(each));
        expect(members(deepDifference(fromPaths(...a), fromPaths(...b)))).toEqual(new Set(left));
      }),
    );
  });

  test('an operation that changes nothing returns the same object', () => {
    fc.assert(
      fc.property(pathList, (list) => {
        const set = fromPaths(...list);
        expect(union(set, fromPaths(...list.slice(1)))).toBe(set);
        expect(difference(set, fromPaths(['f:elsewhere']))).toBe(set);
      }),
    );
  });

  test('a field set survives JSON', () => {
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

describe('managedFields sent by clients', () => {
  test('field sets from clients are normalized: keys in order, unknown kinds of elements left out', () => {
    const fieldsV1 = { 'k:{"b": 1, "a":"<"}': {}, 'x:later': { 'f:a': {} }, 'f:z': {}, 'f:a': { 'f:b': {} } };
    const [read] = readManagers(entry(fieldsV1))!;
    expect(JSON.stringify(read!.fieldsV1)).toBe(
      JSON.stringify({ 'f:a': { 'f:b': {} }, 'f:z': {}, 'k:{"a":"\\u003c","b":1}': {} }),
    );
  });

  test.each([
    ['an element without a kind', { a: {} }],
    ['keys that are not an object', { 'k:[]': {} }],
    ['a value that is not JSON', { 'v:{': {} }],
    ['an index that is not a number', { 'i:x': {} }],
    ['fields that are not an object', { 'f:a': 1 }],
  ])('a field set from a client is rejected for %s', (_what, fieldsV1) => {
    expect(readManagers(entry(fieldsV1))).toBeUndefined();
  });

  test('a field set from a client is rejected when it is too deep', () => {
    let tower: object = {};
    for (let depth = 0; depth < 100_000; depth++) tower = { 'f:a': tower };
    expect(readManagers(entry(tower))).toBeUndefined();
  });
});

test('paths are printed and sorted as in messages of Kubernetes', () => {
  expect(pathText(['f:spec', 'f:containers', 'k:{"name":"a","port":80}', 'v:"x"', 'i:3'])).toBe(
    '.spec.containers[name="a",port=80][="x"][3]',
  );
  const elements = ['v:10', 'i:2', 'k:{"port":443}', 'f:b', 'v:9', 'k:{"port":80}', '.', 'f:a'];
  expect(sortElements(elements)).toEqual(['.', 'f:a', 'f:b', 'k:{"port":80}', 'k:{"port":443}', 'v:9', 'v:10', 'i:2']);
});
