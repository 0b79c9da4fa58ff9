/**
 * Fills a config from a document as Go's JSON decoder fills a struct. After a value of the wrong type decoding continues; after an
 * error of a type with its own UnmarshalJSON (duration, quantity, time) it ends. The kubelet reports the latter if there is one, else
 * the first error; relet returns all errors, and what could be decoded.
 */

import { rfc3339 } from '../clock.js';
import { DurationError, formatDuration, parseDuration } from '../go/duration.js';
import { canonicalQuantity, quantityProblem, quantityRule } from '../go/quantity.js';
import { quote } from '../go/quote.js';
import { trimSpace } from '../go/text.js';
import type { Entry, Value } from '../go/yaml/value.js';
import { isObject } from '../json.js';
import { setOwn } from './copy.js';
import { remedyFor } from './decode-remedies.js';
import { childPath, type Finding, type KubeletConfig, type Minor, type Position } from './model.js';
import { integerRanges, type ScalarShape, type Shape, type StructShape } from './shape.js';

export interface FieldsResult {
  /** The decodable part; a map lacks the entries that could not be decoded. */
  config: KubeletConfig;
  positions: Map<string, Position>;
  /** All errors, in the order of the document. */
  errors: Finding[];
  /** The kubelet's error; undefined when it decodes. */
  message: string | undefined;
  unknown: StrictNote[];
  duplicate: StrictNote[];
  /** The kubelet's words for unknown and duplicate fields, in its order. */
  strict(): string[];
}

export interface StrictNote {
  path: string;
  name: string;
  at: Position;
  /** The struct an unknown field was found in. */
  within?: StructShape;
}

export function decodeFields(document: Value, shape: StructShape, minor: Minor): FieldsResult {
  const decoder = new FieldDecoder(minor);
  const config = document.kind === 'object' ? decoder.struct(document.entries, shape, '', {}, true) : {};
  return {
    config,
    positions: decoder.positions,
    errors: decoder.errors,
    message: decoder.ending ?? decoder.firstNote,
    unknown: decoder.unknown,
    duplicate: decoder.duplicate,
    strict: () => [...new Set(decoder.notes.map(({ kind, name }) => `${kind} field ${quote(name)}`))],
  };
}

class FieldDecoder {
  readonly positions = new Map<string, Position>();
  readonly errors: Finding[] = [];
  readonly unknown: StrictNote[] = [];
  readonly duplicate: StrictNote[] = [];
  readonly notes: { kind: string; name: string }[] = [];
  ending: string | undefined;
  firstNote: string | undefined;
  private readonly minor: Minor;
  /** Fields from the top, as Go's messages list them, and the struct they end in. */
  private readonly fieldStack: string[] = [];
  private structName = '';

  constructor(minor: Minor) {
    this.minor = minor;
  }

  /** `into` is what an earlier, equal key of a JSON document left there: Go fills it further. */
  struct(entries: Entry[], shape: StructShape, path: string, into: KubeletConfig, isRoot = false): KubeletConfig {
    const seen = new Set<string>();
    const outer = this.structName;
    for (const { key, keyAt, value } of entries) {
      const childShape = shape.fields.get(key);
      if (isRoot && (key === 'apiVersion' || key === 'kind')) {
        if (seen.has(key)) this.noteStrict('duplicate', key, keyAt, path);
        seen.add(key);
        continue;
      }
      const field = childPath(path, key, 'field');
      if (childShape === undefined) {
        this.noteStrict('unknown', key, keyAt, path, shape);
        continue;
      }
      if (seen.has(key)) this.noteStrict('duplicate', key, keyAt, path);
      seen.add(key);
      this.fieldStack.push(key);
      this.structName = shape.goName.slice(shape.goName.indexOf('.') + 1);
      this.positions.set(field, keyAt.line === value.at.line && !isContainer(value) ? value.at : keyAt);
      const decoded = this.value(value, childShape, field, into[key]);
      if (decoded !== undefined) setOwn(into, key, decoded);
      this.fieldStack.pop();
      this.structName = outer;
    }
    return into;
  }

