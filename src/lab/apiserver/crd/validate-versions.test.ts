/** Validation of a CRD's versions and schemas; the messages are those of a real server. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import { fieldErrorText } from '../field-error.js';
import { Registry } from '../registry.js';
import type { Version } from './definition.js';
import { customResourceDefinitions } from './definitions.js';
import type { JsonSchema } from './json-schema.js';

const one: Version = {
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: 'object' } },
};

function errorsOf(spec: Record<string, unknown>): string[] {
  const resource = customResourceDefinitions({ registry: new Registry(), clock: { now: () => 0 } });
  const names = { plural: 'toys', kind: 'Toy' };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'toys.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions: [one], ...spec },
  } as unknown as KubeObject;
  resource.strategy.setDefaults(crd);
  resource.strategy.prepareForCreate(crd);
  return resource.strategy.validateCreate(crd).map(fieldErrorText);
}

const withSchema = (a: JsonSchema, more: Partial<Version> = {}) =>
  errorsOf({
    versions: [{ ...one, schema: { openAPIV3Schema: { type: 'object', properties: { a } } }, ...more }],
  });

describe('a schema is rejected', () => {
  const at = 'spec.validation.openAPIV3Schema.properties[a]';
  const list = (more: object): JsonSchema => ({ type: 'array', items: { type: 'string' }, ...more });

  test.each<[string, JsonSchema, string]>([
    [
      'for an unknown type',
      { type: 'strange' },
      'type: Unsupported value: "strange": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ],
    ['for a reference', { $ref: '#/x' }, '$ref: Forbidden: $ref is not supported'],
    [
      'for uniqueItems',
      list({ uniqueItems: true }),
      'uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ],
    [
      'for fields beside a map',
      { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: { type: 'string' } },
      'additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
    ],
    [
      'for an unknown list type',
      list({ 'x-kubernetes-list-type': 'bag' }),
      'x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"',
    ],
    [
      'for a set that is not a list',
      { type: 'string', 'x-kubernetes-list-type': 'set' },
      'type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
    ],
    [
      'for a map of texts',
      list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }),
      'items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
    ],
    [
      'for a list key that is not required',
      list({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' } } },
      }),
      'items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ],
    [
      'for an embedded object without fields',
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      'properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    ],
    [
      'for a default that pruning would cut',
      { type: 'object', default: { z: 1 } },
      'default: Invalid value: map[string]interface {}{"z":1}: must not have unknown fields',
    ],
  ])('%s', (_name, schema, message) => {
    expect(withSchema(schema)).toEqual([`${at}.${message}`]);
  });
});

describe('a definition is rejected', () => {
  test('a definition is rejected with an error for every missing part', () => {
    expect(errorsOf({ group: '', scope: '', names: { plural: '', kind: '' }, versions: null })).toEqual([
      'metadata.name: Invalid value: "toys.example.com": must be spec.names.plural+"."+spec.group',
      'spec.group: Required value',
      'spec.scope: Required value',
      'spec.versions: Invalid value: []apiextensions.CustomResourceDefinitionVersion(nil): must have exactly one version marked as storage version',
      'spec.names.plural: Required value',
      'spec.names.singular: Required value',
      'spec.names.kind: Required value',
      'spec.names.listKind: Required value',
      'status.storedVersions: Invalid value: []string(nil): must have at least one stored version',
    ]);
  });

  test('a definition with an unknown conversion is rejected', () => {
    expect(errorsOf({ conversion: { strategy: 'Magic' } })).toEqual([
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ]);
  });

  test('a definition whose scale paths do not exist is rejected', () => {
    const scale = { specReplicasPath: 'x', statusReplicasPath: '.spec.n' };
    expect(withSchema({ type: 'string' }, { subresources: { scale } })).toEqual([
      'spec.subresources.scale.specReplicasPath: Invalid value: "x": must be a simple json path starting with .',
      'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
    ]);
  });

  test('a definition with selectable fields that are not scalars, or repeated, is rejected', () => {
    const fields = (...paths: string[]) => ({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) });
    expect(withSchema({ type: 'object' }, fields('.a'))[0]).toContain('must point to a field of type string');
    expect(withSchema({ type: 'string' }, fields('.a', '.a', '.b'))).toEqual([
      'spec.selectableFields[1].jsonPath: Duplicate value: ".a"',
      'spec.selectableFields[2].jsonPath: Invalid value: ".b": is an invalid path: does not refer to a valid field',
    ]);
  });

  test('a deprecation warning of a version that is not deprecated is rejected', () => {
    const warned = { ...one, deprecationWarning: 'old' };
    expect(errorsOf({ versions: [warned] })).toEqual([
      'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
    ]);
  });

  test('an error in one version has the path of that version', () => {
    const other = { ...one, name: 'v2', storage: false, schema: { openAPIV3Schema: { type: 'array' } } };
    expect(errorsOf({ versions: [one, other] })[0]).toMatch(/^spec\.versions\[1\]\.schema\.openAPIV3Schema/);
  });
});
