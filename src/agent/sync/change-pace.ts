/**
 * Rate limits of config changes: the jitter of in-place edits, and the token bucket for kubelet restarts. A change is validated,
 * recorded and reported at once; only the restart for a newly assigned config may wait.
 */
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { type Clock, rfc3339 } from '../../clock.js';
import { isObject } from '../../json.js';
import type { Log } from '../../log.js';
import type { Random } from '../../random.js';
import type { Reporter } from '../report/reporter.js';
import { defineRecord } from '../state/json-record.js';
import type { NodeState } from '../state/node-state.js';

/** Across exits of relet: with --on-change=exit each restart is another relet's. */
interface RestartsRecord {
  /** Unix time at which every restart is free again. */
  fullAtMs: number;
}

// Not durable: without it the next restart is free.
export const restartsRecord = defineRecord('restarts', isRestartsRecord, {
  durable: false,
  formerly: { name: 'burst', convert: () => ({ fullAtMs: 0 }) },
});

export interface RestartLimit {
  /** Restarts that are free at once. Default 10. */
  burst: number;
  /** Time in which one more is free; 0 for no limit. Default 10 s. */
  intervalMs: number;
}

export const defaultRestartLimit: RestartLimit = { burst: 10, intervalMs: 10_000 };

/** A flood of edits is read, validated and reported this often: each time costs three requests. */
const readEveryMs = 1000;

export interface ChangePaceOptions {
  options: { onChange: 'restart' | 'exit'; inPlaceJitterMs: number; restartLimit: RestartLimit };
  state: NodeState;
  reporter: Reporter;
  clock: Clock;
  random: Random;
  log: Log;
}

export class ChangePace {
  readonly #options: ChangePaceOptions;
  readonly #reads: Bucket;
  readonly #restarts: Bucket;
  readonly #jitter: EditJitter;
  #isWaiting = false;

  constructor(options: ChangePaceOptions) {
    this.#options = options;
    const { clock, random, state } = options;
    const { restartLimit, inPlaceJitterMs } = options.options;
    const recorded = state.read(restartsRecord);
    const readLimit = { burst: 10, intervalMs: Math.min(readEveryMs, restartLimit.intervalMs) };
    this.#reads = new Bucket(clock, readLimit);
    this.#restarts = new Bucket(clock, restartLimit, recorded && recorded.fullAtMs - clock.now());
    this.#jitter = new EditJitter(clock, inPlaceJitterMs, random);
  }

  /** How long until the reference is read again. */
  get readWaitMs(): number {
    return this.#reads.waitMs;
  }

  /** How long an edit in place waits for this node's moment. */
  jitterMs(assigned: ExactRef | undefined, wanted: ExactRef | undefined): number {
    return this.#jitter.waitMs(assigned, wanted);
  }

  /** A change was validated and recorded. */
  followed(): void {
    this.#reads.take();
    this.#jitter.followed();
  }

  /** A config is assigned, and the kubelet still runs with another one. */
  get isRestartWaiting(): boolean {
    return this.#isWaiting;
  }

  /** How long a restart with this config must wait. A reset, and a return to a config that was good, never do. */
  restartWaitMs({ rank, source }: { rank: string; source: ExactRef | undefined }): number {
    return rank === 'assigned' && source !== undefined ? this.#restarts.waitMs : 0;
  }

  /** Reports that the restart waits. */
  waits(ms: number): void {
    const { clock, log, reporter } = this.#options;
    const until = rfc3339(clock.now() + ms + 999);
    if (!this.#isWaiting) {
      reporter.counters.delayedRestarts++;
      log.warn('config keeps changing, kubelet restart delayed', { until });
    }
    this.#isWaiting = true;
    reporter.update({ restartDelayedUntil: until });
  }

  /** Sync restarted the kubelet. */
  restarted(): void {
    const { options, state, clock } = this.#options;
    this.settled();
    this.#restarts.take();
    if (options.onChange === 'exit') state.write(restartsRecord, { fullAtMs: clock.now() + this.#restarts.fullInMs });
  }

  /** The kubelet runs with what it should, or is started with it. */
  settled(): void {
    this.#isWaiting = false;
    this.#options.reporter.update({ restartDelayedUntil: undefined });
  }

  /** Requests of an operator on the host are not delayed. */
  reset(): void {
    this.settled();
    this.#reads.fill();
    this.#restarts.fill();
    this.#options.state.remove(restartsRecord);
  }
}

/**
 * `burst` at once, then one in each interval: a token bucket. Nothing is queued: what had to wait is decided again when its time has
 * come, so the newest config wins.
 *
 * Example: burst 10, interval 10 s, a change every second: restarts at 0, 1 … 9 s, the eleventh at 10 s, then one every 10 s.
 */
export class Bucket {
  readonly #clock: Clock;
  readonly #limit: RestartLimit;
  #fullAtMs: number;

  /** `fullInMs` is what the process before has left. */
  constructor(clock: Clock, limit: RestartLimit, fullInMs = 0) {
    this.#clock = clock;
    this.#limit = limit;
    // More than an empty bucket has: the wall clock was set back since.
    const isPossible = fullInMs > 0 && fullInMs <= limit.burst * limit.intervalMs;
    this.#fullAtMs = clock.monotonic() + (isPossible ? fullInMs : 0);
  }

  get fullInMs(): number {
    return Math.max(0, this.#fullAtMs - this.#clock.monotonic());
  }

  /** Until the next one is free. */
  get waitMs(): number {
    const { burst, intervalMs } = this.#limit;
    return Math.max(0, this.fullInMs - (burst - 1) * intervalMs);
  }

  /** Also where none is left: what does not wait counts as well, and an empty bucket stays empty. */
  take(): void {
    const { burst, intervalMs } = this.#limit;
    this.#fullAtMs = this.#clock.monotonic() + Math.min(this.fullInMs + intervalMs, burst * intervalMs);
  }

  fill(): void {
    this.#fullAtMs = this.#clock.monotonic();
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

function isRestartsRecord(value: unknown): value is RestartsRecord {
  return isObject(value) && Number.isFinite(value.fullAtMs);
}
