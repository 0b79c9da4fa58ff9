/** Protobuf bodies: those of kubectl, and malformed ones. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecodeError } from '../resource.js';
import { decodeProtobuf, openEnvelope } from './protobuf.js';

/** One field: a number for a varint, else bytes with their length. */
function field(number: number, value: number | string | Buffer): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint(number << 3), varint(value)]);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

const message = (...fields: Buffer[]) => Buffer.concat(fields);
const entry = (key: string, value: string | Buffer) => message(field(1, key), field(2, value));

describe('protobuf', () => {
  test('the envelope has type and object', () => {
    const type = message(field(1, 'v1'), field(2, 'ConfigMap'));
    const body = Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, 'raw'), field(3, ''), field(4, '')]);
    expect(openEnvelope(body)).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', raw: Buffer.from('raw') });
  });

  test('a config map', () => {
    const metadata = message(field(1, 'a'), field(3, 'default'), field(8, ''), field(11, entry('app', 'x')));
    const raw = message(
      field(1, metadata),
      field(2, entry('k', 'v')),
      field(2, entry('__proto__', 'w')),
      field(3, entry('b', Buffer.from([1, 2]))),
      field(4, 1),
    );
    const object = decodeProtobuf('core.v1.ConfigMap', raw);
    expect(object).toMatchObject({
      metadata: { name: 'a', namespace: 'default', creationTimestamp: null, labels: { app: 'x' } },
      binaryData: { b: 'AQI=' },
      immutable: true,
    });
    expect(Object.entries(object.data as object)).toEqual([
      ['k', 'v'],
      ['__proto__', 'w'],
    ]);
  });

  test('a pod: embedded structs, quantities, ports that may be names, times', () => {
    const quantity = (text: string) => field(1, text);
    const probe = field(
      10,
      message(field(1, field(2, message(field(1, '/x'), field(2, message(field(1, 1), field(3, 'web'))))))),
    );
    const resources = field(8, field(1, entry('cpu', quantity('2'))));
    const container = message(field(1, 'c'), field(2, 'image'), resources, probe);
    const volume = message(field(1, 'cfg'), field(2, field(19, field(1, field(1, 'my-map')))));
    const spec = message(field(1, volume), field(2, container), field(4, 30));
    const object = decodeProtobuf('core.v1.Pod', message(field(1, field(1, 'p')), field(2, spec)));
    expect(object.spec).toMatchObject({
      terminationGracePeriodSeconds: 30,
      containers: [
        { name: 'c', resources: { limits: { cpu: '2' } }, livenessProbe: { httpGet: { path: '/x', port: 'web' } } },
      ],
      volumes: [{ name: 'cfg', configMap: { name: 'my-map' } }],
    });
  });

  test('a time of another day, and a negative number', () => {
    const seconds = Date.UTC(2024, 0, 1) / 1000;
    const condition = message(field(1, 'Ready'), field(3, message(field(1, seconds))));
    const status = message(field(4, condition));
    expect(decodeProtobuf('core.v1.NodeStatus', status).conditions).toMatchObject([
      { type: 'Ready', lastHeartbeatTime: '2024-01-01T00:00:00Z' },
    ]);
    const minusOne = Buffer.from([1 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    expect(decodeProtobuf('meta.v1.DeleteOptions', minusOne)).toEqual({ gracePeriodSeconds: -1 });
  });

  test('any bytes are decoded or rejected with DecodeError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const read of [
          () => openEnvelope(Buffer.from(bytes)),
          () => openEnvelope(Buffer.concat([Buffer.from('k8s\0'), bytes])),
          () => decodeProtobuf('core.v1.Pod', Buffer.from(bytes)),
          () => decodeProtobuf('core.v1.Node', Buffer.from(bytes)),
        ]) {
          try {
            read();
          } catch (error) {
            expect(error).toBeInstanceOf(DecodeError);
          }
        }
      }),
    );
  });
});
