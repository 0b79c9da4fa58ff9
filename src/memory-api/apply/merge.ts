/** Merges an applied object into the live one. Nothing is removed; applied values win. */
import { isObject } from '../../json.js';
import {
  fieldSchema,
  isGranularMap,
  itemElement,
  itemSchema,
  type JsonMap,
  listKeys,
  type MergeSchema,
} from './merge-schema.js';

/** Undefined means absent. Throws ItemError. */
export function merge(live: unknown, applied: unknown, schema: MergeSchema): unknown {
  if (applied === undefined || (applied === null && isFilled(live, schema))) return live;
  if (isObject(live) && isObject(applied) && isGranularMap(schema)) return mergeMaps(live, applied, schema);
  if (Array.isArray(live) && Array.isArray(applied) && listKeys(schema) !== undefined) {
    return live.length === 0 ? applied : mergeLists(live, applied, schema);
  }
  return applied;
}

/** Null removes a value, except a container of which others own parts. */
function isFilled(value: unknown, schema: MergeSchema): boolean {
  if (isObject(value)) return isGranularMap(schema) && Object.keys(value).length > 0;
  return Array.isArray(value) && value.length > 0 && listKeys(schema) !== undefined;
}

function mergeMaps(live: JsonMap, applied: JsonMap, schema: MergeSchema): JsonMap {
  const keys = new Set([...Object.keys(live), ...Object.keys(applied)]);
  const own = (map: JsonMap, key: string) => (Object.hasOwn(map, key) ? map[key] : undefined);
  // fromEntries defines properties: a key such as __proto__ stays a plain key.
  return Object.fromEntries(
    [...keys].map((key) => [key, merge(own(live, key), own(applied, key), fieldSchema(schema, key))]),
  );
}

/**
 * Items of both lists are merged by their keys. The order of the applied list is kept, and items of the live list alone
 * stay where they were between those that both have:
 *
 *     live a b c, applied c x a  →  b c x a
 */
function mergeLists(live: unknown[], applied: unknown[], schema: MergeSchema): unknown[] {
  const mine = readItems(live, schema);
  const theirs = readItems(applied, schema);
  const shared = theirs.elements.filter((element) => mine.items.has(element));
  const merged: unknown[] = [];
  const done = new Set<string>();
  let nextShared = 0;
  const mergeItem = (element: string) => {
    done.add(element);
    merged.push(merge(mine.items.get(element), theirs.items.get(element), itemSchema(schema)));
    if (shared[nextShared] === element) nextShared++;
  };
  let [left, right] = [0, 0];
  while (left < live.length || right < applied.length) {
    const ours = mine.elements[left];
    const next = theirs.elements[right];
    const isShared = ours !== undefined && theirs.items.has(ours);
    if (ours !== undefined && ours === next) {
      mergeItem(ours);
      left++;
      right++;
    } else if (isShared && next !== undefined && nextShared < shared.length && shared[nextShared] !== ours) left++;
    else if (ours !== undefined && !isShared) merged.push(live[left++]);
    else {
      if (isShared && done.has(ours)) left++;
      if (next !== undefined) {
        mergeItem(next);
        right++;
      }
    }
  }
  return merged;
}

/** Repeated items have no single value to merge with: the applied one replaces them. */
function readItems(list: unknown[], schema: MergeSchema): { elements: string[]; items: Map<string, unknown> } {
  const keys = listKeys(schema)!;
  const items = new Map<string, unknown>();
  const elements = list.map((item) => itemElement(item, keys, schema));
  for (const [index, element] of elements.entries()) items.set(element, items.has(element) ? null : list[index]);
  return { elements, items };
}
