/** The store: the newest states and the recent events in memory, and a journal that makes writes durable. */
import type { Clock } from '../../clock.js';
import { History, type State } from './history.js';
import type { Batch, Journal } from './journal.js';
import { KeyIndex, memberId } from './key-index.js';
import {
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
  type StoreWrite,
} from './store.js';
import { Subscriptions } from './subscriptions.js';

export interface HistoryLimits {
  /** Events are kept at least this long, unless there are too many. Default 10 minutes. */
  keepMs?: number;
  /** The largest number of events. Default 50,000. */
  keepEvents?: number;
  /** The largest size of all their states. Default 64 MiB. */
  keepBytes?: number;
}

interface Pending {
  state: State;
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
  /** The newest writes that are not durable yet, by key text; a deletion is one of type 'deleted'. */
  readonly #pending = new Map<string, State>();
  #queue: Pending[] = [];
  /** Resolves with the error that ended it, if any. */
  #flushing: Promise<Error | undefined> | undefined;
  /** The last revision assigned; ahead of `revision` while writes are pending. */
  #last = 1;
  /** The value of `compacted` that the journal has. */
  #journalCompacted = 0;
  #closed: Promise<void> | undefined;

  constructor(journal: Journal, clock: Clock, limits: HistoryLimits = {}) {
    this.#journal = journal;
    this.#clock = clock;
    this.#limits = { keepMs: 600_000, keepEvents: 50_000, keepBytes: 64 << 20, ...limits };
    for (const batch of journal.load()) this.#replay(batch);
    this.#journalCompacted = this.compacted;
    // A compacted deletion leaves no record, yet its revision was assigned.
    this.#last = Math.max(this.#last, this.compacted);
    this.revision = this.#last;
  }

  get(key: Key): Stored | undefined {
    return this.#index.get(key);
  }

  latest(key: Key): Stored | undefined {
    return this.#latest(key);
  }

  list(scope: Scope, { limit = 0, after, revision = this.revision }: ListRange = {}): Page {
    if (revision < this.compacted) throw new RevisionCompacted(revision, this.compacted);
    if (scope.name !== undefined && scope.namespace !== undefined) {
      const stored = this.get({ ...scope, namespace: scope.namespace, name: scope.name });
      if (revision >= this.revision || (stored !== undefined && stored.revision <= revision)) {
        return { items: stored === undefined ? [] : [stored], revision, more: false, remaining: 0 };
      }
    }
    const { states, remaining } =
      revision >= this.revision
        ? this.#index.range(scope, after, scope.name === undefined ? limit : 0)
        : this.#rangeAt(revision, scope, after, limit);
    const items = scope.name === undefined ? states : states.filter((state) => state.key.name === scope.name);
    return { items, revision, more: remaining > 0, remaining };
  }

