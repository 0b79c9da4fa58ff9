/**
 * The kubelet process that runs now, and the only place that restarts it to switch configs. A restart only stops the process: when it
 * has exited, the agent's loop starts the next one, with the config chosen here unless the records have changed in the meantime.
 */
import { aborted } from '../aborted.js';
import { formatRef } from '../api/config-ref.js';
import { type Clock, withinMs } from '../clock.js';
import type { Log } from '../log.js';
import type { Choice, ChooseOptions } from './choose.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { KubeletRun } from './kubelet-run.js';
import { type Baseline, type NodeView, takeBaseline } from './trial/health.js';

export interface CurrentRunOptions {
  /** The config to run now, from disk. */
  choose(signal: AbortSignal, options: ChooseOptions): Promise<Choice>;
  driver: KubeletDriver;
  hostFiles: HostFiles;
  /** Undefined until there is a kubeconfig. */
  view(): NodeView | undefined;
  /** Other records name what runs; the kubelet is not restarted. */
  onMoved(run: KubeletRun): void;
  /** The kubelet is about to be stopped, for `run.next`. */
  onRestart(run: KubeletRun, next: Choice, how: { isReported: boolean }): void;
  clock: Clock;
  log: Log;
}

/** Taken concurrently with validation and not awaited: the config is assigned as soon as it is validated. */
export type TakenBaseline = Promise<Baseline | undefined> | undefined;

export interface Prepared {
  /** Chosen and validated; default: chosen now, from disk. */
  next?: Choice | undefined;
  baseline?: TakenBaseline;
  /** The event about it was sent already. Default false. */
  isReported?: boolean;
  /** How long a restart with this config must wait. Default 0. */
  waitMs?(next: Choice): number;
}

/** The kubelet is restarted, or already runs the config, or will be restarted later: the caller tries again then. */
export type Applied = { kind: 'restarts' } | { kind: 'runs' } | { kind: 'waits'; ms: number };

const stoppingTimeoutMs = 2000;
const chooseAgainMs = 5000;

export class CurrentRun {
  readonly #options: CurrentRunOptions;
  #run: KubeletRun | undefined;
  /** The run before, while the next has not started. */
  #exited: KubeletRun | undefined;
  #changes = 0;
  /** The agent is to stop, or the run is over. */
  #over: AbortSignal = new AbortController().signal;
  /** Chosen and validated before the kubelet was stopped. */
  #next: { choice: Choice; changes: number; binary: string } | undefined;
  /** Ends the pause after a crash, because another config should run. */
  #wake = new AbortController();
  #baseline: Baseline = { nodeReady: false, apiAnswered: false, staticPods: false };
  /** From the failure of a config to the start of another one: the version of the kubelet that has failed. */
  #rollbackFrom: string | undefined;

  constructor(options: CurrentRunOptions) {
    this.#options = options;
  }

  /** Undefined while no kubelet runs. */
  get run(): KubeletRun | undefined {
    return this.#run;
  }

  /** The present run, or the last one. */
  get latest(): KubeletRun | undefined {
    return this.#run ?? this.#exited;
  }

  /** Counts what may alter the choice, so that a boot, a sync and a restart under way notice. */
  get changes(): number {
    return this.#changes;
  }

  /** How the node was before the restart. */
  get baseline(): Baseline {
    return this.#baseline;
  }

  /** A config has failed, and no other one was started since. */
  get isRollback(): boolean {
    return this.#rollbackFrom !== undefined;
  }

  begin(run: KubeletRun, over: AbortSignal): void {
    this.#run = run;
    this.#over = over;
    this.#rollbackFrom = undefined;
  }

  end(): void {
    this.#exited = this.#run;
    this.#run = undefined;
  }

  /** Chosen when the kubelet was stopped for it, or now, from disk. Undefined: aborted. */
  async choose(signal: AbortSignal): Promise<Choice | undefined> {
    const { driver } = this.#options;
    const next = this.#next;
    this.#next = undefined;
    const isValid = next?.changes === this.#changes && next.binary === driver.fingerprint();
    return isValid ? next.choice : this.#chooseNow(signal);
  }

  /** The next start has to choose again. */
  changed(): void {
    this.#changes++;
  }

