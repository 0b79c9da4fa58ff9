/** When a change of the config may be followed: the restart limit, and the jitter of edits. */
import type { ExactRef } from '../api/config-ref.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { Random } from '../random.js';
import { rfc3339 } from '../time.js';
import type { Counters } from './report/metrics.js';
import type { Reporter } from './report/reporter.js';
import { EditJitter } from './sync/edit-jitter.js';
import { RestartLimit } from './sync/restart-limit.js';

export interface ChangePaceOptions {
  options: { inPlaceJitterMs: number; maxRestartDelayMs: number };
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
    const { clock, random } = options;
    this.#limit = new RestartLimit(clock, options.options.maxRestartDelayMs);
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
  }

  /** There is nothing more to follow. */
  settled(): void {
    this.#limit.settled();
  }

  /** An operator on the host asked for something: that is not delayed. */
  reset(): void {
    this.#limit.reset();
  }
}
