/** Bodies in protobuf: what newer clients send is read as the JSON it stands for. */
import { describe, expect, test } from 'vitest';
import { decodeProtobuf, openEnvelope } from './protobuf.js';

/** Writes a message: numbers with texts, integers or messages. */
function message(...fields: [number, string | number | Buffer][]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === 'number') return [Buffer.from([number * 8]), varint(value)];
      const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value);
      return [Buffer.from([number * 8 + 2]), varint(bytes.length), bytes];
    }),
  );
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

describe('protobuf bodies', () => {
  test('the envelope names kind and version', () => {
    const body = Buffer.concat([Buffer.from('k8s\0'), message([1, message([1, 'v1'], [2, 'ConfigMap'])], [2, 'raw'])]);
    expect(openEnvelope(body)).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', raw: Buffer.from('raw') });
    expect(() => openEnvelope(Buffer.from('{}'))).toThrow('does not appear to be a protobuf message');
  });

  test('maps, bytes, pointers and negative numbers', () => {
    const metadata = message([1, 'a'], [7, -1], [11, message([1, 'app'], [2, 'x'])]);
    const raw = message(
      [1, metadata],
      [2, message([1, 'k'], [2, 'v'])],
      [3, message([1, 'b'], [2, Buffer.from([255])])],
      [4, 1],
    );
    expect(decodeProtobuf('core.v1.ConfigMap', raw)).toEqual({
      metadata: { name: 'a', generation: -1, labels: { app: 'x' } },
      data: { k: 'v' },
      binaryData: { b: '/w==' },
      immutable: true,
    });
  });

  test('embedded messages lie flat in JSON; times, quantities and int-or-string get their form', () => {
    const time = message([1, 1704067200], [2, 5000]);
    expect(decodeProtobuf('coordination.v1.LeaseSpec', message([1, 'me'], [4, time]))).toEqual({
      holderIdentity: 'me',
      renewTime: '2024-01-01T00:00:00.000005Z',
    });
    const httpGet = message([1, '/'], [2, message([1, 1], [3, 'http'])]);
    expect(decodeProtobuf('core.v1.Probe', message([1, message([2, httpGet])], [3, 7]))).toEqual({
      httpGet: { path: '/', port: 'http' },
      timeoutSeconds: 7,
    });
    const limits = message([1, message([1, 'cpu'], [2, message([1, '2'])])]);
    expect(decodeProtobuf('core.v1.ResourceRequirements', limits)).toEqual({ limits: { cpu: '2' } });
  });

  test('a key such as __proto__ is data', () => {
    const { data } = decodeProtobuf('core.v1.ConfigMap', message([2, message([1, '__proto__'], [2, 'x'])]));
    expect(Object.keys(data as object)).toEqual(['__proto__']);
  });

  test.each([
    ['a length beyond the end', Buffer.from([0x12, 0xff, 0x01])],
    ['an endless number', Buffer.alloc(20, 0x80)],
    ['an unknown wire type', Buffer.from([0x0f])],
  ])('%s is refused', (_name, raw) => {
    expect(() => decodeProtobuf('core.v1.ConfigMap', raw)).toThrow(/unexpected EOF|overflow|illegal wireType/);
  });
});
