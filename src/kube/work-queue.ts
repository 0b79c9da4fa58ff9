/**
 * A queue of names. A name waits at most once, is worked on by one worker at a time, and what is added during its work is
 * worked once more afterwards. A pass ends in one of four ways; the queue owns the waiting and retrying.
 */
import type { Clock } from '../clock.js';
import { type Backoff, backoffMs } from './backoff.js';

export type Ending =
  | { kind: 'done' }
  /** Come back after a time, with failures forgotten. */
  | { kind: 'again'; afterMs: number }
  /** Come back after a wait that grows. A pass that throws ends so too. */
  | { kind: 'retry'; error: unknown }
  /** Only a new add brings it back. */
  | { kind: 'give-up'; error: unknown };

export interface WorkQueueOptions {
  clock: Clock;
  work(key: string, signal: AbortSignal): Promise<Ending>;
  signal: AbortSignal;
  /** Passes at the same time. Default 1. */
  workers?: number;
  /** Default 100 ms to 30 s. */
  backoff?: Backoff;
  /** How a retry waits, such as a client's own `pause`. Default: the clock's sleep. */
  pause?(ms: number, signal: AbortSignal): Promise<void>;
  /** Passes started per second over a longer time, and how many may start at once. Default: no limit. */
  rate?: { perSecond: number; burst: number };
  onRetry?(key: string, error: unknown, failures: number, waitMs: number): void;
  onGiveUp?(key: string, error: unknown): void;
  random?: () => number;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  /** Added while worked on. */
  readonly #dirty = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #appointments = new Map<string, { atMs: number; cancel: AbortController }>();
  readonly #takeToken: () => number;
  #outOfTokens = false;
  #stop: () => void = () => {};

  /** Resolves when the signal has fired and the passes under way have ended. */
  readonly stopped: Promise<void> = new Promise((resolve) => {
    this.#stop = resolve;
  });

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#takeToken = createBucket(options.rate, options.clock);
    if (options.signal.aborted) this.#drop();
    else options.signal.addEventListener('abort', () => this.#drop(), { once: true });
  }

  /** Names that wait or are worked on, appointments included. */
  get size(): number {
    return new Set([...this.#waiting, ...this.#working, ...this.#appointments.keys()]).size;
  }

  add(key: string): void {
    if (this.#options.signal.aborted) return;
    this.#appointments.get(key)?.cancel.abort();
    this.#appointments.delete(key);
    (this.#working.has(key) ? this.#dirty : this.#waiting).add(key);
    this.#start();
  }

  /** Not before `ms` from now. A name that already comes sooner stays as it is. */
  addAfter(key: string, ms: number): void {
    this.#appoint(key, ms, (until) => this.#options.clock.sleep(ms, until));
  }

  #appoint(key: string, ms: number, wait: (until: AbortSignal) => Promise<void>): void {
    const { clock, signal } = this.#options;
    const atMs = clock.monotonic() + ms;
    const earlier = this.#appointments.get(key);
    if (signal.aborted || this.#waiting.has(key) || (earlier && earlier.atMs <= atMs)) return;
    earlier?.cancel.abort();
    const cancel = new AbortController();
    this.#appointments.set(key, { atMs, cancel });
    wait(cancel.signal).then(
      () => this.add(key),
      () => {},
    );
  }

  #start(): void {
    const { signal, workers = 1 } = this.#options;
    while (!signal.aborted && !this.#outOfTokens && this.#working.size < workers && this.#waiting.size > 0) {
      const waitMs = this.#takeToken();
      if (waitMs > 0) {
        this.#startAfter(waitMs);
        return;
      }
      const key = this.#waiting.values().next().value!;
      this.#waiting.delete(key);
      this.#working.add(key);
      void this.#pass(key);
    }
  }

  #startAfter(ms: number): void {
    this.#outOfTokens = true;
    this.#options.clock.sleep(ms, this.#options.signal).then(
      () => {
        this.#outOfTokens = false;
        this.#start();
      },
      () => {},
    );
  }

  async #pass(key: string): Promise<void> {
    const { work, signal } = this.#options;
    let ending: Ending;
    try {
      ending = await work(key, signal);
    } catch (error) {
      ending = { kind: 'retry', error };
    }
    this.#working.delete(key);
    if (signal.aborted) {
      this.#drop();
      return;
    }
    this.#settle(key, ending);
    if (this.#dirty.delete(key)) this.add(key);
    this.#start();
  }

  #settle(key: string, ending: Ending): void {
    const { backoff = defaultBackoff, clock, random, onRetry, onGiveUp } = this.#options;
    const { pause = (ms: number, until: AbortSignal) => clock.sleep(ms, until) } = this.#options;
    if (ending.kind !== 'retry') this.#failures.delete(key);
    if (ending.kind === 'again') this.addAfter(key, ending.afterMs);
    if (ending.kind === 'give-up') onGiveUp?.(key, ending.error);
    if (ending.kind !== 'retry') return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const waitMs = backoffMs(failures, backoff, random);
    onRetry?.(key, ending.error, failures, waitMs);
    this.#appoint(key, waitMs, (until) => pause(waitMs, until));
  }

  #drop(): void {
    for (const { cancel } of this.#appointments.values()) cancel.abort();
    this.#appointments.clear();
    this.#waiting.clear();
    if (this.#working.size === 0) this.#stop();
  }
}

const defaultBackoff: Backoff = { initialMs: 100, maxMs: 30_000 };

/** A token bucket: 0 takes one and lets it through, else the time until there is one. */
function createBucket(rate: WorkQueueOptions['rate'], clock: Clock): () => number {
  if (rate === undefined) return () => 0;
  let tokens = rate.burst;
  let atMs = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    tokens = Math.min(rate.burst, tokens + ((now - atMs) / 1000) * rate.perSecond);
    atMs = now;
    // A hair below one is one: rounding must not cost a second sleep.
    if (tokens < 1 - 1e-9) return Math.ceil(((1 - tokens) / rate.perSecond) * 1000);
    tokens -= 1;
    return 0;
  };
}
