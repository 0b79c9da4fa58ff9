/**
 * Deadlines of the same length for many owners, with one timer: a timer for each body would cost more than reading most
 * of them.
 */
import type { Clock } from '../../../clock.js';

export class Deadlines {
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #closed = new AbortController();
  /** In the order of adding, which is the order of expiry. */
  readonly #waiting = new Map<object, { at: number; expire: () => void }>();
  #isRunning = false;

  constructor(clock: Clock, afterMs: number) {
    this.#clock = clock;
    this.#afterMs = afterMs;
  }

  add(owner: object, expire: () => void): void {
    this.#waiting.set(owner, { at: this.#clock.monotonic() + this.#afterMs, expire });
    if (!this.#isRunning) void this.#run();
  }

  delete(owner: object): void {
    this.#waiting.delete(owner);
  }

  /** Nothing expires from now on. */
  close(): void {
    this.#waiting.clear();
    this.#closed.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    this.#isRunning = true;
    for (;;) {
      const [next] = this.#waiting.values();
      if (next === undefined || signal.aborted) break;
      // At least a millisecond: timers may be early by a fraction of one.
      await this.#clock.sleep(Math.max(1, next.at - this.#clock.monotonic()), signal).catch(() => {});
      const now = this.#clock.monotonic();
      for (const { at, expire } of [...this.#waiting.values()]) if (at <= now) expire();
    }
    this.#isRunning = false;
  }
}
