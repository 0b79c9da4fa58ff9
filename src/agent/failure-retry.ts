/**
 * Starts a failed config again without a new assignment: when a file that it names has changed, once when its fallback is healthy, and
 * when its fallback crashes too. trial/retry.ts decides.
 */
import { aborted } from '../aborted.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { failuresOf } from './choose.js';
import type { CurrentRun } from './current-run.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { KubeletRun } from './kubelet-run.js';
import type { RunPart } from './run-part.js';
import type { NodeState } from './state/node-state.js';
import { retry } from './transitions.js';
import { isOutdated, retriesOnce } from './trial/retry.js';
import { forgetFailures, type TrialLimits } from './trial/trial.js';

export interface FailureRetryOptions {
  state: NodeState;
  driver: KubeletDriver;
  hostFiles: HostFiles;
  limits: TrialLimits;
  current: Pick<CurrentRun, 'applyChoice'>;
  clock: Clock;
  log: Log;
}

type Failed = Pick<KubeletRun, 'choice' | 'healthy' | 'onTrial'>;

/** How often the files are compared that a failed config names; nothing reports that they change. */
const compareEveryMs = 30_000;

export class FailureRetry implements RunPart {
  readonly #options: FailureRetryOptions;
  /** Crashes of a fallback in a row, none of them after it was healthy. */
  #fallbackCrashes = 0;
  #wake = new AbortController();

  constructor(options: FailureRetryOptions) {
    this.#options = options;
  }

  /** Compares files only while a failure is recorded. Returns when the signal fires. */
  async during(run: Pick<KubeletRun, 'choice'>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const wake = AbortSignal.any([signal, this.#wake.signal]);
      if (failuresOf(run.choice).length === 0) await aborted(wake);
      else await clock.sleep(compareEveryMs, wake).catch(() => {});
      if (wake.aborted) continue;
      if (failuresOf(run.choice).some(({ failure }) => isOutdated(this.#options, failure))) await this.#again();
    }
  }

  /** The records name another config for the same kubelet. */
  choiceChanged(): void {
    this.#wake.abort();
  }

  /** The fallback is healthy: a config that was last known good is started once more, in case something else was broken. */
  healthy({ choice, sinceStartMs }: Pick<KubeletRun, 'choice' | 'sinceStartMs'>): void {
    const { state, limits, driver, log } = this.#options;
    if (choice.rank !== 'local') return;
    const tookLong = sinceStartMs >= limits.healthDeadlineMs;
    const failed = failuresOf(choice).find(({ failure }) => retriesOnce(failure, { tookLong }));
    if (failed === undefined) return;
    const { key, failure } = failed;
    retry(state, failed, { key, deaths: limits.failedStarts - 1, bootId: driver.bootId() });
    log.info('fallback healthy, starting the last known good again', { cause: failure.cause });
    void this.#again();
  }

  /**
   * True when the fallback crashes as often as the config before it: something else is broken, such as
   * the container runtime, and what failed may be tried again.
   */
  crashed({ choice, healthy, onTrial }: Failed): boolean {
    const { state, limits, log } = this.#options;
    const isFallback = choice.error !== undefined && !onTrial;
    this.#fallbackCrashes = isFallback && !healthy ? this.#fallbackCrashes + 1 : 0;
    if (this.#fallbackCrashes < limits.failedStarts) return false;
    this.#fallbackCrashes = 0;
    forgetFailures(state);
    log.warn('fallback crashes too, config will be retried');
    return true;
  }

  async #again(): Promise<void> {
    const { current, log } = this.#options;
    await current.applyChoice().catch((error) => log.error('retry failed', { error }));
  }
}
