/** Ownership of fields: what apply and update do to an object and its managers. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromPaths, nothing } from './field-set.js';
import type { Manager } from './managers.js';
import { merge } from './merge.js';
import type { JsonMap, MergeSchema } from './merge-schema.js';
import { type Applied, ApplyConflicts, afterUpdate, apply } from './ownership.js';
import { pathText } from './path-element.js';

const text: MergeSchema = { type: 'string' };
const schema: MergeSchema = {
  type: 'object',
  properties: {
    name: text,
    labels: { type: 'object', additionalProperties: text },
    whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: text },
    order: { type: 'array', items: text },
    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, note: text },
      },
    },
  },
};

const by = (manager: string, operation: Manager['operation'] = 'Apply', time = '2024-01-01T00:00:00Z'): Manager => ({
  manager,
  operation,
  apiVersion: 'v1',
  time,
  fieldsType: 'FieldsV1',
  fieldsV1: nothing,
});

type State = Pick<Applied, 'object' | 'managers'>;
const fresh: State = { object: {}, managers: [] };

function applyAs(state: State, manager: string, applied: JsonMap, force = false): Applied {
  const write = { live: state.object, managers: state.managers, schema, reset: nothing, by: by(manager) };
  return apply(write, applied, { force });
}

function updateAs(state: State, manager: string, object: JsonMap): State {
  const write = {
    live: state.object,
    managers: state.managers,
    schema,
    reset: nothing,
    by: by(manager, 'Update', '2024-01-01T00:00:01Z'),
  };
  return { object, managers: afterUpdate(write, object) };
}

const fieldsOfManager = (state: State, name: string) =>
  state.managers.find(({ manager }) => manager === name)?.fieldsV1;

function conflictsOf(act: () => unknown): string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ApplyConflicts) return error.conflicts.map(({ path }) => pathText(path));
    throw error;
  }
  return [];
}

const word = fc.constantFrom('a', 'b', 'c', '__proto__');
const dictionary = fc
  .uniqueArray(fc.tuple(word, word), { selector: ([key]) => key, minLength: 1 })
  .map(Object.fromEntries);
const port = fc.record({ port: fc.integer({ min: 1, max: 3 }), note: word }, { requiredKeys: ['port'] });
/** As it comes out of JSON. */
const plain = (value: object) => JSON.parse(JSON.stringify(value)) as JsonMap;
const config: fc.Arbitrary<JsonMap> = fc
  .record(
    {
      name: word,
      labels: dictionary,
      whole: dictionary,
      order: fc.array(word, { maxLength: 3 }),
      tags: fc.uniqueArray(word, { minLength: 1 }),
      ports: fc.uniqueArray(port, { selector: (each) => each.port, minLength: 1 }),
    },
    { requiredKeys: [] },
  )
  .map(plain);
/** A config without fields of `config`. */
const otherConfig: fc.Arbitrary<JsonMap> = fc
  .record({
    labels: dictionary.map((map) => Object.fromEntries(Object.entries(map).map(([key, value]) => [`x-${key}`, value]))),
    tags: fc.uniqueArray(
      word.map((each) => `x-${each}`),
      { minLength: 1 },
    ),
    ports: fc.uniqueArray(
      port.map((each) => ({ ...each, port: each.port + 100 })),
      { selector: (each) => each.port, minLength: 1 },
    ),
  })
  .map(plain);

describe('applying, whatever the object', () => {
  test('applying twice changes nothing the second time', () => {
    fc.assert(
      fc.property(config, config, (live, applied) => {
        const start = updateAs(fresh, 'creator', live);
        const once = applyAs(start, 'me', applied, true);
        const twice = applyAs(once, 'me', applied);
        expect(twice).toEqual({ ...once, isChanged: false });
      }),
    );
  });

  test('what is applied is in the object afterwards', () => {
    fc.assert(
      fc.property(config, config, (live, applied) => {
        const { object } = applyAs(updateAs(fresh, 'creator', live), 'me', applied, true);
        expect(merge(object, applied, schema)).toEqual(object);
      }),
    );
  });

  test('appliers of different fields never conflict, and each can remove its own without changing the other', () => {
    fc.assert(
      fc.property(config, otherConfig, (mine, theirs) => {
        const alone = applyAs(fresh, 'me', mine);
        const both = applyAs(alone, 'other', theirs);
        expect(fieldsOfManager(both, 'me')).toEqual(fieldsOfManager(alone, 'me'));
        const left = applyAs(both, 'other', {});
        expect(fieldsOfManager(left, 'other')).toBeUndefined();
        expect(fieldsOfManager(left, 'me')).toEqual(fieldsOfManager(alone, 'me'));
        expect(merge(left.object, mine, schema)).toEqual(left.object);
        expect(JSON.stringify(left.object)).not.toContain('"x-');
      }),
    );
  });

  test('an applier that applies nothing removes all fields that it alone owned', () => {
    fc.assert(
      fc.property(config, (applied) => {
        // Empty containers and atomic values are removed with the rest.
        const { object, managers } = applyAs(applyAs(fresh, 'me', applied), 'me', {});
        expect(managers).toEqual([]);
        expect(Object.values(object).flat()).toEqual([]);
      }),
    );
  });

  test('an update that changes nothing changes no owner', () => {
    fc.assert(
      fc.property(config, config, (live, applied) => {
        const state = applyAs(updateAs(fresh, 'creator', live), 'me', applied, true);
        expect(updateAs(state, 'third', structuredClone(state.object)).managers).toBe(state.managers);
      }),
    );
  });
});

