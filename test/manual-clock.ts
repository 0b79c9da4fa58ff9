/** A clock that does not move until a test moves it. */
import type { Clock } from '../src/clock.js';

interface Sleeper {
  atMs: number;
  wake(): void;
}

export class ManualClock implements Clock {
  #monotonicMs = 0;
  #offsetMs: number;
  #sleepers: Sleeper[] = [];
  #onSleep: (() => void)[] = [];

  constructor(now: string | number = '2026-01-01T00:00:00Z') {
    this.#offsetMs = new Date(now).getTime();
  }

  now(): number {
    return this.#offsetMs + this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper: Sleeper = {
        atMs: this.#monotonicMs + ms,
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.push(sleeper);
      for (const resume of this.#onSleep.splice(0)) resume();
    });
  }

  /** Moves time, waking sleepers in their order and letting what they do settle in between. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    for (;;) {
      await settle();
      const next = this.#sleepers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#monotonicMs = Math.max(this.#monotonicMs, next.atMs);
      this.#sleepers.splice(this.#sleepers.indexOf(next), 1);
      next.wake();
    }
    this.#monotonicMs = untilMs;
    await settle();
  }

  /** The wall clock jumps; durations do not. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** How long each sleeper still sleeps, shortest first. */
  get sleeping(): number[] {
    return this.#sleepers.map(({ atMs }) => atMs - this.#monotonicMs).sort((a, b) => a - b);
  }

  /** Resolves when someone sleeps for a time that `matches`; at once if someone does. */
  async untilSleeping(matches: (ms: number) => boolean = () => true): Promise<void> {
    while (!this.sleeping.some(matches)) await new Promise<void>((resolve) => this.#onSleep.push(resolve));
  }
}

/** Lets promises and immediates that are ready run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
