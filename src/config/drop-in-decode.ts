/**
 * Reads a file of --config-dir as kubelets from 1.29 on do: as JSON without a type, which is then a patch. So the names of
 * fields count in any case, unknown ones are ignored, null removes, and a duplicate key is an error.
 */
import type { Entry, Value } from '../go/yaml/value.js';
import { isObject } from '../json.js';
import { DecodeError } from './decode.js';
import { decodeFields } from './decode-fields.js';
import { type Document, DocumentError, readDocument } from './document.js';
import { header } from './header.js';
import type { Finding, KubeletConfig, Minor, Position, Positions } from './model.js';
import { type StructShape, shapeOf } from './shape.js';

export interface DropIn {
  /** What it sets. */
  config: KubeletConfig;
  /** The same; items of lists have only the fields that are written. */
  sparse: KubeletConfig;
  /** Paths that are null. */
  removed: string[][];
  positions: Positions;
  findings: Finding[];
}

export interface DecodeDropInOptions {
  minor: Minor;
  /** What it is merged into. Where that has a field, a name that sorts before the field's own does not count. */
  over?: KubeletConfig;
}

/** Throws DecodeError. */
export function decodeDropIn(text: string, { minor, over }: DecodeDropInOptions): DropIn {
  if (text === '') throw rejected('the file is empty', start);
  const { value, duplicates } = read(text, minor);
  const [twice] = duplicates;
  if (twice !== undefined) throw rejected(`duplicate field ${JSON.stringify(twice.path.at(-1))}`, twice.at);
  checkHeader(value, minor);
  const removed: string[][] = [];
  const patch = withoutNulls(withNames(value, shapeOf(minor), over), [], removed);
  const decoded = decodeFields(patch, shapeOf(minor), minor);
  if (decoded.errors.length > 0) throw new DecodeError(decoded.message!, decoded.errors);
  const [again] = decoded.duplicate;
  if (again !== undefined) throw rejected(`duplicate field ${JSON.stringify(again.name)}`, again.at);
  const findings = decoded.unknown.map(({ path, name, at }): Finding => {
    const message = `unknown field ${JSON.stringify(name)}: the kubelet ignores it in a drop-in`;
    return { severity: 'warning', source: 'relet', path, ...at, message };
  });
  const { config, positions } = decoded;
  return { config, sparse: sparse(config, patch, shapeOf(minor)), removed, positions, findings };
}

const start: Position = { line: 1, column: 1 };

function rejected(message: string, at: Position, path = ''): DecodeError {
  return new DecodeError(message, [{ severity: 'error', source: 'kubelet', path, ...at, message }]);
}

function read(text: string, minor: Minor): Document {
  try {
    return readDocument(text, minor);
  } catch (error) {
    if (error instanceof DocumentError) throw rejected(error.message, error.at);
    throw error;
  }
}

/** Until 1.31 any kind will do. */
function checkHeader(value: Value, minor: Minor): void {
  const entries = value.kind === 'object' ? value.entries : [];
  for (const [name, wanted] of Object.entries(header)) {
    if (minor < 32 && name === 'apiVersion') continue;
    const found = entries.find(({ key }) => key === name)?.value;
    const isText = found?.kind === 'string' && found.value !== '';
    if (!isText || (minor >= 32 && found.value !== wanted))
      throw rejected(`${name} of a drop-in must be ${wanted}`, found?.at ?? value.at, name);
  }
}

/** The fields' own names. Of several spellings the last in the order of bytes counts, as the kubelet's JSON is sorted. */
function withNames(value: Value, shape: StructShape, over: KubeletConfig | undefined): Value {
  if (value.kind !== 'object') return value;
  const byFold = new Map([...shape.fields.keys()].map((name) => [name.toLowerCase(), name]));
  const entries = new Map<string, Entry>();
  for (const entry of [...value.entries].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const name = shape.fields.has(entry.key) ? entry.key : (byFold.get(entry.key.toLowerCase()) ?? entry.key);
    if (entry.key < name && over !== undefined && isWritten(over[name])) continue;
    entries.set(name, { ...entry, key: name, value: withNamesInside(entry.value, name, shape, over) });
  }
  return { ...value, entries: [...entries.values()] };
}

function withNamesInside(value: Value, name: string, shape: StructShape, over: KubeletConfig | undefined): Value {
  const child = shape.fields.get(name);
  const inner = over === undefined || !isObject(over[name]) ? undefined : over[name];
  if (child?.kind === 'struct') return withNames(value, child, inner);
  if (child?.kind !== 'list' || child.item.kind !== 'struct' || value.kind !== 'array') return value;
  const { item } = child;
  return { ...value, items: value.items.map((one) => withNames(one, item, undefined)) };
}

const isWritten = (value: unknown): boolean => ![undefined, null, '', 0, false].includes(value as undefined);

function withoutNulls(value: Value, path: string[], removed: string[][]): Value {
  if (value.kind !== 'object') return value;
  const entries = value.entries.flatMap((entry) => {
    const at = [...path, entry.key];
    if (entry.value.kind !== 'null') return { ...entry, value: withoutNulls(entry.value, at, removed) };
    removed.push(at);
    return [];
  });
  return { ...value, entries };
}

function sparse(config: KubeletConfig, value: Value, shape: StructShape): KubeletConfig {
  const written = value.kind === 'object' ? value.entries : [];
  const kept: KubeletConfig = { ...config };
  for (const { key, value: child } of written) {
    const childShape = shape.fields.get(key);
    const [struct, list] = [config[key], config[key]];
    if (childShape?.kind === 'struct' && isObject(struct)) kept[key] = sparse(struct, child, childShape);
    if (childShape?.kind !== 'list' || childShape.item.kind !== 'struct' || child.kind !== 'array') continue;
    kept[key] = (list as KubeletConfig[]).map((item, index) => pick(item, child.items[index]!));
  }
  return kept;
}

function pick(item: KubeletConfig, value: Value): KubeletConfig {
  const names = new Set(value.kind === 'object' ? value.entries.map(({ key }) => key) : []);
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name)));
}
