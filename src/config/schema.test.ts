/** The JSON Schema of each minor: complete, and true to what the kubelet takes. */
import { describe, expect, test } from 'vitest';
import { setDefaults } from './defaults.js';
import { fieldsOf } from './fields.js';
import { newestMinor, oldestMinor } from './model.js';
import { type JsonSchema, jsonSchema, overlaySchema } from './schema.js';

const minors = Array.from({ length: newestMinor - oldestMinor + 1 }, (_, index) => oldestMinor + index);

/** Just the keywords that our schemas use. */
function problems(value: unknown, schema: JsonSchema, path = ''): string[] {
  const types = [schema.type ?? []].flat() as string[];
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const fits = types.includes(type) || (type === 'number' && types.includes('integer') && Number.isInteger(value));
  if (types.length > 0 && !fits) return [`${path}: ${type} is not ${types}`];
  const choices = (schema.anyOf ?? []) as JsonSchema[];
  if (choices.length > 0 && choices.every((choice) => problems(value, choice, path).length > 0))
    return [`${path}: ${value} is none of these`];
  if (schema.enum && !(schema.enum as unknown[]).includes(value)) return [`${path}: ${value} is not of ${schema.enum}`];
  if ('const' in schema && schema.const !== value) return [`${path}: ${value} is not ${schema.const}`];
  if (schema.pattern && type === 'string' && !new RegExp(schema.pattern as string).test(value as string))
    return [`${path}: ${value} does not match`];
  if (type === 'number' && Number(value) > Number(schema.maximum ?? Infinity))
    return [`${path}: ${value} is too large`];
  if (type === 'array')
    return (value as unknown[]).flatMap((item, index) =>
      problems(item, schema.items as JsonSchema, `${path}[${index}]`),
    );
  if (type !== 'object') return [];
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  return Object.entries(value as object).flatMap(([key, child]) => {
    const childSchema = properties[key] ?? schema.additionalProperties;
    return childSchema
      ? problems(child, childSchema as JsonSchema, `${path}.${key}`)
      : [`${path}.${key} is not allowed`];
  });
}

const identity = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

describe.each(minors)('1.%i', (minor) => {
  const schema = jsonSchema(minor);

  test('has the fields of that version and no others', () => {
    const top = fieldsOf(minor)
      .map(({ path }) => path)
      .filter((path) => !path.includes('.'));
    expect(Object.keys(schema.properties as object).sort()).toEqual(['apiVersion', 'kind', ...top].sort());
  });

  test('takes the default object', () => {
    expect(problems({ ...identity, ...setDefaults({}, minor) }, schema)).toEqual([]);
  });

  test('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });
});

describe('what an editor would underline', () => {
  test.each([
    ['an unknown field', { maxPod: 1 }],
    ['a wrong type', { maxPods: '5' }],
    ['a bad duration', { syncFrequency: '1d' }],
    ['too large a number', { maxPods: 2 ** 31 }],
    ['an unknown word', { cgroupDriver: 'sysd' }],
    ['an unknown gate', { featureGates: { NoSuchGate: true } }],
    ['a bad quantity', { reservedMemory: [{ numaNode: 0, limits: { memory: 'lots' } }] }],
  ])('%s', (_name, set) => {
    expect(problems({ ...identity, ...set }, jsonSchema(32))).toHaveLength(1);
  });

  test('and what not', () => {
    const set = {
      syncFrequency: '1h30m',
      reservedMemory: [{ numaNode: 0, limits: { memory: '1.5Gi' } }],
      featureGates: { AllAlpha: true },
      resolvConf: null,
    };
    expect(problems({ ...identity, ...set }, jsonSchema(32))).toEqual([]);
  });

  test('fields say what they are for and what they are by default', () => {
    const { maxPods } = jsonSchema(32).properties as Record<string, JsonSchema>;
    expect(maxPods).toMatchObject({ default: 110 });
    expect(maxPods!.description).toEqual(expect.any(String));
  });
});

describe('the schema of an overlay', () => {
  const schema = overlaySchema(36);
  const overlay = (parts: object) =>
    problems({ apiVersion: 'relet.dev/v1alpha1', kind: 'KubeletConfigurationOverlay', ...parts }, schema);

  test.each([
    ['some fields', { config: { maxPods: 5, evictionHard: { 'memory.available': '1Gi' }, resolvConf: '' } }],
    ['paths to unset', { unset: ['maxPods', 'authentication.anonymous.enabled', 'evictionHard[memory.available]'] }],
    ['a key of a map behind a dot', { unset: ['evictionHard.memory.available'] }],
  ])('takes %s', (_name, parts) => {
    expect(overlay(parts)).toEqual([]);
  });

  test.each([
    ['null', { config: { clusterDNS: null } }],
    ['null in a struct', { config: { tracing: { endpoint: null } } }],
    ['an unknown field', { config: { maxPod: 5 } }],
    ['a header in config', { config: { kind: 'KubeletConfiguration' } }],
    ['a field beside config', { maxPods: 5 }],
    ['a relative path', { config: { resolvConf: 'etc/resolv.conf' } }],
    ['an unknown path', { unset: ['maxPod'] }],
    ['a key of a field that is not a map', { unset: ['maxPods[a]'] }],
  ])('does not take %s', (_name, parts) => {
    expect(overlay(parts)).toHaveLength(1);
  });

  test.each(minors)('of 1.%i is plain JSON', (minor) => {
    const schema = overlaySchema(minor);
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });
});
