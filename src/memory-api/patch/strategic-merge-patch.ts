/**
 * Kubernetes' strategic merge patch: like a merge patch, but lists whose elements have a key are merged element by
 * element, and the patch may have directives:
 *
 *     $patch: replace | delete            on an object or as an element of a list
 *     $retainKeys: [a, b]                 drop all other keys of this object first
 *     $setElementOrder/list: […]          the order of the merged list
 *     $deleteFromPrimitiveList/list: […]  values to remove from a list of scalars
 *
 * The schema defines how lists merge: x-kubernetes-patch-strategy and x-kubernetes-patch-merge-key.
 */

import { isObject } from '../../json.js';
import {
  deletePrefix,
  directive,
  goPrint,
  type JsonObject,
  orderPrefix,
  retainKeys,
  StrategicMergeError,
  withoutDirectives,
} from './strategic-directives.js';
import { mergeList, orderList, places } from './strategic-list.js';

/** As much of an OpenAPI schema as merging needs; references are already followed. */
export interface PatchSchema {
  properties?: Record<string, PatchSchema>;
  items?: PatchSchema;
  additionalProperties?: PatchSchema | boolean;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-patch-merge-key'?: string;
}

export function applyStrategicMergePatch(target: JsonObject, patch: JsonObject, schema: PatchSchema): JsonObject {
  return mergeObject(structuredClone(target), structuredClone(patch), schema);
}

function mergeObject(original: JsonObject, patch: JsonObject, schema: PatchSchema): JsonObject {
  if (Object.hasOwn(patch, directive)) return handleDirective(patch);
  const merged = new Map(Object.entries(original));
  const changes = new Map(Object.entries(patch));
  retain(merged, changes);
  mergeOrderedLists(merged, changes, schema);
  for (const [key, value] of changes) mergeField(merged, key, value, schema);
  // fromEntries defines properties, where assigning to __proto__ would change the prototype.
  return Object.fromEntries(merged);
}

function handleDirective({ [directive]: word, ...rest }: JsonObject): JsonObject {
  if (word === 'replace') return rest;
  if (word === 'delete') return {};
  throw new StrategicMergeError(
    `unknown patch type: ${goPrint(word)} in map: ${goPrint({ [directive]: word, ...rest })}`,
  );
}

function mergeField(merged: Map<string, unknown>, given: string, value: unknown, schema: PatchSchema): void {
  const isDeletion = given.startsWith(deletePrefix);
  const key = isDeletion ? given.slice(deletePrefix.length) : given;
  if (isDeletion && !Array.isArray(value)) throw badType(value, 'slice');
  if (value === null) {
    merged.delete(key);
    return;
  }
  const current = merged.get(key);
  const field = fieldSchema(schema, key);
  if (kindOf(current) !== kindOf(value)) {
    const left = withoutDirectives(value);
    if (!isDeletion && left === undefined) merged.delete(key);
    else if (!isDeletion) merged.set(key, left);
  } else if (isObject(current) && isObject(value)) {
    merged.set(key, strategyOf(field) === 'replace' ? value : mergeObject(current, value, field));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    merged.set(key, isDeletion ? without(current, value) : mergeListField(current, value, field));
  } else merged.set(key, value);
}

function mergeListField(current: unknown[], patch: unknown[], field: PatchSchema): unknown[] {
  if (strategyOf(field) !== 'merge') return withoutDirectives(patch) as unknown[];
  const mergeKey = field['x-kubernetes-patch-merge-key'] ?? '';
  return mergeList(current, patch, mergeKey, (original, change) => mergeObject(original, change, field.items ?? {}));
}

function without(list: unknown[], removed: unknown[]): unknown[] {
  const gone = new Set(removed);
  return list.filter((item) => !gone.has(item));
}

/** Keys that are not retained are removed; the patch may only set retained keys. */
function retain(merged: Map<string, unknown>, changes: Map<string, unknown>): void {
  if (!changes.has(retainKeys)) return;
  const listed = changes.get(retainKeys);
  changes.delete(retainKeys);
  if (!Array.isArray(listed)) throw badType(listed, 'slice');
  const kept = new Set<unknown>(listed);
  for (const [key, value] of changes) {
    if (value !== null && !key.startsWith('$') && !kept.has(key)) {
      throw new StrategicMergeError('invalid patch format of retainKeys');
    }
  }
  for (const key of [...merged.keys()]) if (!kept.has(key)) merged.delete(key);
}

/** Lists with an order directive are merged here, whether or not the patch also changes their elements. */
function mergeOrderedLists(merged: Map<string, unknown>, changes: Map<string, unknown>, schema: PatchSchema): void {
  for (const [directiveKey, order] of [...changes]) {
    if (!directiveKey.startsWith(orderPrefix)) continue;
    changes.delete(directiveKey);
    if (!Array.isArray(order)) throw badType(order, 'slice');
    const key = directiveKey.slice(orderPrefix.length);
    const current = listAt(merged, key);
    const patch = listAt(changes, key);
    if (current === undefined && patch === undefined) continue;
    const field = fieldSchema(schema, key);
    const mergeKey = field['x-kubernetes-patch-merge-key'] ?? '';
    if (patch !== undefined) checkOrder(patch, order, mergeKey);
    const all =
      patch === undefined
        ? current!
        : current === undefined
          ? (withoutDirectives(patch) as unknown[])
          : mergeListField(current, patch, field);
    merged.set(key, orderList(all, order, current ?? [], mergeKey));
    changes.delete(key);
  }
}

function listAt(fields: Map<string, unknown>, key: string): unknown[] | undefined {
  const value = fields.get(key);
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw badType(value, 'slice');
  return value;
}

/** Elements of the patch must be in the order list, in the same order. */
function checkOrder(patch: unknown[], order: unknown[], mergeKey: string): void {
  const idOf = (item: unknown) => (mergeKey !== '' && isObject(item) ? item[mergeKey] : item);
  const wanted = patch.filter((item) => !isObject(item) || item[directive] === undefined).map(idOf);
  const place = places(order, idOf);
  const found = wanted.map((id) => place.get(id) ?? -1);
  const inOrder = found.every((at, index) => at >= 0 && (index === 0 || at > found[index - 1]!));
  if (!inOrder) {
    throw new StrategicMergeError(
      `The order in patch list:\n${goPrint(patch)}\n doesn't match $setElementOrder list:\n${goPrint(order)}\n`,
    );
  }
}

function fieldSchema(schema: PatchSchema, key: string): PatchSchema {
  const { properties, additionalProperties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key]!;
  return typeof additionalProperties === 'object' ? additionalProperties : {};
}

/** `retainKeys` may follow the strategy, after a comma. */
function strategyOf(schema: PatchSchema): string {
  const strategies = (schema['x-kubernetes-patch-strategy'] ?? '').split(',');
  return strategies.find((strategy) => strategy !== 'retainKeys') ?? '';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

function badType(value: unknown, expected: string): StrategicMergeError {
  const found = Array.isArray(value) ? 'slice' : isObject(value) ? 'map' : value === null ? 'nil' : typeof value;
  return new StrategicMergeError(`expected a ${expected}, but received a ${found}`);
}
