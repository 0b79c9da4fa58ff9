/** Custom resources: pruning, defaults, validation and columns. */

import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import { Registry } from '../registry.js';
import { customResources } from './custom-resource.js';
import { customResourceDefinitions } from './definitions.js';

const openAPIV3Schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 10 },
        colour: { type: 'string', enum: ['red', 'green'], default: 'red' },
        code: { type: 'string', pattern: '^[a-z]+$', minLength: 2, maxLength: 4 },
        ratio: { type: 'number', multipleOf: 0.5 },
        tags: { type: 'array', maxItems: 2, items: { type: 'string' } },
        set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        parts: {
          type: 'array',
          items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        map: { type: 'object', additionalProperties: { type: 'integer' } },
        port: { 'x-kubernetes-int-or-string': true },
        any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        when: { type: 'string', format: 'date-time' },
        maybe: { type: 'string', nullable: true },
        nested: { type: 'object', properties: { a: { type: 'string', default: 'x' } } },
      },
    },
    status: { type: 'object', properties: { ready: { type: 'integer' } } },
  },
};

function definition(change: Record<string, unknown> = {}): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema },
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
            { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          ],
        },
      ],
      ...change,
    },
  };
}

const clock = { now: () => 0 };
const definitions = (registry = new Registry()) => customResourceDefinitions({ registry, clock });
const [widgets] = customResources(definition());

function widget(spec: unknown, rest: object = {}): KubeObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec, ...rest } as KubeObject;
}

