/** Finds duplicates in lists that are sets or maps, at any depth. */

import { isObject } from '../../json.js';
import { duplicateField, type FieldError } from '../field-error.js';
import { identityOf } from '../json-equality.js';
import { additionalOf, type JsonSchema, propertyOf } from './json-schema.js';

export function duplicateErrors(value: unknown, schema: JsonSchema, path: string): FieldError[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    const inside = (item: unknown, index: number) =>
      items === undefined ? [] : duplicateErrors(item, items, `${path}[${index}]`);
    return [...repeatedItems(value, schema, path), ...value.flatMap(inside)];
  }
  if (!isObject(value)) return [];
  return Object.keys(value)
    .sort()
    .flatMap((key) => {
      const own = propertyOf(schema, key);
      const inner = own ?? additionalOf(schema);
      const place = own === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      return inner === undefined ? [] : duplicateErrors(value[key], inner, place);
    });
}

/** Each duplicate is named once. */
function repeatedItems(list: unknown[], schema: JsonSchema, path: string): FieldError[] {
  const kind = schema['x-kubernetes-list-type'];
  if (kind !== 'set' && kind !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const counts = new Map<string, number>();
  return list.flatMap((item, index) => {
    const identity = kind === 'set' ? item : keysOf(item, keys);
    const text = identityOf(identity);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    return count === 2 ? [duplicateField(`${path}[${index}]`, identity)] : [];
  });
}

function keysOf(item: unknown, keys: string[]): Record<string, unknown> {
  const present = isObject(item) ? keys.filter((key) => Object.hasOwn(item, key)) : [];
  return Object.fromEntries(present.map((key) => [key, (item as Record<string, unknown>)[key]]));
}
