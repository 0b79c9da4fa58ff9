/**
 * The interface of the store: events by revision, and the newest state per key. It is the same in memory and on disk, see
 * contract.test.ts.
 *
 * A write gets its revision at once, and readers and watchers see it only when it is durable. So nothing that was seen can be lost:
 *
 *     write ──► latest() sees it ──► durable ──► get(), list(), watchers see it, the promise resolves
 */

/** Objects of one kind: `nodes`, or `leases` of group `coordination.k8s.io`, whatever version they are served in. */
export interface Collection {
  group: string;
  resource: string;
}

export interface Key extends Collection {
  /** '' for cluster-scoped objects. */
  namespace: string;
  name: string;
}

/** A collection, one of its namespaces, or one object. */
export interface Scope extends Collection {
  namespace?: string;
  name?: string;
}

/** An object as it was at a revision: its JSON in the stored version, metadata.resourceVersion included. */
export interface Stored {
  readonly key: Key;
  readonly revision: number;
  readonly bytes: Buffer;
}

export interface StoreEvent {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly key: Key;
  readonly revision: number;
  /** The object after the event; for 'deleted' its last state, with the deletion's resourceVersion. */
  readonly bytes: Buffer;
  /** The object before the event; absent for 'created'. */
  readonly previous: Buffer | undefined;
}

export interface StoreWrite {
  key: Key;
  /** The revision of the object that the change is based on; 0 for one that must not exist. */
  expected: number;
  delete: boolean;
  /** The object's JSON, given the revision it will have. Called once, before write() returns. */
  encode(revision: number): Buffer;
}

export interface Page {
  items: Stored[];
  /** The revision that the list shows. */
  revision: number;
  /** More items follow the last one. */
  more: boolean;
  /** How many follow, where that is known without reading them. */
  remaining: number;
}

export interface ListRange {
  /** The largest number of items; 0 or absent: all. */
  limit?: number;
  /** Only keys after this one, in key order (namespace, then name). */
  after?: { namespace: string; name: string };
  /** As of this revision; absent: now. Throws RevisionCompacted when it was compacted. */
  revision?: number;
}

export interface Store {
  /** The newest durable revision. Starts at 1, because 0 means "any". */
  readonly revision: number;
  /** Events up to this revision are removed: watches and lists from before fail. */
  readonly compacted: number;
  /** The error of a write after which no more are accepted; undefined if there was none. */
  readonly failure: Error | undefined;
  /** The newest durable state. */
  get(key: Key): Stored | undefined;
  /** The newest state, including writes that are not durable yet: a read-modify-write must start from it. */
  latest(key: Key): Stored | undefined;
  list(scope: Scope, range?: ListRange): Page;
  /** Everything that is durable now, of every kind. */
  snapshot(): { revision: number; items: Stored[] };
  /** The number of objects in the scope. */
  count(scope: Scope): number;
  /**
   * Resolves when the change is durable. Throws RevisionConflict, before anything is written, when `expected` is not the
   * revision of latest(). A failed disk rejects this write and all that follow until the store is opened again.
   */
  write(change: StoreWrite): Promise<Stored>;
  /** Resolves when every write so far is durable. */
  settled(): Promise<void>;
  /** The events after a revision, oldest first. Throws RevisionCompacted. */
  events(scope: Scope, after: number): Iterable<StoreEvent>;
  /** Calls for every durable event in the scope from now on, in order, until the returned function is called. */
  subscribe(scope: Scope, listener: (event: StoreEvent) => void): () => void;
  /** Removes the events up to a revision; the newest states stay. Also done automatically, see HistoryLimits. */
  compact(revision: number): Promise<void>;
  /** Waits for pending writes, then closes the files. */
  close(): Promise<void>;
}

/** The write is not based on the newest revision of the object. */
export class RevisionConflict extends Error {
  readonly key: Key;
  readonly current: Stored | undefined;

  constructor(key: Key, current: Stored | undefined) {
    super(`${keyText(key)} is at revision ${current?.revision ?? 0}`);
    this.name = 'RevisionConflict';
    this.key = key;
    this.current = current;
  }
}

/** The requested revision is older than the history that is kept. */
export class RevisionCompacted extends Error {
  readonly wanted: number;
  readonly compacted: number;

  constructor(wanted: number, compacted: number) {
    super(`revision ${wanted} is compacted, the oldest kept is ${compacted}`);
    this.name = 'RevisionCompacted';
    this.wanted = wanted;
    this.compacted = compacted;
  }
}

/** The disk is full: nothing of this write was kept. Reading is not affected, and the next write is tried again. */
export class StoreFull extends Error {
  constructor(cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `the store cannot be written: ${why}; objects can still be read, and writes work again when its disk has room`,
      { cause },
    );
    this.name = 'StoreFull';
  }
}

export function keyText({ group, resource, namespace, name }: Key): string {
  return [group, resource, namespace, name].filter((part) => part !== '').join('/');
}
