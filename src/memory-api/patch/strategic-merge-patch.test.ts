/** Strategic merge patch: lists by key, directives, order, and properties for any input. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyMergePatch } from '../../api/merge-patch.js';
import type { JsonObject } from './strategic-directives.js';
import { applyStrategicMergePatch, type PatchSchema } from './strategic-merge-patch.js';

const schema: PatchSchema = {
  properties: {
    conditions: {
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'type',
      items: {
        properties: {
          ports: {
            'x-kubernetes-patch-strategy': 'merge',
            'x-kubernetes-patch-merge-key': 'port',
            items: {},
          },
        },
      },
    },
    finalizers: { 'x-kubernetes-patch-strategy': 'merge', items: {} },
    atomic: { items: {} },
    replaced: { 'x-kubernetes-patch-strategy': 'replace', properties: {} },
    retained: { 'x-kubernetes-patch-strategy': 'retainKeys', properties: {} },
    nested: { properties: { finalizers: { 'x-kubernetes-patch-strategy': 'merge', items: {} } } },
  },
};
const apply = (target: JsonObject, patch: JsonObject) => applyStrategicMergePatch(target, patch, schema);
const types = (object: JsonObject) => (object.conditions as { type: string }[]).map(({ type }) => type).join('');
const conditions = (...names: string[]) => ({ conditions: names.map((type) => ({ type, status: 'old' })) });

describe('strategic merge patch', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['objects merge, null removes', { a: { b: 1, c: 2 } }, { a: { b: 3, c: null } }, { a: { b: 3 } }],
    ['lists without a strategy are replaced', { atomic: [1, 2] }, { atomic: [3] }, { atomic: [3] }],
    [
      'scalars with strategy merge become a set',
      { finalizers: ['a'] },
      { finalizers: ['b', 'a'] },
      { finalizers: ['b', 'a'] },
    ],
    [
      'elements with the same key merge',
      { conditions: [{ type: 'A', status: '1', reason: 'r' }] },
      { conditions: [{ type: 'A', status: '2' }] },
      { conditions: [{ type: 'A', status: '2', reason: 'r' }] },
    ],
    [
      'lists inside elements merge too',
      { conditions: [{ type: 'A', ports: [{ port: 1, name: 'x' }] }] },
      { conditions: [{ type: 'A', ports: [{ port: 2 }] }] },
      { conditions: [{ type: 'A', ports: [{ port: 2 }, { port: 1, name: 'x' }] }] },
    ],
    ['$patch: delete empties an object', { a: { b: 1 }, c: 2 }, { a: { $patch: 'delete' } }, { a: {}, c: 2 }],
    ['$patch: replace on an object', { a: { b: 1 } }, { a: { $patch: 'replace', c: 2 } }, { a: { c: 2 } }],
    [
      '$patch: delete takes an element out',
      conditions('A', 'B'),
      { conditions: [{ $patch: 'delete', type: 'A' }] },
      conditions('B'),
    ],
    [
      '$patch: replace as an element replaces the list',
      conditions('A', 'B'),
      { conditions: [{ $patch: 'replace' }, { type: 'C', status: 'old' }] },
      conditions('C'),
    ],
    [
      '$retainKeys drops all other keys',
      { retained: { a: 1, b: 2 } },
      { retained: { $retainKeys: ['b', 'c'], c: 3 } },
      { retained: { b: 2, c: 3 } },
    ],
    [
      '$deleteFromPrimitiveList takes values out',
      { finalizers: ['a', 'b', 'c'] },
      { '$deleteFromPrimitiveList/finalizers': ['b'] },
      { finalizers: ['a', 'c'] },
    ],
    [
      '$setElementOrder orders scalars',
      { finalizers: ['a', 'b', 'c'] },
      { '$setElementOrder/finalizers': ['c', 'a', 'd'], finalizers: ['d'] },
      { finalizers: ['b', 'c', 'a', 'd'] },
    ],
    ['strategy replace on an object', { replaced: { a: 1 } }, { replaced: { b: 2 } }, { replaced: { b: 2 } }],
    [
      'directives that are keys stay in new values as unknown fields',
      {},
      { nested: { $retainKeys: ['x'], x: 1, y: null } },
      { nested: { $retainKeys: ['x'], x: 1 } },
    ],
    [
      'new values with directives about old values are dropped',
      { other: 1 },
      { nested: { $patch: 'replace', x: 1 }, other: { $patch: 'delete' } },
      {},
    ],
  ])('%s', (_name, target, patch, expected) => {
    expect(apply(target, patch)).toEqual(expected);
  });

  test.each([
    ['AB', 'A C', 'ACB'],
    ['ABC', 'B X', 'ABXC'],
    ['ABC', 'X', 'XABC'],
    ['ABC', 'C A', 'BCA'],
  ])('server %s, patch %s: the order is %s', (server, patch, expected) => {
    expect(types(apply(conditions(...server), conditions(...patch.split(' '))))).toBe(expected);
  });

  test('$setElementOrder orders elements by key', () => {
    const patch = {
      '$setElementOrder/conditions': [{ type: 'C' }, { type: 'A' }],
      conditions: [{ type: 'C', status: 'new' }],
    };
    expect(types(apply(conditions('A', 'B', 'C'), patch))).toBe('BCA');
    expect(
      types(
        apply(conditions('A', 'B', 'C'), {
          '$setElementOrder/conditions': [{ type: 'C' }, { type: 'B' }, { type: 'A' }],
        }),
      ),
    ).toBe('CBA');
  });

  test.each<[string, JsonObject, string]>([
    [
      'no merge key',
      { conditions: [{ status: 'True' }] },
      'map: map[status:True] does not contain declared merge key: type',
    ],
    ['unknown directive', { $patch: 'explode' }, 'unknown patch type: explode in map: map[$patch:explode]'],
    [
      'merge directive in a list',
      { conditions: [{ $patch: 'merge', type: 'A' }] },
      'merging lists cannot yet be specified in the patch',
    ],
    ['retainKeys without the key', { retained: { $retainKeys: ['a'], b: 1 } }, 'invalid patch format of retainKeys'],
    [
      'order that contradicts the list',
      { '$setElementOrder/finalizers': ['a'], finalizers: ['b'] },
      "doesn't match $setElementOrder list",
    ],
    ['order that is not a list', { '$setElementOrder/finalizers': 'a' }, 'expected a slice'],
  ])('a strategic merge patch is rejected: %s', (_name, patch, message) => {
    expect(() => apply({ ...conditions('A'), retained: { a: 1 }, finalizers: ['a'] }, patch)).toThrow(message);
  });

  test('a strategic merge patch without merged lists and directives is a merge patch', () => {
    const object = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(object, object, (target, patch) => {
        // A merge patch keeps nulls inside lists; so must this.
        fc.pre(!JSON.stringify(patch).includes('[') && !JSON.stringify(patch).includes('$'));
        expect(apply(target, patch)).toEqual(applyMergePatch(target, patch));
      }),
    );
  });

  test('keys stay unique, every patched value is set, nothing else is lost', () => {
    const element = fc.record({ type: fc.constantFrom('A', 'B', 'C', 'D', 'E'), status: fc.string() });
    const list = fc.uniqueArray(element, { selector: ({ type }) => type });
    fc.assert(
      fc.property(list, list, (server, patch) => {
        const merged = apply({ conditions: server }, { conditions: patch }).conditions as typeof server;
        const keys = merged.map(({ type }) => type);
        expect(new Set(keys).size).toBe(keys.length);
        expect(new Set(keys)).toEqual(new Set([...server, ...patch].map(({ type }) => type)));
        for (const wanted of patch) expect(merged).toContainEqual(wanted);
        const order = (of: typeof server) => keys.filter((key) => of.some(({ type }) => type === key));
        expect(order(patch)).toEqual(patch.map(({ type }) => type));
      }),
    );
  });

  test('applying the same patch twice changes nothing more', () => {
    const element = fc.record({ type: fc.constantFrom('A', 'B', 'C'), status: fc.string() });
    const list = fc.uniqueArray(element, { selector: ({ type }) => type });
    fc.assert(
      fc.property(list, list, (server, patch) => {
        const once = apply({ conditions: server }, { conditions: patch });
        expect(apply(once, { conditions: patch })).toEqual(once);
      }),
    );
  });
});