  snapshot(): { revision: number; items: Stored[] } {
    return { revision: this.revision, items: this.#index.all() };
  }

  count(scope: Scope): number {
    return this.#index.range(scope, undefined, 0).states.length;
  }

  write(change: StoreWrite): Promise<Stored> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const current = this.#latest(change.key);
    if ((current?.revision ?? 0) !== change.expected) {
      return Promise.reject(new RevisionConflict(change.key, current));
    }
    const revision = this.#last + 1;
    const bytes = change.encode(revision);
    this.#last = revision;
    const state: State = {
      revision,
      type: change.delete ? 'deleted' : current === undefined ? 'created' : 'updated',
      key: change.key,
      time: this.#clock.now(),
      bytes,
      previous: current,
    };
    this.#pending.set(keyText(change.key), state);
    return new Promise((resolve, reject) => {
      this.#queue.push({ state, resolve, reject });
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
    for (const state of this.#history.after(after, scope)) yield eventOf(state);
  }

  subscribe(scope: Scope, listener: (event: StoreEvent) => void): () => void {
    return this.#subscriptions.add(scope, listener);
  }

  async compact(revision: number): Promise<void> {
    this.#compactTo(Math.min(revision, this.revision));
    this.#flushing ??= this.#flush();
    await this.settled();
  }

  /** Only once: at a second call the files may belong to another store. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    this.failure ??= new Error('the store is closed');
    await this.#journal.close();
  }

  #latest(key: Key): State | undefined {
    const pending = this.#pending.get(keyText(key));
    if (pending === undefined) return this.#index.get(key);
    return pending.type === 'deleted' ? undefined : pending;
  }

  #replay({ compacted, records }: Batch): void {
    this.#compactTo(compacted);
    for (const record of records) {
      const state = { ...record, previous: this.#index.get(record.key) };
      this.#apply(state);
      this.#last = Math.max(this.#last, state.revision);
    }
  }

  /** Writes the queue to the journal until it is empty. Writes that arrive meanwhile share the next batch. */
  async #flush(): Promise<Error | undefined> {
    let failed: Error | undefined;
    // Writes that are made in one go share the first batch, too.
    await Promise.resolve();
    while (this.#queue.length > 0 || this.#journalCompacted < this.compacted) {
      const queued = this.#queue;
      this.#queue = [];
      const batch = { compacted: this.compacted, records: queued.map(({ state }) => state) };
      try {
        await this.#journal.append(batch);
      } catch (error) {
        failed = this.#fail(queued, error);
        break;
      }
      this.#journalCompacted = batch.compacted;
      for (const { state, resolve } of queued) resolve(this.#publish(state));
      this.#journal.shrink(() => this.#contents());
    }
    this.#flushing = undefined;
    this.#compactExcess();
    return failed;
  }

  /** The only place where a write becomes visible to readers and watchers. */
  #publish(state: State): Stored {
    const text = keyText(state.key);
    if (this.#pending.get(text) === state) this.#pending.delete(text);
    const event = eventOf(state);
    this.#apply(state);
    this.revision = state.revision;
    this.#subscriptions.notify(event);
    return state;
  }

  #apply(state: State): void {
    if (state.type === 'deleted') this.#index.delete(state.key);
    else this.#index.set(state);
    if (state.revision > this.compacted) this.#history.push(state);
    else state.previous = undefined;
  }

  /**
   * Writes that were queued behind a failed one may be based on it: they fail too. After a full disk the journal is as before, so the
   * next write may be tried; after any other error its content is not known.
   */
  #fail(queued: Pending[], cause: unknown): Error {
    const error = cause instanceof StoreFull ? cause : writeFailed(cause);
    if (error !== cause) this.failure = error;
    for (const { reject } of [...queued, ...this.#queue]) reject(error);
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
    if (excess !== undefined) this.#compactTo(excess.revision);
  }

  #compactTo(revision: number): void {
    if (revision <= this.compacted) return;
    this.#history.removeUpTo(revision);
    this.compacted = revision;
  }

  /** Everything that a restart needs: the states at `compacted`, and the events since. */
  #contents(): Batch {
    const { compacted } = this;
    const events = [...this.#history.after(compacted)];
    const states = [...this.#index.all(), ...events.flatMap(({ previous }) => previous ?? [])];
    const base = states.filter(({ revision }) => revision <= compacted).sort((a, b) => a.revision - b.revision);
    return { compacted, records: [...base, ...events] };
  }

  /** The list as it was: for each key that changed since, the state before its first event after that revision. */
  #rangeAt(revision: number, scope: Scope, after: ListRange['after'], limit: number) {
    const changed = new Map<string, State>();
    for (const state of this.#history.after(revision, scope)) {
      const id = memberId(state.key.namespace, state.key.name);
      if (!changed.has(id)) changed.set(id, state);
    }
    const now = this.#index.range(scope, after, 0).states;
    const unchanged = now.filter(({ key }) => !changed.has(memberId(key.namespace, key.name)));
    const afterId = after === undefined ? '' : memberId(after.namespace, after.name);
    const before = [...changed].flatMap(([id, { previous }]) =>
      previous !== undefined && id > afterId ? previous : [],
    );
    const states = [...unchanged, ...before].sort((a, b) =>
      memberId(a.key.namespace, a.key.name) < memberId(b.key.namespace, b.key.name) ? -1 : 1,
    );
    if (limit <= 0 || states.length <= limit) return { states, remaining: 0 };
    return { states: states.slice(0, limit), remaining: states.length - limit };
  }
}

function eventOf({ type, key, revision, bytes, previous }: State): StoreEvent {
  return { type, key, revision, bytes, previous: previous?.bytes };
}

function writeFailed(cause: unknown): Error {
  return new Error('write to the store failed; nothing more is accepted until the server is started again', { cause });
}
