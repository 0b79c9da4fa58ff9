/** JSON merge patch on parsed documents, and the spellings of a name that Go's decoder accepts for one field. */
import type { Entry, Value } from '../go/yaml/value.js';
import type { Shape, StructShape } from './shape.js';

type ObjectValue = Extract<Value, { kind: 'object' }>;

/** `patch` over `document`: null removes, objects merge, everything else replaces. */
export function mergePatch(document: Value, patch: Value): Value {
  if (patch.kind !== 'object') return patch;
  const merged = new Map(document.kind === 'object' ? document.entries.map((entry) => [entry.key, entry]) : []);
  for (const entry of patch.entries) {
    const before = merged.get(entry.key);
    if (entry.value.kind === 'null') merged.delete(entry.key);
    else merged.set(entry.key, { ...entry, value: mergePatch(before?.value ?? nothing, entry.value) });
  }
  return { ...patch, entries: [...merged.values()] };
}

const nothing: Value = { kind: 'null', at: { line: 1, column: 1 } };

/**
 * The fields' own names instead of any spelling. Go decodes one key after the other into the same field, and the kubelet's
 * JSON is sorted: `MaxPods` comes before `maxPods` and is replaced by it, `maxpods` comes after it.
 */
export function withFieldNames(value: Value, shape: StructShape): Value {
  if (value.kind !== 'object') return value;
  const byFold = new Map([...shape.fields.keys()].map((name) => [name.toLowerCase(), name]));
  const named = new Map<string, Entry>();
  for (const entry of [...value.entries].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const name = shape.fields.has(entry.key) ? entry.key : (byFold.get(entry.key.toLowerCase()) ?? entry.key);
    const child = shape.fields.get(name);
    const before = named.get(name)?.value;
    const inside = child === undefined ? entry.value : decodedOver(before, withNamesInside(entry.value, child), child);
    named.set(name, { ...entry, key: name, value: inside });
  }
  return { ...value, entries: [...named.values()] };
}

function withNamesInside(value: Value, shape: Shape): Value {
  if (shape.kind === 'struct') return withFieldNames(value, shape);
  if (shape.kind !== 'list' || value.kind !== 'array') return value;
  return { ...value, items: value.items.map((item) => withNamesInside(item, shape.item)) };
}

/** Go decodes into what is there: fields of a struct stay, keys of a map, and fields of a list's items, by index. */
export function decodedOver(before: Value | undefined, value: Value, shape: Shape): Value {
  if (before === undefined) return value;
  if (shape.kind === 'list' && value.kind === 'array' && before.kind === 'array')
    return { ...value, items: value.items.map((item, index) => decodedOver(before.items[index], item, shape.item)) };
  if (value.kind !== 'object' || before.kind !== 'object') return value;
  if (shape.kind === 'struct') return overEntries(before, value, (name) => shape.fields.get(name));
  return shape.kind === 'map' ? overEntries(before, value, () => undefined) : value;
}

function overEntries(before: ObjectValue, value: ObjectValue, shapeOf: (name: string) => Shape | undefined): Value {
  const merged = new Map(before.entries.map((entry) => [entry.key, entry]));
  for (const entry of value.entries) {
    const child = shapeOf(entry.key);
    const over = child === undefined ? entry.value : decodedOver(merged.get(entry.key)?.value, entry.value, child);
    merged.set(entry.key, { ...entry, value: over });
  }
  return { ...value, entries: [...merged.values()] };
}

/** A config as the JSON that Go writes of it: without what is nil or empty; a struct and a duration are never empty. */
export function asValue(config: unknown, shape: Shape): Value {
  const at = nothing.at;
  if (config === null || config === undefined) return nothing;
  if (typeof config === 'string') return { kind: 'string', value: config, at };
  if (typeof config === 'boolean') return { kind: 'bool', value: config, at };
  if (typeof config !== 'object') return { kind: 'number', text: String(config), at };
  if (Array.isArray(config))
    return {
      kind: 'array',
      items: config.map((item) => asValue(item, shape.kind === 'list' ? shape.item : shape)),
      at,
    };
  const entries = Object.entries(config).flatMap(([key, child]) => {
    const childShape = shape.kind === 'struct' ? shape.fields.get(key)! : shape.kind === 'map' ? shape.value : shape;
    const value = asValue(child, childShape);
    return shape.kind === 'struct' && isOmitted(value, childShape) ? [] : [{ key, keyAt: at, value }];
  });
  return { kind: 'object', entries, at };
}

function isOmitted(value: Value, shape: Shape): boolean {
  if (value.kind === 'null') return true;
  if (shape.pointer || shape.kind === 'struct' || (shape.kind === 'scalar' && shape.type === 'duration')) return false;
  if (value.kind === 'array') return value.items.length === 0;
  if (value.kind === 'object') return value.entries.length === 0;
  return value.kind === 'number' ? Number(value.text) === 0 : value.value === '' || value.value === false;
}