  /** Undefined leaves the field as it is. */
  private value(value: Value, shape: Shape, path: string, before: unknown): unknown {
    if (shape.kind === 'scalar') return this.scalar(value, shape, path);
    if (value.kind === 'null') return shape.kind === 'struct' && !shape.pointer ? undefined : null;
    switch (shape.kind) {
      case 'struct':
        if (value.kind !== 'object') return this.wrongType(value, shape, path);
        return this.struct(value.entries, shape, path, asRecord(before));
      case 'map':
        if (value.kind !== 'object') return this.wrongType(value, shape, path);
        return this.map(value.entries, shape.value, path, asRecord(before));
      case 'list':
        if (value.kind !== 'array') return this.wrongType(value, shape, path);
        return value.items.map((item, index) => this.item(item, shape.item, childPath(path, index, 'index')));
    }
  }

  private map(entries: Entry[], shape: Shape, path: string, into: KubeletConfig): KubeletConfig {
    const seen = new Set<string>();
    for (const { key, keyAt, value } of entries) {
      const child = childPath(path, key, 'key');
      this.positions.set(child, keyAt.line === value.at.line && !isContainer(value) ? value.at : keyAt);
      if (seen.has(key)) this.noteStrict('duplicate', key, keyAt, path);
      seen.add(key);
      const errorsBefore = this.errors.length;
      const decoded = this.value(value, shape, child, undefined);
      const failed = decoded === undefined && this.errors.length > errorsBefore;
      if (!failed) setOwn(into, key, decoded ?? zeroValue(shape));
    }
    return into;
  }

  private item(value: Value, shape: Shape, path: string): unknown {
    this.positions.set(path, value.at);
    const decoded = this.value(value, shape, path, undefined) ?? zeroValue(shape);
    return shape.kind === 'struct' && decoded !== null ? complete(decoded as KubeletConfig, shape) : decoded;
  }

  private scalar(value: Value, shape: ScalarShape, path: string): unknown {
    if (value.kind === 'null' && shape.pointer) return null;
    switch (shape.type) {
      case 'duration':
        return this.duration(value, shape, path);
      case 'duration-or-int':
        return this.durationOrInt(value, shape, path);
      case 'quantity':
        return this.quantity(value, shape, path);
      case 'time':
        return this.time(value, shape, path);
    }
    if (value.kind === 'null') return undefined;
    if (shape.type === 'string' && value.kind === 'string') return value.value;
    if (shape.type === 'bool' && value.kind === 'bool') return value.value;
    if (value.kind === 'number' && shape.type !== 'string' && shape.type !== 'bool') {
      const number = readNumber(value.text, shape.type);
      if (number !== undefined) return number;
      return this.note(`cannot unmarshal number ${value.text} into ${this.target(shape)}`, path, value, shape);
    }
    return this.wrongType(value, shape, path);
  }

  private duration(value: Value, shape: ScalarShape, path: string): unknown {
    if (value.kind !== 'string' && value.kind !== 'null')
      return this.end(`json: cannot unmarshal ${value.kind} into ${this.target(shape)}`, path, value, shape);
    try {
      return formatDuration(parseDuration(value.kind === 'null' ? '' : value.value));
    } catch (error) {
      if (error instanceof DurationError) return this.end(error.message, path, value, shape);
      throw error;
    }
  }

  private durationOrInt(value: Value, shape: ScalarShape, path: string): unknown {
    if (value.kind === 'string') return this.duration(value, { ...shape, goName: 'string' }, path);
    if (value.kind === 'null') return 0;
    const number = value.kind === 'number' ? readNumber(value.text, 'int64') : undefined;
    if (number !== undefined) return number;
    const shown = value.kind === 'number' ? value.text : value.kind === 'bool' ? String(value.value) : value.kind;
    const kind = value.kind === 'number' ? `number ${value.text}` : value.kind;
    const message = `invalid duration "${shown}": json: cannot unmarshal ${kind} into Go value of type time.Duration`;
    return this.end(message, path, value, shape);
  }

