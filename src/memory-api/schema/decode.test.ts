/** Typed decoding: normalization, unknown fields and error messages. */
import { describe, expect, test } from 'vitest';
import { DecodeError } from '../resource.js';
import { decodeStruct } from './decode.js';

const configMap = (value: unknown) => decodeStruct('core.v1.ConfigMap', value);

describe('reading data as a built-in kind', () => {
  test('unknown fields are left out and named in the order of the document', () => {
    const read = configMap({ metadata: { name: 'a', nonsense: 'x' }, data: { k: 'v' }, foo: 1 });
    expect(read.unknownFields).toEqual(['metadata.nonsense', 'foo']);
    expect(read.value).toEqual({ metadata: { name: 'a', creationTimestamp: null }, data: { k: 'v' } });
  });

  test('unknown fields inside lists are named with their index', () => {
    const read = decodeStruct('core.v1.Pod', { spec: { containers: [{ name: 'a' }, { name: 'b', foo: 1 }] } });
    expect(read.unknownFields).toEqual(['spec.containers[1].foo']);
  });

  test('empty optional fields vanish, required ones get their zero value', () => {
    const { value } = decodeStruct('core.v1.Node', { metadata: { labels: {} }, spec: { taints: [] }, status: {} });
    expect(value).toMatchObject({ metadata: { creationTimestamp: null }, spec: {} });
    expect(value.status).toEqual({
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: expect.objectContaining({ kubeletVersion: '', machineID: '' }),
    });
    expect(decodeStruct('rbac.v1.Role', {}).value.rules).toBeNull();
  });

  test('quantities and times are normalized', () => {
    const { value } = decodeStruct('core.v1.NodeStatus', {
      capacity: { cpu: '2000m', memory: '1024Mi', pods: 110 },
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2024-01-01T01:00:00.5+01:00' }],
    });
    expect(value.capacity).toEqual({ cpu: '2', memory: '1Gi', pods: '110' });
    expect(value.conditions).toEqual([
      { type: 'Ready', status: 'True', lastHeartbeatTime: '2024-01-01T00:00:00Z', lastTransitionTime: null },
    ]);
    const lease = decodeStruct('coordination.v1.LeaseSpec', { renewTime: '2024-01-01T01:00:00.500000+01:00' });
    expect(lease.value.renewTime).toBe('2024-01-01T00:00:00.500000Z');
    const short = { renewTime: '2024-01-01T00:00:00Z' };
    expect(() => decodeStruct('coordination.v1.LeaseSpec', short)).toThrow('cannot parse "Z" as ".000000"');
  });

  test('keys such as __proto__ stay plain keys', () => {
    const { value } = configMap(JSON.parse('{"data":{"__proto__":"x","constructor":"y"}}'));
    expect(Object.keys(value.data as object)).toEqual(['__proto__', 'constructor']);
    expect(configMap(JSON.parse('{"__proto__":{"data":{"k":"v"}}}')).unknownFields).toEqual(['__proto__']);
  });

  test.each([
    [{ data: { k: 1 } }, 'cannot unmarshal number into field data.k of type string'],
    [{ metadata: { labels: { a: 1 } } }, 'cannot unmarshal number into field metadata.labels.a of type string'],
    [{ data: [] }, 'cannot unmarshal array into field data of type map'],
    [{ immutable: 'yes' }, 'cannot unmarshal string into field immutable of type bool'],
    [{ binaryData: { b: '?' } }, 'illegal base64 data'],
    [{ metadata: { generation: 1.5 } }, 'cannot unmarshal number 1.5 into field metadata.generation of type int64'],
  ])('%j is rejected with its field', (value, message) => {
    expect(() => configMap(value)).toThrow(new DecodeError(message));
  });
});
