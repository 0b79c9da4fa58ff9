/** CEL rules in CRDs: what they reject, when they run, and which are valid. */

import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import { Registry } from '../registry.js';
import { customResources } from './custom-resource.js';
import { customResourceDefinitions } from './definitions.js';
import type { JsonSchema, ValidationRule } from './json-schema.js';

function definition(spec: JsonSchema, rest: Record<string, unknown> = {}): KubeObject {
  const openAPIV3Schema = { type: 'object', properties: { spec }, ...rest };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, subresources: { status: {} } },
      ],
    },
  };
}

const thing = (spec: unknown, name = 'a'): KubeObject =>
  ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name }, spec }) as KubeObject;

/** The errors of an object, created or updated. */
function complaints(crd: KubeObject, spec: unknown, old?: unknown): string[] {
  const [resource] = customResources(crd);
  const errors =
    old === undefined
      ? resource!.strategy.validateCreate(thing(spec))
      : resource!.strategy.validateUpdate(thing(spec), thing(old), '');
  return errors.map(fieldErrorText);
}

const ruled = (properties: Record<string, JsonSchema>, ...rules: ValidationRule[]): JsonSchema => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': rules,
});
const numbers = { min: { type: 'integer' }, max: { type: 'integer' }, name: { type: 'string' } };

describe('a rule that fails', () => {
  const bounds = { rule: 'self.min <= self.max' };
  test.each<[string, ValidationRule, string]>([
    ['by itself', bounds, 'spec: Invalid value: "object": failed rule: self.min <= self.max'],
    ['by its message', { ...bounds, message: 'too low' }, 'spec: Invalid value: "object": too low'],
    [
      'by its messageExpression',
      { ...bounds, message: 'too low', messageExpression: "string(self.min) + ' > ' + string(self.max)" },
      'spec: Invalid value: "object": 3 > 2',
    ],
    [
      'by its message where the messageExpression fails',
      { ...bounds, message: 'too low', messageExpression: 'self.name' },
      'spec: Invalid value: "object": too low',
    ],
    [
      'at its fieldPath and with its reason',
      { ...bounds, message: 'too low', fieldPath: '.min', reason: 'FieldValueForbidden' },
      'spec.min: Forbidden: too low',
    ],
    [
      'with its error where it cannot be evaluated',
      { rule: "self.name == 'x'" },
      'spec: Invalid value: "object": No such key: name evaluating rule: self.name == \'x\'',
    ],
  ])('%s', (_name, rule, message) => {
    expect(complaints(definition(ruled(numbers, rule)), { min: 3, max: 2 })).toEqual([message]);
  });

  test('a failed rule names the item of a list or map', () => {
    const positive: JsonSchema = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 0' }] };
    const spec: JsonSchema = {
      type: 'object',
      properties: {
        list: { type: 'array', items: positive },
        map: { type: 'object', additionalProperties: positive },
      },
    };
    expect(complaints(definition(spec), { list: [1, 0], map: { a: 1, b: -1 } })).toEqual([
      'spec.list[1]: Invalid value: "integer": failed rule: self > 0',
      'spec.map[b]: Invalid value: "integer": failed rule: self > 0',
    ]);
  });

  test('a rule of the whole object can read its name', () => {
    const rules = [{ rule: "self.metadata.name == 'other'", message: 'wrong name' }];
    const crd = definition({ type: 'object' }, { 'x-kubernetes-validations': rules });
    expect(complaints(crd, {})).toEqual(['<nil>: Invalid value: "object": wrong name']);
  });

  test('rules do not run where values have the wrong type', () => {
    expect(complaints(definition(ruled(numbers, bounds)), { min: 'x', max: 1 })).toEqual([
      'spec.min: Invalid value: "string": spec.min in body must be of type integer: "string"',
      '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });
});

describe('rules about the change', () => {
  const immutable = definition(ruled(numbers, { rule: 'self.name == oldSelf.name', message: 'name is immutable' }));

  test('transition rules do not run on create', () => {
    expect(complaints(immutable, { name: 'a' })).toEqual([]);
  });

  test('transition rules run on update', () => {
    expect(complaints(immutable, { name: 'a' }, { name: 'a' })).toEqual([]);
    expect(complaints(immutable, { name: 'b' }, { name: 'a' })).toEqual([
      'spec: Invalid value: "object": name is immutable',
    ]);
  });

  test('transition rules run on create where oldSelf is optional', () => {
    const rule = { rule: "oldSelf.hasValue() || self.name == 'first'", message: 'first', optionalOldSelf: true };
    const crd = definition(ruled(numbers, rule));
    expect(complaints(crd, { name: 'b' })).toEqual(['spec: Invalid value: "object": first']);
    expect(complaints(crd, { name: 'b' }, { name: 'first' })).toEqual([]);
  });

  test('transition rules match items of a list by their keys', () => {
    const item: JsonSchema = ruled(numbers, { rule: 'self.min >= oldSelf.min', message: 'may only grow' });
    const list = {
      type: 'array',
      items: item,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    };
    const crd = definition({ type: 'object', properties: { list } });
    const old = [
      { name: 'a', min: 1 },
      { name: 'b', min: 5 },
    ];
    const changed = [
      { name: 'b', min: 4 },
      { name: 'a', min: 2 },
      { name: 'c', min: 0 },
    ];
    expect(complaints(crd, { list: changed }, { list: old })).toEqual([
      'spec.list[0]: Invalid value: "object": may only grow',
    ]);
  });

  test('only transition rules run for an unchanged part', () => {
    const crd = definition(ruled(numbers, { rule: 'self.min <= self.max' }));
    expect(complaints(crd, { min: 3, max: 2 }, { min: 3, max: 2 })).toEqual([]);
    expect(complaints(crd, { min: 4, max: 2 }, { min: 3, max: 2 })).toHaveLength(1);
  });
});

describe('a definition is rejected', () => {
  const at = 'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]';

  function errorsOf(spec: JsonSchema): string[] {
    const resource = customResourceDefinitions({ registry: new Registry(), clock: { now: () => 0 } });
    const crd = definition(spec);
    resource.strategy.setDefaults(crd);
    resource.strategy.prepareForCreate(crd);
    return resource.strategy.validateCreate(crd).map(fieldErrorText);
  }

  test.each<[string, ValidationRule, string]>([
    [
      'for a field that is not there',
      { rule: 'self.foo > 0' },
      `${at}.rule: Invalid value: "self.foo > 0": compilation failed: No such key: foo`,
    ],
    [
      'for a result that is not a bool',
      { rule: 'self.min' },
      `${at}.rule: Invalid value: "self.min": cel expression must evaluate to a bool`,
    ],
    [
      'for a messageExpression that is not a string',
      { rule: 'true', messageExpression: 'self.min' },
      `${at}.messageExpression: Invalid value: "self.min": messageExpression must evaluate to a string`,
    ],
  ])('%s', (_name, rule, message) => {
    expect(errorsOf(ruled(numbers, rule))).toEqual([message]);
  });

  test('valid rules are accepted', () => {
    expect(errorsOf(ruled(numbers, { rule: 'self.min <= self.max', fieldPath: '.min', message: 'm' }))).toEqual([]);
  });
});
