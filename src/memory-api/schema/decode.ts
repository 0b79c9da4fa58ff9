/**
 * Reads untyped JSON as one of the built-in kinds, as Go's decoder does when it fills a struct and writes it out again:
 * unknown fields are left out and named, empty optional fields vanish, others get their zero value, quantities and
 * times are normalized.
 */

import { formatQuantity, parseQuantity, quantityRule } from '../../go/quantity.js';
import { isObject } from '../../json.js';
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
  unknownFields: string[];
  /** With indices and map keys, as unknown fields are named: spec.containers[0].foo. */
  path: string;
}

export function decodeStruct(structName: string, value: unknown, style: DecodeStyle = 'json'): DecodedStruct {
  const unknownFields: string[] = [];
  const read = readStruct(structName, value, { unknownFields, path: '' });
  // The unstructured converter behind strategic merge patches sorts them.
  if (style === 'unstructured') unknownFields.sort();
  return { value: read, unknownFields };
}

function readStruct(name: string, value: unknown, place: Place): Record<string, unknown> {
  const struct = structOf(name);
  if (!isObject(value)) throw mismatch(value, shortName(name), place);
  // In the order of the document: unknown fields are named in it.
  const read = new Map<Field, unknown>();
  for (const key of Object.keys(value)) {
    const given = value[key];
    const field = struct.byName.get(key);
    if (field === undefined) place.unknownFields.push(join(place.path, key));
    else if (isPlain(field, given)) read.set(field, given);
    else if (given !== null && given !== undefined) {
      read.set(field, readField(field, given, { ...place, path: join(place.path, key) }));
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

/** Undefined if the field is left out of the object. */
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
      if (!Array.isArray(value)) throw mismatch(value, type.kind, place);
      return value.map((item, index) => readValue(type.of, item, { ...place, path: `${place.path}[${index}]` }));
    case 'map':
      if (!isObject(value)) throw mismatch(value, type.kind, place);
      // fromEntries defines properties: a key such as __proto__ stays a plain key.
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          key,
          readValue(type.of, item, { ...place, path: join(place.path, key) }),
        ]),
      );
    case 'enum':
      return expect('string', value, 'string', place);
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
      return readBytes(expect('string', value, 'bytes', place));
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

function readBytes(text: string): string {
  const compact = text.replace(/[\r\n]/g, '');
  const isWellFormed = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact);
  if (!isWellFormed) throw new DecodeError('illegal base64 data');
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

function mismatch(value: unknown, wanted: string, { path }: Place, shown = jsonKind(value)): DecodeError {
  return new DecodeError(
    `cannot unmarshal ${shown} into ${path === '' ? 'an object' : `field ${path}`} of type ${wanted}`,
  );
}

function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
