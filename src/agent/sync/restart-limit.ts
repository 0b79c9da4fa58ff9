/**
 * Limits how often sync restarts the kubelet. The first change is followed at once; while more keep coming, the least
 * distance between two restarts grows (1 s, 2 s, 4 s … the maximum), and a minute without a change ends the burst. Nothing is
 * queued: a change that was delayed is read again when its time has come, so the newest config wins.
 */
import type { Clock } from '../../clock.js';

const firstDistanceMs = 1000;
const quietMs = 60_000;

/** Least distance to the restart before, after this many restarts of one burst. */
export function leastDistanceMs(restarts: number, maxMs: number): number {
  return restarts === 0 ? 0 : Math.min(maxMs, firstDistanceMs * 2 ** (restarts - 1));
}

export class RestartLimit {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #restarts = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  /** A change was seen and not followed yet. */
  #pending = false;

  /** `maxMs` 0 turns the limit off. */
  constructor(clock: Clock, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** How long the change that was seen before must still wait; 0 when none waits. */
  get remainingMs(): number {
    if (!this.#pending) return 0;
    return Math.max(0, this.#lastMs + leastDistanceMs(this.#restarts, this.#maxMs) - this.#clock.monotonic());
  }

  /** There is a change to follow. How long it must wait. */
  waitMs(): number {
    // Asked only of the first change after a restart: with changes that never end, the longest distance is not a quiet time.
    if (!this.#pending && this.#clock.monotonic() - this.#lastMs >= quietMs) this.#restarts = 0;
    this.#pending = true;
    return this.remainingMs;
  }

  /** There is nothing, or nothing more, to follow. */
  settled(): void {
    this.#pending = false;
  }

  /** Sync restarted the kubelet. */
  restarted(): void {
    this.#restarts++;
    this.#lastMs = this.#clock.monotonic();
    this.#pending = false;
  }

  /** After a request of an operator on the host, which is never delayed, nor are its consequences. */
  reset(): void {
    this.#restarts = 0;
    this.#pending = false;
  }
}
