/**
 * Virtual time. The clock jumps to the next sleeper once nothing else is left to run, so ten minutes of a trial cost only the work that
 * is done in them.
 *
 * Promises and ticks that are ready all run before Node's next turn, so one turn of the event loop means that nothing is left to happen
 * now. Nothing else may use the event loop: no timer, no file, no socket (traps.ts).
 */
import type { Clock } from '../../clock.js';

interface Sleeper {
  atMs: number;
  /** Among those of the same moment. */
  order: number;
  wake: (() => void) | undefined;
}

// Taken when the module is loaded: traps replace the global one later.
const nextTurn = setImmediate;

export class VirtualClock implements Clock {
  #monotonicMs = 0;
  #offsetMs: number;
  /** A binary heap. */
  readonly #heap: Sleeper[] = [];
  #asleep = 0;
  #count = 0;
  readonly #tieBreak: (() => number) | undefined;

  /** With `tieBreak`, sleepers of the same moment wake in an order by chance; without it, in the order in which they fell asleep. */
  constructor(now: string | number = '2026-01-01T00:00:00Z', tieBreak?: () => number) {
    this.#offsetMs = new Date(now).getTime();
    this.#tieBreak = tieBreak;
  }

  now(): number {
    return this.#offsetMs + this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (Number.isNaN(ms)) throw new RangeError('sleep: not a number of milliseconds');
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        sleeper.wake = undefined;
        this.#asleep--;
        this.#dropWoken();
        reject(signal?.reason);
      };
      const order = this.#tieBreak === undefined ? this.#count++ : this.#tieBreak();
      const sleeper: Sleeper = {
        // In whole milliseconds, as real timers: a remainder that rounds to nothing would be slept for ever.
        atMs: this.#monotonicMs + Math.ceil(Math.max(0, ms)),
        order,
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          this.#asleep--;
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#asleep++;
      push(this.#heap, sleeper);
    });
  }

  /** Moves time, waking sleepers in their order and letting everything happen in between. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    for (;;) {
      await this.settle();
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      pop(this.#heap);
      if (next.wake === undefined) continue;
      this.#monotonicMs = Math.max(this.#monotonicMs, next.atMs);
      next.wake();
    }
    this.#monotonicMs = untilMs;
    await this.settle();
  }

  /** Runs all work that needs no time to pass. */
  settle(): Promise<void> {
    return new Promise((resolve) => void nextTurn(resolve));
  }

  /** The wall clock jumps; durations do not. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** How long each sleeper still sleeps, shortest first. */
  get sleeping(): number[] {
    return this.#heap
      .filter(({ wake }) => wake !== undefined)
      .map(({ atMs }) => atMs - this.#monotonicMs)
      .sort((a, b) => a - b);
  }

  /** Most sleepers are time limits that never end: their places are given back once they are the most. */
  #dropWoken(): void {
    if (this.#heap.length < 1024 || this.#heap.length < 2 * this.#asleep) return;
    const kept = this.#heap.filter(({ wake }) => wake !== undefined).sort((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#heap.splice(0, this.#heap.length, ...kept);
  }
}

const isBefore = (a: Sleeper, b: Sleeper) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

function push(heap: Sleeper[], sleeper: Sleeper): void {
  let at = heap.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(sleeper, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = sleeper;
}

function pop(heap: Sleeper[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}
