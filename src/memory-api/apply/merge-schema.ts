/**
 * How values of a kind are merged according to its schema: which are atomic, which maps are owned field by field, and
 * which lists item by item. Works on the linked schemas of built-in kinds and on those of CRDs; an empty schema allows
 * any value.
 */
import { isObject } from '../../json.js';
import { keyElement, valueElement } from './path-element.js';

export interface MergeSchema {
  type?: string;
  format?: string;
  default?: unknown;
  properties?: Record<string, MergeSchema>;
  additionalProperties?: MergeSchema | boolean;
  items?: MergeSchema;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

export type JsonMap = Record<string, unknown>;

const anything: MergeSchema = Object.freeze({});

export function isNamed({ properties }: MergeSchema, key: string): boolean {
  return properties !== undefined && Object.hasOwn(properties, key);
}

/** Undefined for a key that the schema does not allow. */
export function declaredField(schema: MergeSchema, key: string): MergeSchema | undefined {
  const { properties, additionalProperties } = schema;
  if (isNamed(schema, key)) return properties![key]!;
  if (typeof additionalProperties === 'object') return additionalProperties;
  if (additionalProperties === false) return undefined;
  const isFree = additionalProperties === true || properties === undefined || Object.keys(properties).length === 0;
  return isFree || schema['x-kubernetes-preserve-unknown-fields'] === true ? anything : undefined;
}

export function fieldSchema(schema: MergeSchema, key: string): MergeSchema {
  return declaredField(schema, key) ?? anything;
}

export function itemSchema({ items }: MergeSchema): MergeSchema {
  return items ?? anything;
}

export function isGranularMap(schema: MergeSchema): boolean {
  return schema['x-kubernetes-map-type'] !== 'atomic';
}

/** The keys that identify items; `[]` for a set, undefined for an atomic list. */
export function listKeys(schema: MergeSchema): string[] | undefined {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return [];
    case 'map':
      return schema['x-kubernetes-list-map-keys'] ?? [];
    case 'atomic':
      return undefined;
  }
  const strategy = schema['x-kubernetes-patch-strategy'];
  if (strategy !== 'merge' && strategy !== 'merge,retainKeys') return undefined;
  const key = schema['x-kubernetes-patch-merge-key'];
  return key === undefined ? [] : [key];
}

/** An item without keys, or with keys that are not scalars. */
export class ItemError extends Error {}

/** The path element of an item in a list that is owned item by item. Throws ItemError. */
export function itemElement(item: unknown, keys: string[], schema: MergeSchema): string {
  if (keys.length === 0) return setElement(item);
  if (item === null) throw new ItemError('associative list with keys may not have a null element');
  if (!isObject(item)) throw new ItemError('associative list with keys may not have non-map elements');
  const pairs = keys.map((key): [string, unknown] => {
    const value = Object.hasOwn(item, key) ? item[key] : fieldSchema(itemSchema(schema), key).default;
    if (value !== undefined) return [key, value];
    const text = JSON.stringify(key);
    throw new ItemError(
      `associative list with keys has an element that omits key field ${text} (and doesn't have default value)`,
    );
  });
  return keyElement(pairs.length === 1 ? pairs : pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function setElement(item: unknown): string {
  if (isObject(item)) throw new ItemError("associative list without keys has an element that's a map type");
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements');
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null");
  return valueElement(item);
}
