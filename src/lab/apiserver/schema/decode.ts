/**
 * Reads untyped JSON as one of the built-in kinds, as Go's decoder does when it fills a struct and writes it out again:
 * unknown fields are left out and named, empty optional fields vanish, others get their zero value, quantities and
 * times are normalized.
 */

import { formatQuantity, parseQuantity, quantityRule } from '../../../go/quantity.js';
import { isObject } from '../../../json.js';
import { DecodeError, type DecodeStyle } from '../resource.js';
import { formatTime, parseTime } from './time.js';
import { type Field, plainText, type Scalar, shortName, structOf, type Type } from './types.js';
import { isEmpty, zero, zeroOf } from './zero.js';

export interface DecodedStruct {
  value: Record<string, unknown>;
  unknownFields: string[];
}

/** The place of a value. */
interface Place {
  pass: { style: DecodeStyle; unknownFields: string[] };
  /** The innermost struct, as Go's errors name it. */
  struct: string;
  /** Field names only, as in Go's errors: metadata.labels. */
  fields: string;
  /** With indices and map keys, as unknown fields are named: spec.containers[0].foo. */
  path: string;
}

export function decodeStruct(structName: string, value: unknown, style: DecodeStyle = 'json'): DecodedStruct {
  const pass = { style, unknownFields: [] as string[] };
  const read = readStruct(structName, value, { pass, struct: '', fields: '', path: '' });
  // The unstructured converter behind strategic merge patches sorts them.
  if (style === 'unstructured') pass.unknownFields.sort();
  return { value: read, ...pass };
}

function readStruct(name: string, value: unknown, place: Place): Record<string, unknown> {
  const struct = structOf(name);
  const goName = shortName(name);
  if (!isObject(value)) throw mismatch(value, `v1.${goName}`, place, jsonKind(value), true);
  // In the order of the document: unknown fields are named in it.
  const read = new Map<Field, unknown>();
  for (const key of Object.keys(value)) {
    const given = value[key];
    const field = struct.byName.get(key);
    if (field === undefined) place.pass.unknownFields.push(join(place.path, key));
    else if (isPlain(field, given)) read.set(field, given);
    else if (given !== null && given !== undefined) {
      const { pass } = place;
      const inner = { pass, struct: goName, fields: join(place.fields, key), path: join(place.path, key) };
      read.set(field, readField(field, given, inner));
    }
  }
  const result: Record<string, unknown> = {};
  for (const field of struct.fields) {
    const kept = read.has(field) ? read.get(field) : field.vanishes ? undefined : zero(field);
    if (kept !== undefined) result[field.name] = kept;
  }
  return result;
}

/** Most fields are texts that need no conversion. */
function isPlain({ type }: Field, value: unknown): boolean {
  return typeof value === 'string' && value !== '' && (type.kind === 'enum' || type === plainText);
}

/** Undefined where the field is left out of the object. */
function readField(field: Field, value: unknown, place: Place): unknown {
  const read = readValue(field.type, value, place);
  return field.omitEmpty && field.keepsEmpty !== true && isEmpty(field.type, read) ? undefined : read;
}

function readValue(type: Type, value: unknown, place: Place): unknown {
  if (value === null) return zeroOf(type);
  switch (type.kind) {
    case 'pointer':
      return readValue(type.of, value, place);
    case 'struct':
      return readStruct(type.name, value, place);
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, goType(type), place);
      return value.map((item, index) => readValue(type.of, item, { ...place, path: `${place.path}[${index}]` }));
    case 'map':
      if (!isObject(value)) throw mismatch(value, goType(type), place);
      // fromEntries defines properties: a key such as __proto__ stays a plain key.
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          readValue(type.of, item, { ...place, path: join(place.path, key) }),
        ]),
      );
    case 'enum':
      return expect('string', value, goType(type), place);
    case 'scalar':
      return readScalar(type.name, value, place);
  }
}

