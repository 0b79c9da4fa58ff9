/**
 * Parses one field and its new value as typed on a command line, by the field's type: `maxPods=150`,
 * `evictionHard.memory.available=200Mi`, `clusterDNS=10.0.0.10,10.0.0.11`, `maxPods-`. Pure.
 */
import { isObject } from '../json.js';
import { setOwn } from './copy.js';
import { formatPath } from './field-path.js';
import { fieldsOf } from './fields.js';
import { type KubeletConfig, knownMinor, type Minor } from './model.js';
import { type ScalarShape, type Shape, type StructShape, shapeOf } from './shape.js';
import { deeper, nearest } from './suggest.js';

/** The words cannot be applied to this kubelet; the message has the remedy. */
export class FieldWordError extends Error {
  override readonly name = 'FieldWordError';
}

export interface FieldSetting {
  /** From the top of the document; the last may be a key of a map. */
  path: string[];
  /** Undefined takes the field out, so that the kubelet's default counts. */
  value: unknown;
}

/** Whether a word is a setting and not a name. */
export const looksLikeSetting = (word: string): boolean => word.includes('=') || /^[A-Za-z].*-$/.test(word);

export function parseSetting(word: string, minor: Minor): FieldSetting {
  const equals = word.indexOf('=');
  const removes = equals < 0 && word.endsWith('-');
  if (equals < 0 && !removes)
    throw new FieldWordError(`'${word}' is not a setting: write FIELD=VALUE, or FIELD- to unset`);
  const name = removes ? word.slice(0, -1) : word.slice(0, equals);
  const { path, shape } = findField(name, knownMinor(minor));
  if (removes) return { path, value: undefined };
  let value: unknown;
  try {
    value = readValue(word.slice(equals + 1), shape);
  } catch (error) {
    throw new FieldWordError(`${name}: ${(error as Error).message}`);
  }
  rejectNull(value, path, knownMinor(minor));
  return { path, value };
}

/** Decoding drops a null, and with the only key of a map the value would be `{}`, which empties the map. */
function rejectNull(value: unknown, path: readonly string[], minor: Minor): void {
  const field = path.join('.');
  if (value === null)
    throw new FieldWordError(
      `${formatPath(path, minor)}: null is not a value; use '--unset ${field}' for the kubelet's default, or '${field}-' for the local config`,
    );
  if (Array.isArray(value) && value.some(hasNull))
    throw new FieldWordError(`${formatPath(path, minor)}: null is not a value; leave it out of the list`);
  if (isObject(value)) for (const [key, part] of Object.entries(value)) rejectNull(part, [...path, key], minor);
}

const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some(hasNull));

/** A new document; the argument is not changed. */
export function withSetting(document: KubeletConfig, { path, value }: FieldSetting): KubeletConfig {
  const [name, ...rest] = path as [string, ...string[]];
  const changed = { ...document };
  if (rest.length === 0) {
    if (value === undefined) delete changed[name];
    else setOwn(changed, name, value);
    return changed;
  }
  const child = Object.hasOwn(document, name) ? document[name] : undefined;
  const inner = isObject(child) ? child : {};
  if (value !== undefined || Object.keys(inner).length > 0)
    setOwn(changed, name, withSetting(inner, { path: rest, value }));
  return changed;
}

/**
 * Follows the dots as far as there are fields; behind a map everything that is left is its key, dots and all. Throws
 * FieldWordError; a guess at what was meant costs a look at every field.
 */
export function findField(name: string, minor: Minor): { path: string[]; shape: Shape } {
  const { path, shape, unknown } = follow(name, minor);
  if (unknown !== undefined) throw new FieldWordError(unknownFieldMessage(name, minor));
  return { path, shape };
}

/** Undefined if there is no such field. */
export function pathOfField(name: string, minor: Minor): string[] | undefined {
  const { path, unknown } = follow(name, minor);
  return unknown === undefined ? path : undefined;
}

