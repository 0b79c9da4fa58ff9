/** A clock that flows like the real one, since real processes take real time, and that a test can move ahead by minutes. */
import type { Clock } from '../src/clock.js';

interface Sleeper {
  ms: number;
  atMs: number;
  wake(): void;
  timer: NodeJS.Timeout;
}

/** Time limits of requests are not moved: a jump would end requests that are under way, as if nobody had answered. */
const longestLimitMs = 2000;

export class FlowingClock implements Clock {
  #aheadMs = 0;
  #jumpedMs = 0;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return Date.now() + this.#aheadMs + this.#jumpedMs;
  }

  monotonic(): number {
    return performance.now() + this.#aheadMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const end = () => {
        clearTimeout(sleeper.timer);
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        end();
        reject(signal?.reason);
      };
      const wake = () => {
        end();
        resolve();
      };
      const sleeper: Sleeper = { ms, atMs: this.monotonic() + ms, wake, timer: setTimeout(wake, ms) };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Moves ahead; sleepers that would have woken by then wake now. */
  advance(ms: number): void {
    this.#aheadMs += ms;
    const now = this.monotonic();
    for (const sleeper of [...this.#sleepers]) {
      if (sleeper.ms <= longestLimitMs) continue;
      if (sleeper.atMs <= now) sleeper.wake();
      else {
        clearTimeout(sleeper.timer);
        sleeper.timer = setTimeout(sleeper.wake, sleeper.atMs - now);
      }
    }
  }

  /** The wall clock jumps; durations do not. */
  jump(ms: number): void {
    this.#jumpedMs += ms;
  }
}
