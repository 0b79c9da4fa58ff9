/**
 * A work queue of keys. A key is queued at most once and reconciled by one worker at a time; a key that is added while it
 * is reconciled is reconciled once more afterwards. The queue owns requeueing, retrying and backoff.
 */
import type { Clock } from '../clock.js';
import type { Random } from '../random.js';
import { type Backoff, backoffMs } from './backoff.js';

export type ReconcileResult =
  | { kind: 'done' }
  /** Reconcile again after a time, with the failure count reset. */
  | { kind: 'requeue'; afterMs: number }
  /** Reconcile again with backoff. A reconciler that throws has this result too. */
  | { kind: 'retry'; error: unknown };

export interface WorkQueueOptions<Key> {
  clock: Clock;
  reconcile(key: Key, signal: AbortSignal): Promise<ReconcileResult>;
  signal: AbortSignal;
  /** Keys with equal ids are the same key. Default: the key as text. */
  idOf?(key: Key): string;
  /** Concurrent reconciles. Default 1. */
  workers?: number;
  /** Default 100 ms to 30 s. */
  backoff?: Backoff;
  /** How a retry waits, such as a client's `waitBeforeRetry`. Default: the clock's sleep. */
  waitBeforeRetry?(ms: number, signal: AbortSignal): Promise<void>;
  onRetry?(key: Key, error: unknown, failures: number, waitMs: number): void;
  random: Random;
}

export class WorkQueue<Key = string> {
  readonly #options: WorkQueueOptions<Key>;
  readonly #queued = new Map<string, Key>();
  readonly #active = new Set<string>();
  /** Added while being reconciled. */
  readonly #dirty = new Map<string, Key>();
  readonly #failures = new Map<string, number>();
  readonly #delayed = new Map<string, { atMs: number; cancel: AbortController }>();
  readonly #idOf: (key: Key) => string;
  #stop: () => void = () => {};

  /** Resolves when the signal has fired and the running reconciles have ended. */
  readonly stopped: Promise<void> = new Promise((resolve) => {
    this.#stop = resolve;
  });

  constructor(options: WorkQueueOptions<Key>) {
    this.#options = options;
    this.#idOf = options.idOf ?? String;
    if (options.signal.aborted) this.#drop();
    else options.signal.addEventListener('abort', () => this.#drop(), { once: true });
  }

  /** Keys that are queued, delayed or being reconciled. */
  get size(): number {
    return new Set([...this.#queued.keys(), ...this.#active, ...this.#delayed.keys()]).size;
  }

  add(key: Key): void {
    if (this.#options.signal.aborted) return;
    const id = this.#idOf(key);
    this.#delayed.get(id)?.cancel.abort();
    this.#delayed.delete(id);
    (this.#active.has(id) ? this.#dirty : this.#queued).set(id, key);
    this.#start();
  }

  /** Not before `ms` from now. No effect on a key that is due sooner. */
  addAfter(key: Key, ms: number): void {
    this.#delay(key, ms, (until) => this.#options.clock.sleep(ms, until));
  }

  #delay(key: Key, ms: number, wait: (until: AbortSignal) => Promise<void>): void {
    const { clock, signal } = this.#options;
    const id = this.#idOf(key);
    const atMs = clock.monotonic() + ms;
    const earlier = this.#delayed.get(id);
    if (signal.aborted || this.#queued.has(id) || (earlier && earlier.atMs <= atMs)) return;
    earlier?.cancel.abort();
    const cancel = new AbortController();
    this.#delayed.set(id, { atMs, cancel });
    wait(cancel.signal).then(
      () => this.add(key),
      () => {},
    );
  }

  #start(): void {
    const { signal, workers = 1 } = this.#options;
    for (const [id, key] of this.#queued) {
      if (signal.aborted || this.#active.size >= workers) return;
      this.#queued.delete(id);
      this.#active.add(id);
      void this.#reconcile(id, key);
    }
  }

  async #reconcile(id: string, key: Key): Promise<void> {
    const { reconcile, signal } = this.#options;
    let result: ReconcileResult;
    try {
      result = await reconcile(key, signal);
    } catch (error) {
      result = { kind: 'retry', error };
    }
    this.#active.delete(id);
    if (signal.aborted) {
      this.#drop();
      return;
    }
    this.#handle(id, key, result);
    const dirty = this.#dirty.get(id);
    if (dirty !== undefined) {
      this.#dirty.delete(id);
      this.add(dirty);
    }
    this.#start();
  }

  #handle(id: string, key: Key, result: ReconcileResult): void {
    if (result.kind !== 'retry') {
      this.#failures.delete(id);
      if (result.kind === 'requeue') this.addAfter(key, result.afterMs);
      return;
    }
    const { backoff = defaultBackoff, clock, random, onRetry } = this.#options;
    const { waitBeforeRetry = (ms: number, until: AbortSignal) => clock.sleep(ms, until) } = this.#options;
    const failures = (this.#failures.get(id) ?? 0) + 1;
    this.#failures.set(id, failures);
    const waitMs = backoffMs(failures, backoff, random);
    onRetry?.(key, result.error, failures, waitMs);
    this.#delay(key, waitMs, (until) => waitBeforeRetry(waitMs, until));
  }

  #drop(): void {
    for (const { cancel } of this.#delayed.values()) cancel.abort();
    this.#delayed.clear();
    this.#queued.clear();
    if (this.#active.size === 0) this.#stop();
  }
}

const defaultBackoff: Backoff = { initialMs: 100, maxMs: 30_000 };
