/**
 * The newest state per key, in key order: what lists walk through. Keeps revisions; bytes are the journal's business.
 *
 * Per collection there is a sorted array of `namespace/name` beside a map. Inserting moves memory, but only pointers:
 * some microseconds at 5,000 objects.
 */
import type { Collection, Key } from './store.js';

export interface Entry {
  readonly key: Key;
  readonly revision: number;
}

interface Members {
  sorted: string[];
  entries: Map<string, Entry>;
}

export class KeyIndex {
  readonly #collections = new Map<string, Members>();

  get(key: Key): Entry | undefined {
    return this.#collections.get(collectionId(key))?.entries.get(memberId(key.namespace, key.name));
  }

  set(entry: Entry): void {
    const collection = collectionId(entry.key);
    let members = this.#collections.get(collection);
    if (members === undefined) {
      members = { sorted: [], entries: new Map() };
      this.#collections.set(collection, members);
    }
    const id = memberId(entry.key.namespace, entry.key.name);
    if (!members.entries.has(id)) members.sorted.splice(lowerBound(members.sorted, id), 0, id);
    members.entries.set(id, entry);
  }

  delete(key: Key): void {
    const members = this.#collections.get(collectionId(key));
    const id = memberId(key.namespace, key.name);
    if (members === undefined || !members.entries.delete(id)) return;
    members.sorted.splice(lowerBound(members.sorted, id), 1);
  }

  /** Every entry of every collection. */
  all(): Entry[] {
    return [...this.#collections.values()].flatMap(({ entries }) => [...entries.values()]);
  }

  /** The entries of a collection (or of one namespace) behind `after`, in order; `limit` 0 means all. */
  range(
    scope: Collection & { namespace?: string },
    after: { namespace: string; name: string } | undefined,
    limit: number,
  ): { entries: Entry[]; remaining: number } {
    const members = this.#collections.get(collectionId(scope));
    if (members === undefined) return { entries: [], remaining: 0 };
    const { sorted } = members;
    let from = scope.namespace === undefined ? 0 : lowerBound(sorted, memberId(scope.namespace, ''));
    const end = scope.namespace === undefined ? sorted.length : lowerBound(sorted, afterNamespace(scope.namespace));
    if (after !== undefined) from = Math.max(from, upperBound(sorted, memberId(after.namespace, after.name)));
    const to = limit > 0 ? Math.min(end, from + limit) : end;
    const entries: Entry[] = [];
    for (let at = from; at < to; at++) entries.push(members.entries.get(sorted[at]!)!);
    return { entries, remaining: Math.max(0, end - to) };
  }
}

export function collectionId({ group, resource }: Collection): string {
  return `${group}/${resource}`;
}

export function memberId(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The first id that sorts behind every object of a namespace: '0' follows '/' in ASCII. */
function afterNamespace(namespace: string): string {
  return `${namespace}0`;
}

function lowerBound(sorted: string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

function upperBound(sorted: string[], id: string): number {
  const at = lowerBound(sorted, id);
  return sorted[at] === id ? at + 1 : at;
}
