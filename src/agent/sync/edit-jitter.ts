/** Jitter for edits of a ConfigMap that many nodes share: each node waits for a random part of it before it follows the edit. */
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import type { Clock } from '../../clock.js';
import type { Random } from '../../random.js';

export class EditJitter {
  readonly #clock: Clock;
  readonly #jitterMs: number;
  readonly #random: Random;
  /** When the edit that waits is to be followed. */
  #dueMs: number | undefined;

  constructor(clock: Clock, jitterMs: number, random: Random) {
    this.#clock = clock;
    this.#jitterMs = jitterMs;
    this.#random = random;
  }

  /** How long to wait before following this version; 0 when it is time, or when it is not an edit in place. */
  waitMs(assigned: ExactRef | undefined, wanted: ExactRef | undefined): number {
    if (this.#jitterMs === 0 || !isEdit(assigned, wanted)) {
      this.#dueMs = undefined;
      return 0;
    }
    // A second edit while one waits takes over its place: an edited ConfigMap cannot be put off for ever.
    const atMs = this.#dueMs ?? this.#clock.monotonic() + this.#random.number() * this.#jitterMs;
    const remainingMs = atMs - this.#clock.monotonic();
    this.#dueMs = remainingMs > 0 ? atMs : undefined;
    return Math.max(0, remainingMs);
  }
}

/** The same ConfigMap by name and the same key, but another version; a ConfigMap that was created again counts as well. */
function isEdit(assigned: ExactRef | undefined, wanted: ExactRef | undefined): boolean {
  if (assigned === undefined || wanted === undefined) return false;
  const sameVersion = assigned.uid === wanted.uid && assigned.resourceVersion === wanted.resourceVersion;
  return !sameVersion && formatRef(assigned, 'short') === formatRef(wanted, 'short');
}