/** `unknown` is the first word that is not a field, behind `path` and in `shape`. */
function follow(name: string, minor: Minor): { path: string[]; shape: Shape; unknown?: string } {
  let shape: Shape = shapeOf(minor);
  const path: string[] = [];
  // No name of a field has a bracket, so everything behind the first one is the key of a map.
  const [, field, key] = /^([^[]*)\[(.*)\]$/s.exec(name) ?? [];
  const words = field === undefined ? name.split('.') : [...field.split('.'), key!];
  for (const [index, word] of words.entries()) {
    if (shape.kind === 'map') return { path: [...path, words.slice(index).join('.')], shape: shape.value };
    const child: Shape | undefined = shape.kind === 'struct' ? shape.fields.get(word) : undefined;
    if (child === undefined) return { path, shape, unknown: word };
    path.push(word);
    shape = child;
  }
  return { path, shape };
}

export function unknownFieldMessage(name: string, minor: Minor, { guess: mayGuess = true } = {}): string {
  if (!mayGuess) return `kubelet 1.${minor} has no field '${name}'`;
  const { path, shape, unknown = '' } = follow(name, minor);
  if (shape.kind !== 'struct')
    return `there is no field '${name}': ${path.join('.')} has no fields of its own, set it whole`;
  const guesses = deeper(
    name,
    fieldsOf(minor).map((field) => field.path),
  );
  const guess = guesses.length > 0 ? undefined : nearest(unknown, shape.fields.keys());
  if (guess !== undefined) guesses.push([...path, guess].join('.'));
  const hint =
    guesses.length === 0
      ? "'relet config explain' lists them"
      : `did you mean ${guesses.map((path) => `'${path}'`).join(' or ')}?`;
  return `kubelet 1.${minor} has no field '${name}'; ${hint}`;
}

function readValue(text: string, shape: Shape): unknown {
  if (text === 'null') return null;
  switch (shape.kind) {
    case 'scalar':
      return readScalar(text, shape);
    case 'list':
      return readList(text, shape.item);
    case 'map':
      return readMap(text, shape.value);
    case 'struct':
      return readStruct(text, shape);
  }
}

function readScalar(text: string, { type }: ScalarShape): unknown {
  if (text === 'null') return null;
  switch (type) {
    case 'bool':
      if (text !== 'true' && text !== 'false') throw new Error(`'${text}' is neither true nor false`);
      return text === 'true';
    case 'int32':
    case 'int64':
    case 'uint32':
      return readInteger(text);
    case 'float64':
      if (text.trim() === '' || !Number.isFinite(Number(text))) throw new Error(`'${text}' is not a number`);
      return Number(text);
    case 'duration-or-int':
      return /^-?\d+$/.test(text) ? readInteger(text) : text;
    default:
      return text;
  }
}

function readInteger(text: string): number | bigint {
  if (!/^-?\d+$/.test(text)) throw new Error(`'${text}' is not a whole number`);
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

function readList(text: string, item: Shape): unknown[] {
  if (text === '') return [];
  if (text.startsWith('[')) return asJson(text, (value) => Array.isArray(value), 'a JSON list') as unknown[];
  if (item.kind !== 'scalar') throw new Error('write it as a JSON list, [{…}]');
  return text.split(',').map((part) => readScalar(part, item));
}

function readMap(text: string, value: Shape): unknown {
  if (text === '') return {};
  if (text.startsWith('{')) return asJson(text, isObject, 'a JSON object');
  if (value.kind !== 'scalar') throw new Error('write it as a JSON object, {…}');
  const map: KubeletConfig = {};
  for (const pair of text.split(',')) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw new Error(`'${pair}' is not KEY=VALUE`);
    setOwn(map, pair.slice(0, equals), readScalar(pair.slice(equals + 1), value));
  }
  return map;
}

function readStruct(text: string, shape: StructShape): unknown {
  if (text.startsWith('{')) return asJson(text, isObject, 'a JSON object');
  throw new Error(`set one of its fields (${[...shape.fields.keys()].join(', ')}), or all of it as a JSON object`);
}

function asJson(text: string, fits: (value: unknown) => boolean, what: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`'${text}' is not ${what}: ${(error as Error).message}`);
  }
  if (!fits(value)) throw new Error(`'${text}' is not ${what}`);
  return value;
}
