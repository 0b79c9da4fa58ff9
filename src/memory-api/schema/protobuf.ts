/**
 * Reads bodies in Kubernetes' protobuf encoding: kubectl from 1.32 on sends them for built-in kinds. Only reading; answers
 * are always JSON. The numbers of the fields are in `facts/protobuf-tags.json`, their types are those of the kind.
 *
 * A body is the four bytes `k8s\0` and a message: apiVersion and kind, and the object as bytes inside it.
 */
import tagTable from '../facts/protobuf-tags.json' with { type: 'json' };
import { DecodeError } from '../resource.js';
import { formatTime } from './time.js';
import { type Struct, structOf, type Type } from './types.js';

const magic = Buffer.from('k8s\0');
/** Deeper than any kind nests; protects the stack from malicious messages. */
const maxDepth = 64;

export interface ProtobufBody {
  apiVersion: string;
  kind: string;
  raw: Buffer;
}

/** Opens the envelope. Throws DecodeError. */
export function openEnvelope(body: Buffer): ProtobufBody {
  if (!body.subarray(0, magic.length).equals(magic)) {
    throw new DecodeError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  let apiVersion = '';
  let kind = '';
  let raw = Buffer.alloc(0);
  for (const { number, bytes } of fieldsOf(body.subarray(magic.length))) {
    if (number === 1) {
      for (const part of fieldsOf(asBytes(bytes))) {
        if (part.number === 1) apiVersion = asBytes(part.bytes).toString('utf8');
        else if (part.number === 2) kind = asBytes(part.bytes).toString('utf8');
      }
    } else if (number === 2) raw = Buffer.from(asBytes(bytes));
  }
  return { apiVersion, kind, raw };
}

/** The object as JSON would have it. Throws DecodeError. */
export function decodeProtobuf(structName: string, raw: Buffer): Record<string, unknown> {
  return readMessage(tagsOf(structName), structOf(structName), raw, 0);
}

/** The meaning of a field number: a field, or an embedded struct. */
type Tag = { field: string } | { inline: Tags };
type Tags = Map<number, Tag>;

const parsedTags = new Map<string, Tags>();

function tagsOf(structName: string): Tags {
  const known = parsedTags.get(structName);
  if (known !== undefined) return known;
  const line = (tagTable as Record<string, string | undefined>)[structName];
  if (line === undefined) throw new DecodeError(`${structName} cannot be read from protobuf: send JSON`);
  const tags: Tags = new Map();
  for (const entry of line.split(' ')) {
    const at = entry.lastIndexOf('=');
    const name = entry.slice(0, at);
    tags.set(Number(entry.slice(at + 1)), name.startsWith('@') ? { inline: tagsOf(name.slice(1)) } : { field: name });
  }
  parsedTags.set(structName, tags);
  return tags;
}

function readMessage(tags: Tags, struct: Struct, bytes: Buffer, depth: number): Record<string, unknown> {
  if (depth > maxDepth) throw new DecodeError('the message is nested too deeply');
  const object: Record<string, unknown> = {};
  for (const { number, bytes: value } of fieldsOf(bytes)) {
    const tag = tags.get(number);
    if (tag === undefined) continue;
    if ('inline' in tag) {
      Object.assign(object, readMessage(tag.inline, struct, asBytes(value), depth + 1));
      continue;
    }
    const field = struct.byName.get(tag.field);
    if (field !== undefined) addValue(object, tag.field, field.type, value, depth);
  }
  return object;
}

function addValue(object: Record<string, unknown>, name: string, type: Type, value: Value, depth: number): void {
  if (type.kind === 'pointer') addValue(object, name, type.of, value, depth);
  else if (type.kind === 'list') {
    object[name] ??= [];
    (object[name] as unknown[]).push(readValue(type.of, value, depth));
  } else if (type.kind === 'map') {
    const [key, entry] = readEntry(type.of, asBytes(value), depth);
    object[name] ??= {};
    // Also for __proto__, with which an assignment would set the prototype.
    Object.defineProperty(object[name] as object, key, {
      value: entry,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else object[name] = readValue(type, value, depth);
}

function readEntry(type: Type, bytes: Buffer, depth: number): [string, unknown] {
  let key = '';
  let value: unknown = type.kind === 'list' ? [] : emptyValue(type, depth);
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) key = asBytes(field.bytes).toString('utf8');
    else if (field.number === 2) value = readValue(type, field.bytes, depth);
  }
  return [key, value];
}

/** An entry without a value holds the zero value. */
function emptyValue(type: Type, depth: number): unknown {
  return type.kind === 'scalar' && (type.name === 'string' || type.name === 'bytes')
    ? ''
    : readValue(type, Buffer.alloc(0), depth);
}

function readValue(type: Type, value: Value, depth: number): unknown {
  switch (type.kind) {
    case 'pointer':
      return readValue(type.of, value, depth);
    case 'struct':
      return readMessage(tagsOf(type.name), structOf(type.name), asBytes(value), depth + 1);
    case 'enum':
      return asBytes(value).toString('utf8');
    case 'list':
      // A list inside a map is a message of its own.
      return [...fieldsOf(asBytes(value))].map((item) => readValue(type.of, item.bytes, depth + 1));
    case 'map':
      throw new DecodeError('a map of maps cannot be read from protobuf: send JSON');
    case 'scalar':
      return readScalar(type.name, value);
  }
}

function readScalar(scalar: string, value: Value): unknown {
  switch (scalar) {
    case 'string':
      return asBytes(value).toString('utf8');
    case 'bytes':
      return asBytes(value).toString('base64');
    case 'bool':
      return asNumber(value) !== 0n;
    case 'int32':
    case 'int64':
      return Number(BigInt.asIntN(64, asNumber(value)));
    case 'float64':
      return asBytes(value).readDoubleLE(0);
    case 'quantity':
      return stringField(asBytes(value), 1);
    case 'time':
    case 'microtime':
      return readTime(asBytes(value), scalar);
    case 'intorstring': {
      const type = numberField(asBytes(value), 1);
      return type === 1n ? stringField(asBytes(value), 3) : Number(BigInt.asIntN(32, numberField(asBytes(value), 2)));
    }
    case 'raw':
      return rawJson(asBytes(value));
    default:
      throw new DecodeError(`a ${scalar} cannot be read from protobuf: send JSON`);
  }
}

/** The zero time is an empty message; JSON shows it as null. */
function readTime(bytes: Buffer, scalar: 'time' | 'microtime'): string | null {
  const seconds = Number(BigInt.asIntN(64, numberField(bytes, 1)));
  const nanos = Number(BigInt.asIntN(32, numberField(bytes, 2)));
  if (bytes.length === 0 || (seconds === 0 && nanos === 0)) return null;
  return formatTime({ epochSeconds: seconds, micros: Math.trunc(nanos / 1000) }, scalar);
}

function rawJson(bytes: Buffer): unknown {
  for (const field of fieldsOf(bytes)) {
    if (field.number !== 1) continue;
    try {
      return JSON.parse(asBytes(field.bytes).toString('utf8'));
    } catch (error) {
      throw new DecodeError((error as Error).message);
    }
  }
  return undefined;
}

function stringField(bytes: Buffer, number: number): string {
  for (const field of fieldsOf(bytes)) if (field.number === number) return asBytes(field.bytes).toString('utf8');
  return '';
}

function numberField(bytes: Buffer, number: number): bigint {
  for (const field of fieldsOf(bytes)) if (field.number === number) return asNumber(field.bytes);
  return 0n;
}

/** A varint as a number, everything else as its bytes. */
type Value = bigint | Buffer;

function* fieldsOf(bytes: Buffer): Generator<{ number: number; bytes: Value }> {
  let at = 0;
  while (at < bytes.length) {
    const key = readVarint(bytes, at);
    at = key.next;
    const number = Number(key.value >> 3n);
    const wire = Number(key.value & 7n);
    if (wire === 0) {
      const { value, next } = readVarint(bytes, at);
      at = next;
      yield { number, bytes: value };
    } else {
      const length = wire === 2 ? readVarint(bytes, at) : { value: wire === 1 ? 8n : wire === 5 ? 4n : -1n, next: at };
      const end = length.next + Number(length.value);
      if (length.value < 0n || end > bytes.length) throw new DecodeError('unexpected EOF');
      yield { number, bytes: bytes.subarray(length.next, end) };
      at = end;
    }
  }
}

function readVarint(bytes: Buffer, from: number): { value: bigint; next: number } {
  let value = 0n;
  for (let at = from, shift = 0n; at < bytes.length && shift < 70n; at++, shift += 7n) {
    const byte = bytes[at]!;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return { value, next: at + 1 };
  }
  throw new DecodeError('unexpected EOF');
}

function asBytes(value: Value): Buffer {
  if (typeof value === 'bigint') throw new DecodeError('proto: wrong wireType');
  return value;
}

function asNumber(value: Value): bigint {
  if (typeof value !== 'bigint') throw new DecodeError('proto: wrong wireType');
  return value;
}
