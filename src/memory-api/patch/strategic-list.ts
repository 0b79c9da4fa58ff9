/** Merging lists in a strategic merge patch, and the order of the result. */

import { isObject } from '../../json.js';
import { goPrint, type JsonObject, StrategicMergeError, withoutDirectives } from './strategic-directives.js';

type MergeElement = (original: JsonObject, patch: JsonObject) => JsonObject;

/** Elements with the same key merge; others are added. Scalars become a set. */
export function mergeList(
  original: unknown[],
  patch: unknown[],
  mergeKey: string,
  mergeElement: MergeElement,
): unknown[] {
  if (original.length === 0 && patch.length === 0) return original;
  const merged =
    mergeKey === '' || !areObjects([...original, ...patch])
      ? [...new Set([...original, ...patch])]
      : mergeElements(original as JsonObject[], patch as JsonObject[], mergeKey, mergeElement);
  return orderList(merged, patch, original, mergeKey);
}

function areObjects(values: unknown[]): boolean {
  const objects = values.filter(isObject).length;
  if (objects > 0 && objects < values.length) {
    throw new StrategicMergeError('list element types are not identical');
  }
  return objects > 0;
}

function mergeElements(
  original: JsonObject[],
  patch: JsonObject[],
  mergeKey: string,
  mergeElement: MergeElement,
): JsonObject[] {
  let isReplaced = false;
  const plain: JsonObject[] = [];
  const deleted = new Set<unknown>();
  for (const element of patch) {
    if (!Object.hasOwn(element, '$patch')) plain.push(element);
    else if (element.$patch === 'replace') isReplaced = true;
    else if (element.$patch === 'delete') {
      if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
      deleted.add(element[mergeKey]);
    } else if (element.$patch === 'merge')
      throw new StrategicMergeError('merging lists cannot yet be specified in the patch');
    else throw new StrategicMergeError(`unknown patch type: ${goPrint(element.$patch)} in map: ${goPrint(element)}`);
  }
  if (isReplaced) return plain;
  const idOf = (item: unknown) => (item as JsonObject)[mergeKey];
  const merged = original.filter((item) => !deleted.has(idOf(item)));
  const place = places(merged, idOf);
  for (const element of plain) {
    if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
    const at = place.get(idOf(element));
    if (at === undefined) {
      place.set(idOf(element), merged.length);
      merged.push(withoutDirectives(element) as JsonObject);
    } else merged[at] = mergeElement(merged[at]!, element);
  }
  return merged;
}

function noMergeKey(element: JsonObject, mergeKey: string): StrategicMergeError {
  return new StrategicMergeError(`map: ${goPrint(element)} does not contain declared merge key: ${mergeKey}`);
}

/**
 * Elements of the patch are in the patch's order, the rest in the server's. Between two elements that the server has, its
 * order decides; else the patch's element comes first.
 *
 *     server [a b c], patch [b x]  →  patch items [b x], server only [a c]  →  a b x c
 */
export function orderList(
  merged: unknown[],
  patchOrder: unknown[],
  serverOrder: unknown[],
  mergeKey: string,
): unknown[] {
  const idOf = (item: unknown) => (mergeKey !== '' && isObject(item) ? item[mergeKey] : item);
  const patchPlace = places(patchOrder, idOf);
  const serverPlace = places(serverOrder, idOf);
  const byPlace = (place: Map<unknown, number>) => (a: unknown, b: unknown) =>
    (place.get(idOf(a)) ?? place.size) - (place.get(idOf(b)) ?? place.size);
  const fromPatch = merged.filter((item) => patchPlace.has(idOf(item))).sort(byPlace(patchPlace));
  const serverOnly = merged.filter((item) => !patchPlace.has(idOf(item))).sort(byPlace(serverPlace));

  const ordered: unknown[] = [];
  let [nextServer, nextPatch] = [0, 0];
  while (nextPatch < fromPatch.length && nextServer < serverOnly.length) {
    const left = serverPlace.get(idOf(serverOnly[nextServer]));
    const right = serverPlace.get(idOf(fromPatch[nextPatch]));
    const serverFirst = left !== undefined && right !== undefined && left < right;
    ordered.push(serverFirst ? serverOnly[nextServer++] : fromPatch[nextPatch++]);
  }
  return [...ordered, ...serverOnly.slice(nextServer), ...fromPatch.slice(nextPatch)];
}

/** The first place of each element. */
export function places(list: unknown[], idOf: (item: unknown) => unknown): Map<unknown, number> {
  const found = new Map<unknown, number>();
  list.forEach((item, at) => {
    const id = idOf(item);
    if (!found.has(id)) found.set(id, at);
  });
  return found;
}
