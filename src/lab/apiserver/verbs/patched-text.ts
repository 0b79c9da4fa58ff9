/**
 * A patched object as Kubernetes prints it in errors: fields that the patch did not change in the order of Go's structs,
 * others in alphabetical order.
 */
import { isObject } from '../../../json.js';
import { isSameJson } from '../json-equality.js';
import { structOf, type Type } from '../schema/types.js';

/** `shape` is that of a built-in kind; other kinds are in alphabetical order throughout. */
export function patchedText(patched: unknown, current: unknown, shape: string | undefined): string {
  return JSON.stringify(ordered(patched, current, shape === undefined ? undefined : { kind: 'struct', name: shape }));
}

function ordered(patched: unknown, current: unknown, type: Type | undefined): unknown {
  if (isSameJson(patched, current)) return inGoOrder(patched, type);
  if (!isObject(patched) || !isObject(current)) return inGoOrder(patched, undefined);
  return sorted(patched, (key, value) =>
    ordered(value, Object.hasOwn(current, key) ? current[key] : undefined, inside(type, key)),
  );
}

function inGoOrder(value: unknown, type: Type | undefined): unknown {
  if (type?.kind === 'pointer') return inGoOrder(value, type.of);
  if (Array.isArray(value)) return value.map((item) => inGoOrder(item, type?.kind === 'list' ? type.of : undefined));
  if (!isObject(value)) return value;
  if (type?.kind !== 'struct') return sorted(value, (key, entry) => inGoOrder(entry, inside(type, key)));
  const fields = structOf(type.name).fields.filter(({ name }) => Object.hasOwn(value, name));
  return Object.fromEntries(fields.map((field) => [field.name, inGoOrder(value[field.name], field.type)]));
}

function inside(type: Type | undefined, key: string): Type | undefined {
  if (type?.kind === 'pointer') return inside(type.of, key);
  if (type?.kind === 'map') return type.of;
  return type?.kind === 'struct' ? structOf(type.name).byName.get(key)?.type : undefined;
}

function sorted(map: Record<string, unknown>, each: (key: string, value: unknown) => unknown): unknown {
  const keys = Object.keys(map).sort();
  return Object.fromEntries(keys.map((key) => [key, each(key, map[key])]));
}
