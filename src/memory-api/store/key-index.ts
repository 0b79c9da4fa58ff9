/**
 * The newest state per key, in key order, for lists.
 *
 * Per collection there is a sorted array of `namespace/name` and a map. Inserting moves memory, but only pointers:
 * some microseconds at 5,000 objects.
 */
import type { State } from './history.js';
import type { Collection, Key } from './store.js';

interface Members {
  sorted: string[];
  states: Map<string, State>;
}

export class KeyIndex {
  readonly #collections = new Map<string, Members>();

  get(key: Key): State | undefined {
    return this.#collections.get(collectionId(key))?.states.get(memberId(key.namespace, key.name));
  }

  set(state: State): void {
    const collection = collectionId(state.key);
    let members = this.#collections.get(collection);
    if (members === undefined) {
      members = { sorted: [], states: new Map() };
      this.#collections.set(collection, members);
    }
    const id = memberId(state.key.namespace, state.key.name);
    if (!members.states.has(id)) members.sorted.splice(lowerBound(members.sorted, id), 0, id);
    members.states.set(id, state);
  }

  delete(key: Key): void {
    const members = this.#collections.get(collectionId(key));
    const id = memberId(key.namespace, key.name);
    if (members === undefined || !members.states.delete(id)) return;
    members.sorted.splice(lowerBound(members.sorted, id), 1);
  }

  /** Returns the states of every collection. */
  all(): State[] {
    return [...this.#collections.values()].flatMap(({ states }) => [...states.values()]);
  }

  /** The states of a collection (or of one namespace) after the key `after`, in order; `limit` 0 means all. */
  range(
    scope: Collection & { namespace?: string },
    after: { namespace: string; name: string } | undefined,
    limit: number,
  ): { states: State[]; remaining: number } {
    const members = this.#collections.get(collectionId(scope));
    if (members === undefined) return { states: [], remaining: 0 };
    const { sorted } = members;
    let from = scope.namespace === undefined ? 0 : lowerBound(sorted, memberId(scope.namespace, ''));
    const end = scope.namespace === undefined ? sorted.length : lowerBound(sorted, afterNamespace(scope.namespace));
    if (after !== undefined) from = Math.max(from, upperBound(sorted, memberId(after.namespace, after.name)));
    const to = limit > 0 ? Math.min(end, from + limit) : end;
    const states: State[] = [];
    for (let at = from; at < to; at++) states.push(members.states.get(sorted[at]!)!);
    return { states, remaining: Math.max(0, end - to) };
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
