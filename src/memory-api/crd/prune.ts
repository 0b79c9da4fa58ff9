/** Removes unknown fields from a custom resource and sets the defaults of its schema, in place. */
import { isObject } from '../../json.js';
import { additionalOf, type JsonMap, type JsonSchema, propertyOf } from './json-schema.js';

/** Fields that every object has; a schema need not mention them. */
const objectFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Returns the paths of pruned fields, sorted as Kubernetes sorts them. */
export function prune(value: unknown, schema: JsonSchema): string[] {
  const removed: string[] = [];
  pruneAt(value, schema, '', true, removed);
  return removed.sort();
}

function pruneAt(value: unknown, schema: JsonSchema, path: string, isWholeObject: boolean, removed: string[]): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined)
      for (const [index, item] of value.entries())
        pruneAt(
          item,
          schema.items,
          `${path}[${index}]`,
          schema.items['x-kubernetes-embedded-resource'] === true,
          removed,
        );
    return;
  }
  if (!isObject(value)) return;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  for (const key of Object.keys(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    // metadata has a shape of its own, whatever the schema says.
    if (isWholeObject && objectFields.has(key)) continue;
    const inner = propertyOf(schema, key) ?? additionalOf(schema);
    if (inner !== undefined) pruneAt(value[key], inner, at, inner['x-kubernetes-embedded-resource'] === true, removed);
    else if (!isOpen && schema.additionalProperties !== true) {
      delete value[key];
      removed.push(at);
    }
  }
}

/** Drops null values that are not allowed, unless a default replaces it. */
export function dropNulls(value: unknown, schema: JsonSchema): void {
  if (Array.isArray(value)) {
    for (const item of value) if (schema.items !== undefined) dropNulls(item, schema.items);
    return;
  }
  if (!isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    const inner = propertyOf(schema, key) ?? additionalOf(schema);
    if (inner === undefined) continue;
    const isFree = inner.nullable === true || inner['x-kubernetes-preserve-unknown-fields'] === true;
    if (item === null && !isFree && inner.default === undefined) delete value[key];
    else dropNulls(item, inner);
  }
}

export function setDefaults(value: unknown, schema: JsonSchema): void {
  if (Array.isArray(value)) {
    for (const item of value) if (schema.items !== undefined) setDefaults(item, schema.items);
    return;
  }
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(schema.properties ?? {}))
    if (isMissing(value, key, inner)) define(value, key, inner.default);
  for (const [key, item] of Object.entries(value)) {
    const inner = propertyOf(schema, key) ?? additionalOf(schema);
    if (inner !== undefined) setDefaults(item, inner);
  }
}

function isMissing(value: JsonMap, key: string, schema: JsonSchema): boolean {
  if (schema.default === undefined) return false;
  return !Object.hasOwn(value, key) || (value[key] === null && schema.nullable !== true);
}

/** Also for a property named __proto__. */
function define(value: JsonMap, key: string, content: unknown): void {
  Object.defineProperty(value, key, {
    value: structuredClone(content),
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
