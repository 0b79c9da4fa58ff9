/** Removes a set of fields from a value. */
import { isObject } from '../../json.js';
import { below, type FieldSet, has, isEmpty } from './field-set.js';
import {
  fieldSchema,
  isGranularMap,
  itemElement,
  itemSchema,
  type JsonMap,
  listKeys,
  type MergeSchema,
} from './merge-schema.js';
import { fieldElement } from './path-element.js';

export function removeFields(object: JsonMap, fields: FieldSet, schema: MergeSchema): JsonMap {
  return (removeFrom(object, fields, schema) ?? {}) as JsonMap;
}

/** Null if nothing is left of a container. */
function removeFrom(value: unknown, fields: FieldSet, schema: MergeSchema): unknown {
  if (isObject(value) && isGranularMap(schema)) return removeFromMap(value, fields, schema);
  if (Array.isArray(value) && listKeys(schema) !== undefined) return removeFromList(value, fields, schema);
  return value;
}

function removeFromMap(map: JsonMap, fields: FieldSet, schema: MergeSchema): JsonMap | null {
  const kept = Object.entries(map).flatMap(([key, value]): [string, unknown][] => {
    const element = fieldElement(key);
    if (has(fields, element)) return [];
    const inner = below(fields, element);
    return [[key, isEmpty(inner) ? value : removeFrom(value, inner, fieldSchema(schema, key))]];
  });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function removeFromList(list: unknown[], fields: FieldSet, schema: MergeSchema): unknown[] | null {
  const keys = listKeys(schema)!;
  const kept = list.flatMap((item) => {
    const element = itemElement(item, keys, schema);
    if (has(fields, element)) return [];
    const inner = below(fields, element);
    return [isEmpty(inner) ? item : removeFrom(item, inner, itemSchema(schema))];
  });
  return kept.length === 0 ? null : kept;
}
