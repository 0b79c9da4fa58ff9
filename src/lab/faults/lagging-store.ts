/**
 * The store as it is for an API server whose cache is behind: its revision, watches, lists as of that revision, and what its authorizer
 * follows are old. Quorum reads and writes go to the store itself, as those of a kube-apiserver go to etcd.
 */
import type { Key, ListRange, Scope, Store, StoreEvent, StoreWrite } from '../../memory-api/store/store.js';

interface Subscription {
  scope: Scope;
  listener(event: StoreEvent): void;
}

export class LaggingStore implements Store {
  readonly #store: Store;
  /** Revision of the cache while it is behind. */
  #behindAt: number | undefined;
  readonly #subscriptions = new Set<Subscription>();

  constructor(store: Store) {
    this.#store = store;
  }

  get revision(): number {
    return this.#behindAt ?? this.#store.revision;
  }

  fallBehind(): void {
    this.#behindAt ??= this.#store.revision;
  }

  /** Before the store is compacted: the cache needs the events. */
  catchUp(): void {
    const from = this.revision;
    this.#behindAt = undefined;
    for (const { scope, listener } of [...this.#subscriptions])
      for (const event of this.#store.events(scope, from)) listener(event);
  }

  *events(scope: Scope, after: number): Generator<StoreEvent> {
    for (const event of this.#store.events(scope, after)) if (event.revision <= this.revision) yield event;
  }

  subscribe(scope: Scope, listener: (event: StoreEvent) => void): () => void {
    const subscription = { scope, listener };
    this.#subscriptions.add(subscription);
    const unsubscribe = this.#store.subscribe(scope, (event) => {
      if (this.#behindAt === undefined) listener(event);
    });
    return () => {
      this.#subscriptions.delete(subscription);
      unsubscribe();
    };
  }

  get compacted(): number {
    return this.#store.compacted;
  }

  get failure(): Error | undefined {
    return this.#store.failure;
  }

  get = (key: Key) => this.#store.get(key);
  latest = (key: Key) => this.#store.latest(key);
  list = (scope: Scope, range?: ListRange) => this.#store.list(scope, range);
  snapshot = () => this.#store.snapshot();
  count = (scope: Scope) => this.#store.count(scope);
  write = (change: StoreWrite) => this.#store.write(change);
  settled = () => this.#store.settled();
  compact = (revision: number) => this.#store.compact(revision);

  /** The other server closes it. */
  async close(): Promise<void> {}
}