describe('owners, step by step', () => {
  const start = applyAs(fresh, 'one', { labels: { a: '1', b: '2' }, tags: ['x', 'y'] });

  test('an applier owns the fields it applies, not the maps around them', () => {
    expect(fieldsOfManager(start, 'one')).toEqual(
      fromPaths(['f:labels', 'f:a'], ['f:labels', 'f:b'], ['f:tags', 'v:"x"'], ['f:tags', 'v:"y"']),
    );
  });

  test('a field applied with the same value is shared and is removed when its last owner drops it', () => {
    const shared = applyAs(start, 'two', { labels: { a: '1' } });
    expect(shared.isChanged).toBe(false);
    const dropped = applyAs(shared, 'one', { tags: ['x', 'y'] });
    expect(dropped.object.labels).toEqual({ a: '1' });
    expect(applyAs(dropped, 'two', {}).object.labels).toBeUndefined();
  });

  test('applying another value is a conflict unless forced', () => {
    expect(conflictsOf(() => applyAs(start, 'two', { labels: { a: '9', b: '9' } }))).toEqual([
      '.labels.a',
      '.labels.b',
    ]);
    const forced = applyAs(start, 'two', { labels: { a: '9' } }, true);
    expect(forced.object.labels).toEqual({ a: '9', b: '2' });
    expect(fieldsOfManager(forced, 'one')).toEqual(
      fromPaths(['f:labels', 'f:b'], ['f:tags', 'v:"x"'], ['f:tags', 'v:"y"']),
    );
  });

  test('an update takes the fields it changes from all other managers', () => {
    const updated = updateAs(start, 'editor', { labels: { a: '9', b: '2' }, tags: ['x'] });
    expect(fieldsOfManager(updated, 'editor')).toEqual(fromPaths(['f:labels', 'f:a']));
    expect(fieldsOfManager(updated, 'one')).toEqual(fromPaths(['f:labels', 'f:b'], ['f:tags', 'v:"x"']));
  });

  test('the manager that creates an object owns its containers too', () => {
    const made = updateAs(fresh, 'creator', { labels: { a: '1' }, ports: [{ port: 80 }] });
    expect(fieldsOfManager(made, 'creator')).toEqual(
      fromPaths(
        ['f:labels'],
        ['f:labels', 'f:a'],
        ['f:ports'],
        ['f:ports', 'k:{"port":80,"protocol":"TCP"}'],
        ['f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:port'],
      ),
    );
  });

  test('an atomic value is owned as one, and an item by its keys, defaults included', () => {
    const one = applyAs(fresh, 'one', { whole: { a: '1' }, order: ['a'], ports: [{ port: 80, note: 'n' }] });
    expect(conflictsOf(() => applyAs(one, 'two', { whole: { b: '1' } }))).toEqual(['.whole']);
    expect(conflictsOf(() => applyAs(one, 'two', { order: ['b'] }))).toEqual(['.order']);
    const port = { port: 80, protocol: 'TCP', note: 'other' };
    expect(conflictsOf(() => applyAs(one, 'two', { ports: [port] }))).toEqual(['.ports[port=80,protocol="TCP"].note']);
    expect(conflictsOf(() => applyAs(one, 'two', { ports: [{ port: 443 }] }))).toEqual([]);
  });

  test('items of an applied list keep its order, other items keep their place', () => {
    const live = ['a', 'b', 'c', 'd'];
    const merged = (tags: string[]) => (merge({ tags: live }, { tags }, schema) as { tags: string[] }).tags;
    expect(merged(['c', 'x', 'a'])).toEqual(['b', 'c', 'd', 'x', 'a']);
    expect(merged(['x', 'b'])).toEqual(['a', 'x', 'b', 'c', 'd']);
    expect(merged(['d', 'c', 'b', 'a'])).toEqual(['d', 'c', 'b', 'a']);
  });

  test('with eleven managers that update, the two oldest are merged', () => {
    let state = fresh;
    for (let at = 0; at < 12; at++) {
      const labels = { ...(state.object.labels as object), [`k${at}`]: 'v' };
      state = updateAs(state, `m${String(at).padStart(2, '0')}`, { labels });
    }
    expect(state.managers.map(({ manager }) => manager).sort()).toEqual([
      'ancient-changes',
      ...Array.from({ length: 9 }, (_, at) => `m${String(at + 3).padStart(2, '0')}`),
    ]);
  });

  test('fields that a subresource cannot change are not owned through it', () => {
    const write = { live: {}, managers: [], schema, reset: fromPaths(['f:labels']), by: by('kubelet', 'Update') };
    const [manager] = afterUpdate(write, { labels: { a: '1' }, name: 'n' });
    expect(manager!.fieldsV1).toEqual(fromPaths(['f:name']));
  });
});
