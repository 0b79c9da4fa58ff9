/** The rows of all nodes, in memory. Rows are replaced, never mutated. */
import { signal } from '@preact/signals';
import { byName } from '../../../natural-order.js';
import type { Row } from '../../wire.js';

const rows = new Map<string, Row>();
/** By name, with the place of each; made again only when a node comes or goes. */
let sorted: Row[] = [];
let places: Map<string, number> | undefined;

/** Counts up with every batch of changes: who reads rows reads this first. */
export const rowsVersion = signal(0);
/** The first snapshot is complete. */
export const isLoaded = signal(false);

export const rowOf = (name: string): Row | undefined => rows.get(name);

/** A snapshot comes in parts; rows that were there before and are in none of them are gone. */
export function takeSnapshot(): (part: Row[], isLast: boolean) => void {
  const seen = new Set<string>();
  return (part, isLast) => {
    for (const row of part) {
      seen.add(row.name);
      rows.set(row.name, row);
    }
    if (isLast) {
      for (const name of rows.keys()) if (!seen.has(name)) rows.delete(name);
      isLoaded.value = true;
    }
    places = undefined;
    rowsVersion.value++;
  };
}

export function applyRows(upsert: Row[], remove: string[]): void {
  for (const name of remove) if (rows.delete(name)) places = undefined;
  for (const row of upsert) {
    rows.set(row.name, row);
    const at = places?.get(row.name);
    if (at === undefined) places = undefined;
    else sorted[at] = row;
  }
  rowsVersion.value++;
}

export function forgetRows(): void {
  rows.clear();
  places = undefined;
  isLoaded.value = false;
  rowsVersion.value++;
}

export function rowsByName(): readonly Row[] {
  if (places === undefined) {
    sorted = [...rows.values()].sort(byName);
    places = new Map(sorted.map(({ name }, at) => [name, at]));
  }
  return sorted;
}