describe('custom resources', () => {
  test('unknown fields are pruned and named in order', () => {
    const given = widget(
      { size: 3, unknown: 1, any: { x: { y: 1 } }, nested: { b: 1 }, map: { k: 1 } },
      { extra: true },
    );
    const { object, unknownFields } = widgets!.decode(given, 'json');
    expect(unknownFields).toEqual(['extra', 'spec.nested.b', 'spec.unknown']);
    expect(object.spec).toEqual({ size: 3, any: { x: { y: 1 } }, nested: {}, map: { k: 1 } });
  });

  test('defaults are filled in, null where it is not allowed is dropped', () => {
    const { object } = widgets!.decode(widget({ size: 1, code: null, maybe: null, colour: null, nested: {} }), 'json');
    widgets!.strategy.setDefaults(object);
    expect(object.spec).toEqual({ size: 1, maybe: null, colour: 'red', nested: { a: 'x' } });
  });

  test('keys such as __proto__ stay data', () => {
    const { object, unknownFields } = widgets!.decode(
      JSON.parse('{"metadata":{},"spec":{"__proto__":{"size":1},"constructor":1}}'),
      'json',
    );
    expect(unknownFields).toEqual(['spec.__proto__', 'spec.constructor']);
    expect(Object.keys(object.spec as object)).toEqual([]);
  });

  test.each([
    [{ size: 'x' }, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'],
    [{ size: 11 }, 'spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10'],
    [{}, 'spec.size: Required value'],
    ['text', 'spec: Invalid value: "string": spec in body must be of type object: "string"'],
    [{ size: 1, colour: 'blue' }, 'spec.colour: Unsupported value: "blue": supported values: "red", "green"'],
    [{ size: 1, code: 'a' }, 'spec.code: Invalid value: "a": spec.code in body should be at least 2 chars long'],
    [{ size: 1, code: 'abcde' }, 'spec.code: Too long: may not be more than 4 bytes'],
    [{ size: 1, code: 'A1' }, 'spec.code: Invalid value: "A1": spec.code in body should match \'^[a-z]+$\''],
    [{ size: 1, ratio: 0.3 }, 'spec.ratio: Invalid value: 0.3: spec.ratio in body should be a multiple of 0.5'],
    [{ size: 1, tags: ['x', 'y', 'z'] }, 'spec.tags: Too many: 3: must have at most 2 items'],
    [
      { size: 1, tags: [1] },
      'spec.tags[0]: Invalid value: "integer": spec.tags[0] in body must be of type string: "integer"',
    ],
    [
      { size: 1, port: true },
      'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
    ],
    [
      { size: 1, when: 'soon' },
      'spec.when: Invalid value: "soon": spec.when in body must be of type date-time: "soon"',
    ],
    [
      { size: 1, map: { k: 'v' } },
      'spec.map.k: Invalid value: "string": spec.map.k in body must be of type integer: "string"',
    ],
  ])('%j is rejected with the message of Kubernetes', (spec, message) => {
    expect(widgets!.strategy.validateCreate(widget(spec)).map(fieldErrorText)).toEqual([message]);
  });

  test('a duplicate is named once, after all errors of the schema', () => {
    const spec = { set: ['a', 'a', 'a'], parts: [{ name: 'x' }, { name: 'x' }], size: 0, code: 'ABCDE' };
    expect(widgets!.strategy.validateCreate(widget(spec)).map(fieldErrorText)).toEqual([
      'spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
      'spec.code: Too long: may not be more than 4 bytes',
      'spec.parts[1]: Duplicate value: {"name":"x"}',
      'spec.set[1]: Duplicate value: "a"',
    ]);
  });

  test('a status write is checked against the schema of status and changes nothing else', () => {
    const old = widget({ size: 1 }, { status: { ready: 1 } });
    const object = widget({ size: 9 }, { status: { ready: 'x' } });
    widgets!.strategy.prepareForUpdate(object, old, 'status');
    expect(object.spec).toEqual({ size: 1 });
    expect(widgets!.strategy.validateUpdate(object, old, 'status').map(fieldErrorText)).toEqual([
      'status.ready: Invalid value: "string": ready in body must be of type integer: "string"',
    ]);
  });

  test('columns show the values at their paths, and nothing where a value is missing', () => {
    const object = widget({ size: 7 }, { status: { conditions: [{ type: 'X' }, { type: 'Ready', status: 'True' }] } });
    const cells = (of: KubeObject) => widgets!.columns.map((column) => column.cell(of, new Date(0)));
    expect(cells(object)).toEqual(['a', 7, 'True']);
    expect(cells(widget({}))).toEqual(['a', null, null]);
  });
});

describe('definitions', () => {
  function created(crd: KubeObject, registry = new Registry()): KubeObject {
    const resource = definitions(registry);
    resource.strategy.setDefaults(crd);
    resource.strategy.prepareForCreate(crd);
    return crd;
  }
  const complaints = (crd: KubeObject) => definitions().strategy.validateCreate(created(crd)).map(fieldErrorText);

  test('a definition is established by the write that creates it', () => {
    const { status } = created(definition()) as { status?: unknown };
    expect(status).toMatchObject({
      conditions: [
        { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts' },
        { type: 'Established', status: 'True', reason: 'InitialNamesAccepted' },
      ],
      acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      storedVersions: ['v1'],
    });
  });

  test('a definition whose name is taken is not established', () => {
    const registry = new Registry(
      customResources(definition({ names: { plural: 'gadgets', singular: 'gadget', kind: 'Widget' } })),
    );
    const { status } = created(definition(), registry) as { status?: unknown };
    expect(status).toMatchObject({
      conditions: [
        { status: 'False', reason: 'KindConflict', message: '"Widget" is already in use' },
        { status: 'False' },
      ],
    });
  });

  test('a valid definition passes', () => {
    expect(complaints(definition())).toEqual([]);
  });

  test.each([
    [
      'another name',
      { names: { plural: 'things', kind: 'Thing' } },
      'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
    ],
    [
      'a field without type',
      { versions: [version({ type: 'object', properties: { spec: { properties: { a: { type: 'string' } } } } })] },
      'spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty',
    ],
    [
      'an invalid pattern',
      { versions: [version({ type: 'object', properties: { a: { type: 'string', pattern: '+' } } })] },
      'spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "+": must be a valid regular expression: error parsing regexp: missing argument to repetition operator: `+`',
    ],
    [
      'a default of the wrong type',
      { versions: [version({ type: 'object', properties: { a: { type: 'integer', default: 'x' } } })] },
      'spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
    ],
  ])('%s is rejected', (_name, change, message) => {
    expect(complaints(definition(change))).toEqual([message]);
  });

  function version(schema: object) {
    return { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  }
});
