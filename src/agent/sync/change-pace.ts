/** When a change of the config may be followed: the restart limit, and the jitter of edits. */
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { type Clock, rfc3339 } from '../../clock.js';
import { isObject } from '../../json.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { Counters } from '../report/metrics.js';
import type { Reporter } from '../report/reporter.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';

/** The restarts of a burst of changes: with --on-change=exit each of them is another relet's. */
interface Burst {
  restarts: number;
  /** Unix time of the last one. */
  atMs: number;
}

// Not durable: without it the next change is followed at once.
export const burstRecord = defineRecord('burst', isBurst, { durable: false });

export interface ChangePaceOptions {
  options: { onChange: 'restart' | 'exit'; inPlaceJitterMs: number; maxRestartDelayMs: number };
  state: NodeState;
  counters: Counters;
  reporter: Reporter;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Change {
  isNew: boolean;
  /** It replaces a config that was rolled back: that is not delayed. */
  isReplacement: boolean;
  assigned: ExactRef | undefined;
  wanted: ExactRef | undefined;
}

export class ChangePace {
  readonly #options: ChangePaceOptions;
  readonly #limit: RestartLimit;
  readonly #jitter: EditJitter;

  constructor(options: ChangePaceOptions) {
    this.#options = options;
    const { clock, random, state } = options;
    this.#limit = new RestartLimit(clock, options.options.maxRestartDelayMs, state.read(burstRecord));
    this.#jitter = new EditJitter(clock, options.options.inPlaceJitterMs, random);
  }

  /** How long the change that was seen before must still wait; 0 when none waits. */
  get remainingMs(): number {
    return this.#limit.remainingMs;
  }

  /** How long this change must wait; reported while it does. */
  waitMs({ isNew, isReplacement, assigned, wanted }: Change): number {
    const { clock, counters, log, reporter } = this.#options;
    const delayMs = isNew && !isReplacement ? this.#limit.waitMs() : 0;
    const until = delayMs > 0 ? rfc3339(clock.now() + delayMs + 999) : undefined;
    if (until !== undefined) {
      counters.delayedChanges++;
      log.warn('config keeps changing, kubelet restart delayed', { until });
    }
    reporter.update({ restartDelayedUntil: until });
    return delayMs || this.#jitter.waitMs(assigned, wanted);
  }

  restarted(): void {
    this.#limit.restarted();
    this.#jitter.followed();
    const { options, state, clock } = this.#options;
    if (options.onChange === 'exit') state.write(burstRecord, { restarts: this.#limit.restarts, atMs: clock.now() });
  }

  /** There is nothing more to follow. */
  settled(): void {
    this.#limit.settled();
    this.#jitter.followed();
  }

  /** An operator on the host asked for something: that is not delayed. */
  reset(): void {
    this.#limit.reset();
    this.#options.state.remove(burstRecord);
  }
}

const firstDistanceMs = 1000;
const quietMs = 60_000;

/** Least distance to the restart before, after this many restarts of one burst. */
export function leastDistanceMs(restarts: number, maxMs: number): number {
  return restarts === 0 ? 0 : Math.min(maxMs, firstDistanceMs * 2 ** (restarts - 1));
}

/**
 * Limits how often sync restarts the kubelet. The first change is followed at once; while more keep coming, the least
 * distance between two restarts grows (1 s, 2 s, 4 s … the maximum), and a minute without a change ends the burst. Nothing is
 * queued: a change that was delayed is read again when its time has come, so the newest config wins.
 */
export class RestartLimit {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #restarts = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  /** A change was seen and not followed yet. */
  #pending = false;

  /** `maxMs` 0 turns the limit off; `burst` is what the process before has counted. */
  constructor(clock: Clock, maxMs: number, burst?: Burst) {
    this.#clock = clock;
    this.#maxMs = maxMs;
    const agoMs = burst && clock.now() - burst.atMs;
    // The wall clock may have been set back since.
    if (burst === undefined || agoMs === undefined || agoMs < 0 || agoMs >= quietMs) return;
    this.#restarts = burst.restarts;
    this.#lastMs = clock.monotonic() - agoMs;
  }

  get restarts(): number {
    return this.#restarts;
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

/** Jitter for edits of a ConfigMap that many nodes share: each node waits for a random part of it before it follows the edit. */
export class EditJitter {
  readonly #clock: Clock;
  readonly #jitterMs: number;
  readonly #random: Random;
  /** When the edit that is not followed yet is to be. */
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
    const nowMs = this.#clock.monotonic();
    // A second edit while one waits takes over its place: an edited ConfigMap cannot be put off for ever.
    this.#dueMs ??= nowMs + this.#random.number() * this.#jitterMs;
    return Math.max(0, this.#dueMs - nowMs);
  }

  /** The next edit waits again. */
  followed(): void {
    this.#dueMs = undefined;
  }
}

/** The same ConfigMap by name and the same key, but another version; a ConfigMap that was created again counts as well. */
function isEdit(assigned: ExactRef | undefined, wanted: ExactRef | undefined): boolean {
  if (assigned === undefined || wanted === undefined) return false;
  const sameVersion = assigned.uid === wanted.uid && assigned.resourceVersion === wanted.resourceVersion;
  return !sameVersion && formatRef(assigned, 'short') === formatRef(wanted, 'short');
}

function isBurst(value: unknown): value is Burst {
  return isObject(value) && Number.isInteger(value.restarts) && typeof value.atMs === 'number';
}