  /** Until the time is over, or another config should run. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    await this.#options.clock.sleep(ms, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
  }

  wake(): void {
    this.#wake.abort();
  }

  async takeBaseline(): Promise<Baseline | undefined> {
    const { view, hostFiles, clock } = this.#options;
    if (this.#run === undefined) return undefined;
    const { staticPodPath } = this.#run.choice.accepted;
    return takeBaseline({ view: view(), hostFiles, staticPodPath, clock });
  }

  /** Restarts the kubelet with the chosen config. If it runs the same bytes already, only the records and the trial move to the new ref. */
  async applyChoice({ next: chosen, baseline, isReported, waitMs }: Prepared = {}): Promise<Applied> {
    const run = this.#run;
    const changes = ++this.#changes;
    this.wake();
    if (run === undefined) return { kind: 'restarts' };
    const next = chosen ?? (await this.#chooseNow(this.#over));
    if (next === undefined || run !== this.#run) return { kind: 'restarts' };
    if (!run.isRunning(next)) {
      const ms = waitMs?.(next) ?? 0;
      if (ms === 0) return this.restart(run, next, { changes, baseline, isReported });
      run.next = next;
      return { kind: 'waits', ms };
    }
    run.moveTo(next, baseline);
    this.#options.onMoved(run);
    return { kind: 'runs' };
  }

  /** The config of this run has failed. Needs only the disk until its kubelet is stopped: the config may starve the host. */
  async rollBack({ choice: { kubeletVersion } }: KubeletRun): Promise<void> {
    this.#rollbackFrom = kubeletVersion;
    await this.applyChoice();
  }

  /** Waits where no config can be chosen, as while the kubelet's binary is being replaced. Undefined: aborted. */
  async #chooseNow(signal: AbortSignal): Promise<Choice | undefined> {
    const { choose, clock, log } = this.#options;
    while (!signal.aborted) {
      const chosen = new AbortController();
      // A stop does not wait for a kubelet probe.
      const stopped = aborted(AbortSignal.any([signal, chosen.signal])).then(() => undefined);
      try {
        return await Promise.race([choose(signal, { rollbackFrom: this.#rollbackFrom }), stopped]);
      } catch (error) {
        if (signal.aborted) return undefined;
        log.error('no kubelet can be started', { error });
        await clock.sleep(chooseAgainMs, signal).catch(() => {});
      } finally {
        chosen.abort();
      }
    }
    return undefined;
  }

  /** Stops the kubelet for `chosen`. Does not if a change in the meantime makes the running config the right one again. */
  async restart(
    run: KubeletRun,
    chosen: Choice,
    {
      changes = this.#changes,
      baseline: taken,
      isReported = false,
    }: { changes?: number; baseline?: TakenBaseline; isReported?: boolean | undefined } = {},
  ): Promise<Applied> {
    const { driver, log, onRestart } = this.#options;
    if (run !== this.#run) return { kind: 'restarts' };
    const isOther = !run.isRunning(chosen);
    let next = chosen;
    this.#next = { choice: next, changes, binary: driver.fingerprint() };
    const { isRollback } = this;
    const [isStopping, baseline] = await Promise.all([
      this.#isHostStopping(isRollback),
      isRollback ? this.#baselineOfFailed() : (taken ?? this.takeBaseline()),
    ]);
    if (isStopping) {
      log.info('host is shutting down, kubelet not restarted');
      return { kind: 'restarts' };
    }
    // Another change arrived while the baseline was taken.
    for (let decided = changes; decided !== this.#changes && run === this.#run; ) {
      decided = this.#changes;
      next = (await this.#chooseNow(this.#over)) ?? chosen;
      if (run === this.#run) this.#next = { choice: next, changes: decided, binary: driver.fingerprint() };
    }
    // The kubelet exited meanwhile, and its successor was chosen after the change.
    if (run !== this.#run) return { kind: 'restarts' };
    if (isOther && run.isRunning(next)) {
      this.#next = undefined;
      run.saveTrial();
      return { kind: 'runs' };
    }
    run.next = next;
    if (baseline) this.#baseline = baseline;
    onRestart(run, next, { isReported });
    log.info('kubelet restarts', { config: formatRef(next.source, 'log'), rank: next.rank });
    await driver.stop();
    return { kind: 'restarts' };
  }

  /** Baseline after a failed config: the node was not healthy, and the API server is not queried. */
  #baselineOfFailed(): Baseline {
    return { nodeReady: false, apiAnswered: false, staticPods: this.#baseline.staticPods };
  }

  /** A rollback does not wait for a service manager that does not answer. */
  async #isHostStopping(isRollback: boolean): Promise<boolean> {
    const { driver, clock } = this.#options;
    if (!isRollback) return driver.isHostStopping();
    return (await withinMs(clock, stoppingTimeoutMs, driver.isHostStopping())) ?? false;
  }
}
