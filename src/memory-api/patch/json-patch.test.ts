/** JSON patch against the RFC, an independent implementation, and hostile input. */
import fc from 'fast-check';
import { createPatch, applyPatch as oracleApply } from 'rfc6902';
import { describe, expect, test } from 'vitest';
import {
  applyJsonPatch,
  JsonPatchCopyError,
  JsonPatchError,
  type JsonPatchOperation,
  maxCopiedBytes,
} from './json-patch.js';

const json = fc.jsonValue({ maxDepth: 3 });
const patch = (document: unknown, ...operations: JsonPatchOperation[]) => applyJsonPatch(document, operations);

describe('JSON patch', () => {
  test('the patch between two documents turns one into the other', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const copy = structuredClone(before);
        expect(applyJsonPatch(before, createPatch(before, after) as JsonPatchOperation[])).toEqual(after);
        expect(before).toEqual(copy);
      }),
    );
  });

  test('random operations give the same result as another implementation, or are rejected', () => {
    const pointer = fc.array(fc.constantFrom('a', 'b', '0', '1', '-', 'x~1y', ''), { maxLength: 3 });
    const path = pointer.map((parts) => parts.map((part) => `/${part}`).join(''));
    const operation = fc.oneof(
      fc.record({
        op: fc.constantFrom('add' as const, 'replace' as const),
        path,
        value: fc.jsonValue({ maxDepth: 1 }),
      }),
      fc.record({ op: fc.constant('remove' as const), path }),
      fc.record({ op: fc.constantFrom('copy' as const, 'move' as const), from: path, path }),
    );
    const document = fc.record({
      a: fc.array(json, { maxLength: 2 }),
      b: fc.dictionary(fc.constantFrom('a', 'b'), json),
    });
    fc.assert(
      fc.property(document, operation, (before, change) => {
        const expected = structuredClone(before);
        const error = oracleError(expected, change);
        // The other implementation replaces no root, moves into its own child, and reads '' as an index.
        fc.pre(change.path !== '' && !change.path.endsWith('/') && !('from' in change && change.from === ''));
        fc.pre(!('from' in change && (change.from.endsWith('/') || change.path.startsWith(change.from))));
        fc.pre(!(change.op === 'replace' && change.path.endsWith('/-')));
        // It sets the prototype where a value has the key __proto__.
        fc.pre(!JSON.stringify([before, change]).includes('__proto__'));
        // And it rejects replacing or copying a missing value.
        fc.pre(error === null || change.op === 'add' || change.op === 'remove' || change.op === 'move');
        try {
          const ours = applyJsonPatch(before, [change as JsonPatchOperation]);
          expect(error).toBeNull();
          expect(ours).toEqual(expected);
        } catch (problem) {
          // The other implementation sets properties of arrays.
          expect(problem).toBeInstanceOf(JsonPatchError);
        }
      }),
    );
  });

  /** It throws if a number is on the path. */
  function oracleError(document: unknown, change: object): unknown {
    try {
      return oracleApply(document, [change as never])[0];
    } catch (error) {
      return error;
    }
  }

  test.each([
    ['add to an array', [1, 3], { op: 'add', path: '/1', value: 2 }, [1, 2, 3]],
    ['add to the end', [1], { op: 'add', path: '/-', value: 2 }, [1, 2]],
    ['escaped keys', { 'a/b': { 'm~n': 1 } }, { op: 'remove', path: '/a~1b/m~0n' }, { 'a/b': {} }],
    ['the whole document', { a: 1 }, { op: 'replace', path: '', value: [] }, []],
    ['from the end', [1, 2, 3], { op: 'remove', path: '/-1' }, [1, 2]],
    ['test for null on a missing value', {}, { op: 'test', path: '/a', value: null }, {}],
    ['replace a missing value', {}, { op: 'replace', path: '/a', value: 1 }, { a: 1 }],
    ['no value', {}, { op: 'add', path: '/a' }, { a: null }],
    ['text before the first slash', { a: 1 }, { op: 'add', path: 'x/b', value: 2 }, { a: 1, b: 2 }],
    ['copy a missing value', {}, { op: 'copy', from: '/a', path: '/b' }, { b: null }],
  ] as [string, unknown, JsonPatchOperation, unknown][])('%s', (_name, document, operation, expected) => {
    expect(patch(document, operation)).toEqual(expected);
  });

  test.each([
    [{ op: 'remove', path: '/missing' }],
    [{ op: 'replace', path: '/list/0', value: 1 }],
    [{ op: 'move', from: '/missing', path: '/b' }],
    [{ op: 'add', path: '/missing/child', value: 1 }],
    [{ op: 'add', path: '/list/9', value: 1 }],
    [{ op: 'test', path: '/a', value: 2 }],
    [{ op: 'nonsense', path: '/a' }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'move', path: '/b' }],
    [{ op: 'remove', path: '' }],
  ] as unknown as [JsonPatchOperation][])('%j is rejected', (operation) => {
    expect(() => patch({ a: 1, list: [] }, operation)).toThrow(JsonPatchError);
  });

  test('a patch that doubles the document repeatedly is rejected before it has grown', () => {
    const bomb = Array.from(
      { length: 40 },
      (_, at): JsonPatchOperation => ({
        op: 'copy',
        from: '/data',
        path: `/data/k${at}`,
      }),
    );
    expect(() => applyJsonPatch({ data: { k: 'x'.repeat(100) } }, bomb)).toThrow(JsonPatchCopyError);
  });

  test('the bytes copied in one patch are limited', () => {
    const half = 'x'.repeat(maxCopiedBytes / 2 - 2);
    const copy = (to: string): JsonPatchOperation => ({ op: 'copy', from: '/a', path: to });
    expect(Object.keys(patch({ a: half }, copy('/b'), copy('/c')) as object)).toEqual(['a', 'b', 'c']);
    expect(() => patch({ a: `${half}x` }, copy('/b'), copy('/c'))).toThrow(JsonPatchCopyError);
    expect(() => patch({ a: half, n: null }, copy('/b'), copy('/c'), { op: 'copy', from: '/n', path: '/d' })).toThrow(
      JsonPatchCopyError,
    );
  });

  test('a copy is independent of its source', () => {
    const copied = patch(
      { a: { k: 1 } },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/b/k', value: 2 },
    );
    expect(copied).toEqual({ a: { k: 1 }, b: { k: 2 } });
  });
});
