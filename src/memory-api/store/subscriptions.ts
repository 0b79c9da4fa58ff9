/**
 * Listeners by scope. An event is delivered by lookup, not by asking every listener: a thousand nodes that each watch their own
 * object cost nothing when one of them changes.
 */
import { collectionId, memberId } from './key-index.js';
import type { Key, Scope, StoreEvent } from './store.js';

type Listener = (event: StoreEvent) => void;

export class Subscriptions {
  /** By collection, by collection and namespace, by object. */
  readonly #listeners = new Map<string, Set<Listener>>();

  add(scope: Scope, listener: Listener): () => void {
    const id = scopeId(scope);
    const byName =
      scope.name !== undefined && scope.namespace === undefined
        ? (event: StoreEvent) => {
            if (event.key.name === scope.name) listener(event);
          }
        : listener;
    let set = this.#listeners.get(id);
    if (set === undefined) {
      set = new Set();
      this.#listeners.set(id, set);
    }
    set.add(byName);
    return () => {
      const current = this.#listeners.get(id);
      if (current?.delete(byName) && current.size === 0) this.#listeners.delete(id);
    };
  }

  notify(event: StoreEvent): void {
    for (const id of idsOf(event.key)) {
      const set = this.#listeners.get(id);
      if (set !== undefined) for (const listener of set) listener(event);
    }
  }
}

function scopeId(scope: Scope): string {
  const collection = collectionId(scope);
  if (scope.namespace === undefined) return collection;
  return scope.name === undefined
    ? `${collection}/${scope.namespace}`
    : `${collection}/${memberId(scope.namespace, scope.name)}`;
}

function idsOf(key: Key): string[] {
  const collection = collectionId(key);
  return [collection, `${collection}/${key.namespace}`, `${collection}/${memberId(key.namespace, key.name)}`];
}
