/**
 * Work on large objects is linear: each case has so many entries that quadratic work would
 * take far longer than a test may.
 */
import { describe, expect, test } from 'vitest';
import { duplicateErrors } from '../crd/duplicates.js';
import type { JsonSchema } from '../crd/json-schema.js';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.js';
import { compare } from './compare.js';
import { fieldsOf, withNamedFields } from './fields-of.js';
import { merge } from './merge.js';
import type { MergeSchema } from './merge-schema.js';

const many = 100_000;
const items = <T>(make: (index: number) => T) => Array.from({ length: many }, (_, index) => make(index));
const keys = (value: string) => Object.fromEntries(items((index) => [`k${index}`, value]));

const text: MergeSchema = { type: 'string' };
const named: MergeSchema = {
  type: 'array',
  items: { type: 'object', properties: { name: text, inner: { type: 'object', properties: { value: text } } } },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
} as MergeSchema;
const list = (value: string) => items((index) => ({ name: `n${index}`, inner: { value } }));

describe('objects with 100,000 entries', () => {
  test('all keys of a new map are found', () => {
    const schema = { type: 'object', properties: { data: { type: 'object', additionalProperties: text } } };
    const { added } = compare({}, { data: keys('v') }, schema as MergeSchema);
    expect(Object.keys(added['f:data']!)).toHaveLength(many + 1);
  });

  test('all items of a list with keys are found', () => {
    const schema = { type: 'object', properties: { list: named } } as MergeSchema;
    const fields = withNamedFields(fieldsOf({ list: list('v') }, schema), schema);
    expect(Object.keys(fields['f:list']!)).toHaveLength(many + 1);
  });

  test('an applied list is merged into the live one', () => {
    const merged = merge(list('live').reverse(), list('applied'), named) as ReturnType<typeof list>;
    expect([merged.length, merged[0]]).toEqual([many, { name: 'n0', inner: { value: 'applied' } }]);
  });

  test('repeated items of a list are found', () => {
    expect(duplicateErrors([...list('v'), { name: 'n7' }, { name: 'n7' }], named as JsonSchema, 'list')).toMatchObject([
      { type: 'Duplicate', field: `list[${many}]` },
    ]);
  });

  describe('a strategic merge patch', () => {
    const schema = {
      properties: {
        list: { 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'name', items: {} },
        scalars: { 'x-kubernetes-patch-strategy': 'merge' },
      },
    };
    const patched = (target: unknown[], patch: Record<string, unknown>, field = 'list') =>
      applyStrategicMergePatch({ [field]: target }, patch, schema)[field] as unknown[];

    test('merges every element', () => {
      expect(patched(list('old'), { list: list('new') })[many - 1]).toEqual({
        name: `n${many - 1}`,
        inner: { value: 'new' },
      });
    });

    test('puts new elements between old ones', () => {
      const half = list('new').filter((_, index) => index % 2 === 0);
      expect(patched(list('old'), { list: half })).toHaveLength(many);
    });

    test('deletes every element', () => {
      const gone = items((index) => ({ name: `n${index}`, $patch: 'delete' }));
      expect(patched(list('old'), { list: gone })).toEqual([]);
    });

    test('sorts by an order directive', () => {
      const order = items((index) => ({ name: `n${index}` }));
      const change = { list: list('new'), '$setElementOrder/list': order };
      expect(patched(list('old').reverse(), change)[0]).toMatchObject({ name: 'n0' });
    });

    test('takes values out of a list of scalars', () => {
      const scalars = items((index) => `s${index}`);
      expect(patched(scalars, { '$deleteFromPrimitiveList/scalars': scalars }, 'scalars')).toEqual([]);
    });
  });
});
