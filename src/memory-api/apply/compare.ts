/** Compares an object before and after a write, field by field: removed, modified, added. No field is in more than one of them. */
import { isObject } from '../../json.js';
import { isSameJson } from '../json-equality.js';
import { type FieldSet, insert } from './field-set.js';
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

export interface Comparison {
  removed: FieldSet;
  modified: FieldSet;
  added: FieldSet;
}

interface Walk extends Comparison {
  path: string[];
}

/** Absent values are undefined; null is a value. Throws ItemError for lists whose items cannot be distinguished. */
export function compare(before: unknown, after: unknown, schema: MergeSchema): Comparison {
  const walk: Walk = { removed: {}, modified: {}, added: {}, path: [] };
  compareValues(before, after, schema, walk);
  const { path: _, ...comparison } = walk;
  return comparison;
}

function compareValues(before: unknown, after: unknown, schema: MergeSchema, walk: Walk): void {
  // Most of an object is unchanged: checked first, since that needs no schema.
  if (isSameJson(before, after)) return;
  const isList = Array.isArray(before) || Array.isArray(after);
  if ((isObject(before) || isObject(after)) && isGranularMap(schema)) compareMaps(before, after, schema, walk);
  else if (isList && listKeys(schema) !== undefined) compareLists(before, after, schema, walk);
  else compareWholes(before, after, walk);
}

function compareWholes(before: unknown, after: unknown, walk: Walk): void {
  if (before === undefined) insert(walk.added, walk.path);
  else if (after === undefined) insert(walk.removed, walk.path);
  else if (!isSameJson(before, after)) insert(walk.modified, walk.path);
}

/** Containers are added and removed with their content. */
function noteContainer(before: unknown, after: unknown, walk: Walk): void {
  if (before === undefined) insert(walk.added, walk.path);
  else if (after === undefined) insert(walk.removed, walk.path);
  else if (before !== null && after !== null && isObject(before) !== isObject(after)) insert(walk.modified, walk.path);
}

const emptyMap: JsonMap = Object.freeze({});

function compareMaps(before: unknown, after: unknown, schema: MergeSchema, walk: Walk): void {
  const [old, now] = [isObject(before) ? before : emptyMap, isObject(after) ? after : emptyMap];
  const oldKeys = Object.keys(old);
  const nowKeys = Object.keys(now);
  // Two empty ones are compared as wholes: {} is not null.
  if (oldKeys.length === 0 && nowKeys.length === 0) {
    compareWholes(before, after, walk);
    return;
  }
  for (const key of nowKeys) {
    const was = Object.hasOwn(old, key) ? old[key] : undefined;
    if (was !== now[key]) step(fieldElement(key), was, now[key], fieldSchema(schema, key), walk);
  }
  for (const key of oldKeys) {
    if (!Object.hasOwn(now, key)) step(fieldElement(key), old[key], undefined, fieldSchema(schema, key), walk);
  }
  noteContainer(before, after, walk);
}

function step(element: string, before: unknown, after: unknown, schema: MergeSchema, walk: Walk): void {
  walk.path.push(element);
  compareValues(before, after, schema, walk);
  walk.path.pop();
}

function compareLists(before: unknown, after: unknown, schema: MergeSchema, walk: Walk): void {
  const [old, now] = [Array.isArray(before) ? before : [], Array.isArray(after) ? after : []];
  if (old.length === 0 && now.length === 0) {
    compareWholes(before, after, walk);
    return;
  }
  const [oldItems, nowItems] = [itemsByElement(old, schema), itemsByElement(now, schema)];
  for (const [element, items] of nowItems) compareItems(element, oldItems.get(element) ?? [], items, schema, walk);
  for (const [element, items] of oldItems) {
    if (!nowItems.has(element)) compareItems(element, items, [], schema, walk);
  }
  noteContainer(before, after, walk);
}

function itemsByElement(list: unknown[], schema: MergeSchema): Map<string, unknown[]> {
  const keys = listKeys(schema)!;
  const found = new Map<string, unknown[]>();
  for (const item of list) {
    const element = itemElement(item, keys, schema);
    const same = found.get(element);
    if (same === undefined) found.set(element, [item]);
    else same.push(item);
  }
  return found;
}

/** Repeated items count as one whole. */
function compareItems(element: string, old: unknown[], now: unknown[], schema: MergeSchema, walk: Walk): void {
  const items = itemSchema(schema);
  const path = [...walk.path, element];
  if (old.length <= 1 && now.length <= 1) step(element, old[0], now[0], items, walk);
  else if (old.length > 1 && now.length > 1) {
    if (!isSameJson(old, now)) insert(walk.modified, path);
  } else if (old.length > 1) {
    if (now.length > 0) step(element, undefined, now[0], items, walk);
    insert(walk.removed, path);
  } else {
    if (old.length > 0) step(element, old[0], undefined, items, walk);
    insert(walk.added, path);
  }
}