  private quantity(value: Value, shape: ScalarShape, path: string): unknown {
    if (value.kind === 'null') return '0';
    const written = value.kind === 'string' ? value.value : value.kind === 'number' ? value.text : value.kind;
    const text = trimSpace(written);
    // Only YAML has control characters in its text; in the JSON that Go makes of it they are escaped.
    const isRaw = value.kind === 'string' && (value.escaped === true || /[\0-\x1f]/.test(written));
    const problem = isRaw ? quantityRule : quantityProblem(text);
    if (problem !== undefined) return this.end(problem, path, value, shape);
    return canonicalQuantity(text);
  }

  private time(value: Value, shape: ScalarShape, path: string): unknown {
    if (value.kind === 'null') return null;
    if (value.kind !== 'string')
      return this.end(`json: cannot unmarshal ${value.kind} into ${this.target(shape)}`, path, value, shape);
    const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[-+]\d\d:\d\d)$/.test(value.value);
    const ms = isTime ? Date.parse(value.value) : Number.NaN;
    if (!Number.isNaN(ms)) return rfc3339(ms);
    const layout = '2006-01-02T15:04:05Z07:00';
    return this.end(`parsing time "${value.value}" as "${layout}": cannot parse it`, path, value, shape);
  }

  private wrongType(value: Value, shape: Shape, path: string): undefined {
    return this.note(`cannot unmarshal ${value.kind} into ${this.target(shape)}`, path, value, shape);
  }

  private target(shape: Shape): string {
    const names = [...this.fieldStack];
    // Go's decoder names the struct that this field is embedded with since the kubelet brings that of Go 1.24.
    if (this.minor >= 35 && names.at(-1) === 'splitStream') names.splice(-1, 0, 'OutputRoutingOptions');
    return `Go struct field ${this.structName}.${names.join('.')} of type ${shape.goName}`;
  }

  private note(problem: string, path: string, value: Value, shape: Shape): undefined {
    this.firstNote ??= `json: ${problem}`;
    this.report(`json: ${problem}`, path, value, shape);
  }

  private end(message: string, path: string, value: Value, shape: Shape): undefined {
    this.ending ??= message;
    this.report(message, path, value, shape);
  }

  private report(message: string, path: string, value: Value, shape: Shape): void {
    const remedy = remedyFor(value, shape, path);
    this.errors.push({ severity: 'error', source: 'kubelet', path, ...value.at, message, remedy });
  }

  private noteStrict(kind: 'unknown' | 'duplicate', name: string, at: Position, path: string, within?: StructShape) {
    const field = childPath(path, name, 'field');
    this[kind].push({ path: field, name, at, ...(within && { within }) });
    this.notes.push({ kind, name: this.minor < 24 ? name : field });
  }
}

function isContainer(value: Value): boolean {
  return (value.kind === 'object' && value.entries.length > 0) || (value.kind === 'array' && value.items.length > 0);
}

function asRecord(value: unknown): KubeletConfig {
  return isObject(value) ? value : {};
}

function readNumber(text: string, type: ScalarShape['type']): number | bigint | undefined {
  if (type === 'float64') {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  if (!/^-?\d+$/.test(text)) return undefined;
  // Without -0.
  const value = text.length < 10 ? Number(text) || 0 : BigInt(text);
  const [min, max] = integerRanges[type as keyof typeof integerRanges];
  if (value < min || value > max) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function zeroValue(shape: Shape): unknown {
  if (shape.pointer) return null;
  switch (shape.kind) {
    case 'struct':
      return complete({}, shape);
    case 'list':
    case 'map':
      return null;
    case 'scalar':
      return zeroScalars[shape.type];
  }
}

const zeroScalars: Record<ScalarShape['type'], unknown> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  uint32: 0,
  float64: 0,
  duration: '0s',
  'duration-or-int': 0,
  quantity: '0',
  time: null,
};

/** Every field of the struct, in its order, zero where unset; structs inside likewise. */
export function complete(partial: KubeletConfig, shape: StructShape): KubeletConfig {
  const whole: KubeletConfig = {};
  for (const [name, child] of shape.fields) {
    const value = partial[name];
    if (child.kind === 'struct' && value !== null && !(child.pointer && value === undefined))
      whole[name] = complete(asRecord(value), child);
    else whole[name] = value === undefined ? zeroValue(child) : value;
    if (shape.omitEmpty.includes(name) && !whole[name]) delete whole[name];
  }
  return whole;
}
