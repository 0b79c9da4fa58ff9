/** The store: an index of the newest state, the recent past, and a journal that holds the bytes (memory or disk). */
import type { Clock } from '../../../clock.js';
import { History } from './history.js';
import type { Journal, JournalRecord, RecordHead } from './journal.js';
import { type Entry, KeyIndex, memberId } from './key-index.js';
import {
  type Change,
  type Key,
  keyText,
  type ListRange,
  type Page,
  RevisionCompacted,
  RevisionConflict,
  type Scope,
  type Store,
  type Stored,
  type StoreEvent,
  StoreFull,
} from './store.js';
import { Subscriptions } from './subscriptions.js';

export interface HistoryLimits {
  /** Events are kept at least this long, unless there are too many. Default 10 minutes. */
  keepMs?: number;
  /** At most so many events. Default 50,000. */
  keepEvents?: number;
  /** At most so many bytes of past states. Default 64 MiB. */
  keepBytes?: number;
}

interface Pending {
  record: JournalRecord;
  resolve(stored: Stored): void;
  reject(error: unknown): void;
}

export class RevisionStore implements Store {
  revision = 1;
  compacted = 0;
  failure: Error | undefined;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #limits: Required<HistoryLimits>;
  readonly #index = new KeyIndex();
  readonly #history = new History();
  readonly #subscriptions = new Subscriptions();
  /** The newest writes that are not durable yet, by key text; deleted objects are marked by their record. */
  readonly #pending = new Map<string, JournalRecord>();
  #queue: Pending[] = [];
  /** Ends with the error that ended it, if any. */
  #flushing: Promise<Error | undefined> | undefined;
  /** The last revision given out; ahead of `revision` while writes are under way. */
  #last = 1;
  #compacting: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(journal: Journal, clock: Clock, limits: HistoryLimits = {}) {
    this.#journal = journal;
    this.#clock = clock;
    this.#limits = { keepMs: 600_000, keepEvents: 50_000, keepBytes: 64 << 20, ...limits };
    const { compacted, records } = journal.load();
    this.compacted = compacted;
    for (const record of records) {
      this.#apply(record);
      if (record.revision > compacted) this.#history.push(record);
      this.#last = Math.max(this.#last, record.revision);
    }
    // A compacted deletion leaves no record, yet its revision was given out.
    this.#last = Math.max(this.#last, compacted);
    this.revision = this.#last;
  }

  get(key: Key): Stored | undefined {
    const entry = this.#index.get(key);
    return entry && this.#stored(entry);
  }

  latest(key: Key): Stored | undefined {
    const pending = this.#pending.get(keyText(key));
    if (pending === undefined) return this.get(key);
    return pending.type === 'deleted' ? undefined : pending;
  }

  list(scope: Scope, { limit = 0, after, revision = this.revision }: ListRange = {}): Page {
    if (revision < this.compacted) throw new RevisionCompacted(revision, this.compacted);
    if (scope.name !== undefined && scope.namespace !== undefined) {
      const stored = this.get({ ...scope, namespace: scope.namespace, name: scope.name });
      if (revision >= this.revision || (stored !== undefined && stored.revision <= revision)) {
        return { items: stored === undefined ? [] : [stored], revision, more: false, remaining: 0 };
      }
    }
    const { entries, remaining } =
      revision >= this.revision
        ? this.#index.range(scope, after, scope.name === undefined ? limit : 0)
        : this.#past(scope, after, limit, revision);
    const named = scope.name === undefined ? entries : entries.filter((entry) => entry.key.name === scope.name);
    return { items: named.map((entry) => this.#stored(entry)), revision, more: remaining > 0, remaining };
  }

  snapshot(): { revision: number; items: Stored[] } {
    return { revision: this.revision, items: this.#index.all().map((entry) => this.#stored(entry)) };
  }

  count(scope: Scope): number {
    return this.#index.range(scope, undefined, 0).entries.length;
  }

  write(change: Change): Promise<Stored> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const current = this.latest(change.key);
    if ((current?.revision ?? 0) !== change.expected) {
      return Promise.reject(new RevisionConflict(change.key, current));
    }
    const revision = this.#last + 1;
    const bytes = change.encode(revision);
    this.#last = revision;
    const record: JournalRecord = {
      revision,
      type: change.delete ? 'deleted' : current === undefined ? 'created' : 'updated',
      key: change.key,
      previous: change.expected,
      time: this.#clock.now(),
      size: bytes.length,
      bytes,
    };
    this.#pending.set(keyText(change.key), record);
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async settled(): Promise<void> {
    while (this.#flushing !== undefined) {
      const error = await this.#flushing;
      if (error !== undefined) throw error;
    }
    if (this.failure !== undefined) throw this.failure;
  }

  *events(scope: Scope, after: number): Generator<StoreEvent> {
    if (after < this.compacted) throw new RevisionCompacted(after, this.compacted);
    for (const record of this.#history.after(after, scope)) yield new Event(record, this.#journal);
  }

  subscribe(scope: Scope, listener: (event: StoreEvent) => void): () => void {
    return this.#subscriptions.add(scope, listener);
  }

  async compact(revision: number): Promise<void> {
    const upTo = Math.min(revision, this.revision);
    if (upTo <= this.compacted) return;
    const forgotten: number[] = [];
    for (const record of this.#history.takeUpTo(upTo)) {
      if (record.previous !== 0) forgotten.push(record.previous);
      if (record.type === 'deleted') forgotten.push(record.revision);
    }
    this.compacted = upTo;
    this.#compacting = this.#compacting.catch(() => {}).then(() => this.#journal.forget(forgotten, upTo));
    await this.#compacting;
  }

  /** Once: by a second time the files may be another store's. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    this.failure ??= new Error('the store is closed');
    await this.#compacting.catch(() => {});
    await this.#journal.close();
  }

  /** Writes what is queued until nothing is; what arrives meanwhile shares the next sync. */
  async #flush(): Promise<Error | undefined> {
    let failed: Error | undefined;
    // Requests that arrived together are read in one turn of the loop: they share the first sync, too.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#journal.append(batch.map(({ record }) => record));
      } catch (error) {
        failed = this.#fail(batch, error);
        break;
      }
      for (const { record, resolve } of batch) resolve(this.#publish(record));
    }
    this.#flushing = undefined;
    this.#compactExcess();
    return failed;
  }

  /** Readers and watchers learn of a write here, and only here. */
  #publish(record: JournalRecord): Stored {
    this.#apply(record);
    const text = keyText(record.key);
    if (this.#pending.get(text) === record) this.#pending.delete(text);
    const { bytes, ...head } = record;
    this.#history.push(head);
    this.revision = record.revision;
    this.#subscriptions.tell(new Event(head, this.#journal, bytes));
    return record;
  }

  #apply(record: RecordHead): void {
    if (record.type === 'deleted') this.#index.delete(record.key);
    else this.#index.set({ key: record.key, revision: record.revision });
  }

  /**
   * What was queued behind a failed write was based on what is not there: it fails too. A full disk is left as it was, so the next
   * write may be tried; after any other error nobody knows what is on the disk.
   */
  #fail(batch: Pending[], cause: unknown): Error {
    const error = cause instanceof StoreFull ? cause : brokenStore(cause);
    if (error !== cause) this.failure = error;
    for (const { reject } of [...batch, ...this.#queue]) reject(error);
    this.#queue = [];
    this.#pending.clear();
    return error;
  }

  #compactExcess(): void {
    const { keepMs, keepEvents, keepBytes } = this.#limits;
    // In steps, so that not every write pays for a compaction.
    const isOver = this.#history.length > keepEvents * 1.1 || this.#history.bytes > keepBytes * 1.1;
    const before = this.#clock.now() - keepMs;
    const isOld = (this.#history.oldest?.time ?? Number.POSITIVE_INFINITY) < before - keepMs / 10;
    if (!isOver && !isOld) return;
    const excess = this.#history.excess({ before, keep: keepEvents, keepBytes });
    if (excess !== undefined) void this.compact(excess.revision).catch(() => {});
  }

  /** The list as it was: what changed since is taken back, by each key's first event after that revision. */
  #past(scope: Scope, after: ListRange['after'], limit: number, revision: number) {
    const undone = new Map<string, RecordHead>();
    for (const record of this.#history.after(revision, scope)) {
      const id = memberId(record.key.namespace, record.key.name);
      if (!undone.has(id)) undone.set(id, record);
    }
    const now = this.#index.range(scope, after, 0).entries;
    const untouched = now.filter(({ key }) => !undone.has(memberId(key.namespace, key.name)));
    const afterId = after === undefined ? '' : memberId(after.namespace, after.name);
    const before: Entry[] = [...undone]
      .filter(([id, { previous }]) => previous !== 0 && id > afterId)
      .map(([, { key, previous }]) => ({ key, revision: previous }));
    const entries = [...untouched, ...before].sort((a, b) =>
      memberId(a.key.namespace, a.key.name) < memberId(b.key.namespace, b.key.name) ? -1 : 1,
    );
    if (limit <= 0 || entries.length <= limit) return { entries, remaining: 0 };
    return { entries: entries.slice(0, limit), remaining: entries.length - limit };
  }

  #stored(entry: Entry): Stored {
    return new LazyStored(entry.key, entry.revision, this.#journal);
  }
}

function brokenStore(cause: unknown): Error {
  return new Error('write to the store failed; nothing more is accepted until the server is started again', { cause });
}

/** Reads its bytes when they are asked for. */
class LazyStored implements Stored {
  readonly key: Key;
  readonly revision: number;
  readonly #journal: Journal;

  constructor(key: Key, revision: number, journal: Journal) {
    this.key = key;
    this.revision = revision;
    this.#journal = journal;
  }

  get bytes(): Buffer {
    return this.#journal.read(this.revision);
  }
}

class Event implements StoreEvent {
  readonly type: StoreEvent['type'];
  readonly key: Key;
  readonly revision: number;
  readonly #journal: Journal;
  readonly #previous: number;
  #bytes: Buffer | undefined;

  constructor(record: RecordHead, journal: Journal, bytes?: Buffer) {
    this.type = record.type;
    this.key = record.key;
    this.revision = record.revision;
    this.#previous = record.previous;
    this.#journal = journal;
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    this.#bytes ??= this.#journal.read(this.revision);
    return this.#bytes;
  }

  get previous(): Buffer | undefined {
    return this.#previous === 0 ? undefined : this.#journal.read(this.#previous);
  }
}