function readScalar(scalar: Scalar, value: unknown, place: Place): unknown {
  switch (scalar) {
    case 'string':
      return expect('string', value, 'string', place);
    case 'bool':
      return expect('boolean', value, 'bool', place);
    case 'int32':
    case 'int64':
      return readInteger(scalar, value, place);
    case 'float64':
      return expect('number', value, 'float64', place);
    case 'bytes':
      return readBytes(expect('string', value, '[]uint8', place), place);
    case 'time':
    case 'microtime':
      return readTime(scalar, value, place);
    case 'quantity':
      return readQuantity(value);
    case 'intorstring':
      return typeof value === 'number' ? readInteger('int32', value, place) : expect('string', value, 'string', place);
    case 'schemaOrBool':
      return typeof value === 'boolean' ? value : readStruct('apiextensions.v1.JSONSchemaProps', value, place);
    case 'duration':
    case 'raw':
    case 'any':
      return value;
  }
}

/** Stored values are normalized already, and every write decodes them again. */
const storedTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

function readTime(scalar: 'time' | 'microtime', value: unknown, place: Place): string {
  const text = expect('string', value, scalar === 'time' ? 'v1.Time' : 'v1.MicroTime', place);
  return scalar === 'time' && storedTime.test(text) ? text : formatTime(parseTime(text, scalar), scalar);
}

function readInteger(scalar: 'int32' | 'int64', value: unknown, place: Place): number {
  const number = expect('number', value, scalar, place);
  const fits = Number.isInteger(number) && (scalar === 'int64' || (number >= -(2 ** 31) && number < 2 ** 31));
  if (!fits) throw mismatch(value, scalar, place, `number ${number}`);
  return number;
}

function readBytes(text: string, { pass }: Place): string {
  const prefix = pass.style === 'unstructured' ? 'error decoding from json: ' : '';
  const bad = /[^A-Za-z0-9+/=\r\n]/.exec(text);
  if (bad !== null) throw new DecodeError(`${prefix}illegal base64 data at input byte ${bad.index}`);
  const compact = text.replace(/[\r\n]/g, '');
  const isWellFormed = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact);
  if (!isWellFormed) {
    // Go reports the position of the incomplete group of four characters.
    const whole = Math.floor(compact.replace(/=+$/, '').length / 4) * 4;
    throw new DecodeError(`${prefix}illegal base64 data at input byte ${whole}`);
  }
  return compact;
}

function readQuantity(value: unknown): string {
  const quantity = typeof value === 'string' || typeof value === 'number' ? parseQuantity(`${value}`) : undefined;
  if (quantity === undefined) throw new DecodeError(quantityRule);
  return formatQuantity(quantity);
}

function expect(wanted: 'string', value: unknown, goName: string, place: Place): string;
function expect(wanted: 'number', value: unknown, goName: string, place: Place): number;
function expect(wanted: 'boolean', value: unknown, goName: string, place: Place): boolean;
function expect(wanted: string, value: unknown, goName: string, place: Place): unknown {
  if (typeof value !== wanted) throw mismatch(value, goName, place);
  return value;
}

function mismatch(
  value: unknown,
  goName: string,
  place: Place,
  shown = jsonKind(value),
  isStruct = false,
): DecodeError {
  if (place.pass.style === 'unstructured') return new DecodeError(unstructuredMessage(value, goName, isStruct));
  const where = place.struct === '' ? 'Go value' : `Go struct field ${place.struct}.${place.fields}`;
  return new DecodeError(`json: cannot unmarshal ${shown} into ${where} of type ${goName}`);
}

/** Errors of the unstructured converter behind strategic merge patches. */
function unstructuredMessage(value: unknown, goName: string, isStruct: boolean): string {
  const from = { array: 'slice', object: 'map', bool: 'bool', string: 'string', number: 'int64' }[jsonKind(value)];
  if (goName.startsWith('[]')) return `cannot restore slice from ${from}`;
  if (goName.startsWith('map[')) return `cannot restore map from ${from}`;
  if (isStruct) return `cannot restore struct from: ${from}`;
  // Go's converter turns numbers into text; it has no other conversions.
  const kind = goName.startsWith('v1.') ? 'string' : goName;
  const isConvertible = from === 'int64' && kind === 'string';
  return isConvertible ? `cannot convert int64 to ${goName}` : `unrecognized type: ${kind}`;
}

function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function goType(type: Type): string {
  switch (type.kind) {
    case 'pointer':
      return goType(type.of);
    case 'list':
      return `[]${goType(type.of)}`;
    case 'map':
      return `map[string]${goType(type.of)}`;
    case 'struct':
    case 'enum':
      return `v1.${shortName(type.name)}`;
    case 'scalar':
      return type.name === 'quantity' ? 'resource.Quantity' : type.name;
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
