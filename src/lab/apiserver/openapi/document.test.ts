/** OpenAPI documents: what clients use, and that the protobuf form equals the JSON form. */
import { describe, expect, test } from 'vitest';
import type { Resource } from '../../../memory-api/resource.js';
import { builtInResources } from '../../../memory-api/resources/built-in.js';
import { documentV2 } from './document-v2.js';
import { documentV3 } from './document-v3.js';
import { encodeDocument } from './protobuf.js';

const resources = builtInResources({ dynamicKubeletConfig: true });
// biome-ignore lint/suspicious/noExplicitAny: documents of free form are looked into
type Json = Record<string, any>;
const v2 = documentV2(resources, '1.32.1') as Json;

describe('OpenAPI v2', () => {
  test('OpenAPI v2 names each kind by group and version', () => {
    expect(v2.definitions['io.k8s.api.core.v1.Node']['x-kubernetes-group-version-kind']).toEqual([
      { group: '', kind: 'Node', version: 'v1' },
    ]);
    expect(v2.definitions['io.k8s.api.rbac.v1.RoleList']['x-kubernetes-group-version-kind'][0].kind).toBe('RoleList');
  });

  test('OpenAPI v2 has the merge strategies of lists', () => {
    const { conditions, addresses } = v2.definitions['io.k8s.api.core.v1.NodeStatus'].properties;
    expect(conditions).toMatchObject({
      'x-kubernetes-patch-merge-key': 'type',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(addresses['x-kubernetes-patch-merge-key']).toBe('type');
    expect(v2.definitions['io.k8s.api.core.v1.NodeSpec'].properties.taints).not.toHaveProperty(
      'x-kubernetes-patch-strategy',
    );
  });

  test('every reference of OpenAPI v2 exists', () => {
    const refs = [...JSON.stringify(v2).matchAll(/"#\/definitions\/([^"]+)"/g)].map((match) => match[1]!);
    expect(refs.filter((name) => v2.definitions[name] === undefined)).toEqual([]);
    expect(refs.length).toBeGreaterThan(100);
  });

  test('patch operations of OpenAPI v2 have dryRun and fieldValidation', () => {
    const { patch } = v2.paths['/api/v1/namespaces/{namespace}/configmaps/{name}'];
    expect(patch.parameters.map((entry: Json) => entry.name)).toEqual(
      expect.arrayContaining(['dryRun', 'fieldValidation', 'force']),
    );
    expect(patch.consumes).toContain('application/strategic-merge-patch+json');
  });
});

test('every reference of OpenAPI v3 exists', () => {
  const core = documentV3(
    resources.filter(({ group }) => group === ''),
    '1.32.1',
  ) as Json;
  const refs = [...JSON.stringify(core).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!);
  expect(refs.filter((name) => core.components.schemas[name] === undefined)).toEqual([]);
  const { configSource } = core.components.schemas['io.k8s.api.core.v1.NodeSpec'].properties;
  expect(configSource).toEqual({ $ref: '#/components/schemas/io.k8s.api.core.v1.NodeConfigSource' });
});

test('quantities and ports are strings in v2, and either of two types in v3', () => {
  const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
  const core = documentV3(
    resources.filter(({ group }) => group === ''),
    '1.32.1',
  ) as Json;
  expect(v2.definitions[quantity].type).toBe('string');
  expect(core.components.schemas[quantity]).toEqual({
    description: expect.any(String),
    oneOf: [{ type: 'string' }, { type: 'number' }],
  });
  const { fieldsV1 } = core.components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry'].properties;
  expect(JSON.stringify(fieldsV1)).toContain('meta.v1.FieldsV1');
});

describe('custom kinds of free form', () => {
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const spec = { type: 'object', properties: { port: { 'x-kubernetes-int-or-string': true }, any: free } };
  const { shape: _shape, ...plain } = resources[0]!;
  const kind = (schema: object): Resource => ({
    ...plain,
    group: 'example.com',
    kind: 'Rack',
    plural: 'racks',
    schema,
  });

  test('a field of any type has no type in v2', () => {
    const { definitions } = documentV2([kind({ type: 'object', properties: { spec } })], '1.32.1') as Json;
    const { port, any } = definitions['com.example.v1.Rack'].properties.spec.properties;
    expect([port.type, any.type]).toEqual([undefined, undefined]);
  });

  test('free-form kinds show the common fields, except in v2, where clients would reject all others', () => {
    const { definitions } = documentV2([kind(free)], '1.32.1') as Json;
    expect(definitions['com.example.v1.Rack']).toMatchObject({ type: 'object' });
    expect(definitions['com.example.v1.Rack']).not.toHaveProperty('properties');
    const { components } = documentV3([kind(free)], '1.32.1') as Json;
    expect(Object.keys(components.schemas['com.example.v1.Rack'].properties)).toEqual([
      'apiVersion',
      'kind',
      'metadata',
    ]);
  });
});

describe('OpenAPI v2 as protobuf', () => {
  const bytes = encodeDocument(v2);

  test('the protobuf form has every path and definition', () => {
    const top = read(bytes);
    expect(top.filter(({ number }) => number === 1)[0]?.bytes.toString()).toBe('2.0');
    const paths = read(top.find(({ number }) => number === 8)!.bytes).map(nameOf);
    expect(paths).toEqual(Object.keys(v2.paths));
    const definitions = read(top.find(({ number }) => number === 9)!.bytes).map(nameOf);
    expect(definitions).toEqual(Object.keys(v2.definitions));
  });

  test('the protobuf form of a schema has its type, properties and extensions', () => {
    const document = {
      definitions: { x: { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-y': ['z'] } },
    };
    const [definitions] = read(encodeDocument(document));
    const [entry] = read(definitions!.bytes);
    const schema = read(read(entry!.bytes)[1]!.bytes);
    expect(schema.map(({ number }) => number)).toEqual([22, 25, 31]);
    expect(read(schema[0]!.bytes)[0]!.bytes.toString()).toBe('object');
    expect(read(read(schema[2]!.bytes)[1]!.bytes)[0]!.bytes.toString()).toBe('["z"]');
  });
});

/** The fields of a message whose values are all length-delimited or varints. */
function read(message: Buffer): { number: number; bytes: Buffer }[] {
  const fields: { number: number; bytes: Buffer }[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = message[at++]!;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const length = tag % 8 === 2 ? varint() : 0;
    if (tag % 8 === 0) varint();
    if (tag % 8 === 1) at += 8;
    fields.push({ number: tag >> 3, bytes: message.subarray(at, at + length) });
    at += length;
  }
  return fields;
}

function nameOf({ bytes }: { bytes: Buffer }): string {
  return read(bytes)[0]!.bytes.toString();
}
