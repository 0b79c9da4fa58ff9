/**
 * The kubelet that runs, and the one place that restarts it with another config. A restart only stops the kubelet: its exit lets the
 * agent start the next one, with the config chosen here, or with another choice where something else was decided meanwhile.
 */
import { formatRef } from '../api/config-ref.js';
import type { Clock } from '../clock.js';
import { type Choice, type ChooseParts, chooseOrWait } from './choose.js';
import type { KubeletDriver } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { KubeletRun } from './kubelet-run.js';
import { type Baseline, type NodeView, takeBaseline } from './trial/health.js';

export interface CurrentRunOptions extends ChooseParts {
  driver: KubeletDriver;
  hostFiles: HostFiles;
  clock: Clock;
  /** Undefined until there is a kubeconfig. */
  view(): NodeView | undefined;
  /** Other records name what runs; the kubelet is not restarted. */
  onMoved(run: KubeletRun): void;
  /** The kubelet is about to be stopped, for `run.next`. */
  onRestart(run: KubeletRun, next: Choice): void;
}

/** It is taken while the config is validated. */
type TakenBaseline = Promise<Baseline | undefined> | undefined;

export class CurrentRun {
  readonly #options: CurrentRunOptions;
  #run: KubeletRun | undefined;
  /** The run before, while the next has not started. */
  #exited: KubeletRun | undefined;
  #changes = 0;
  /** The agent is to stop, or the run is over. */
  #over: AbortSignal = new AbortController().signal;
  /** Chosen, and validated, before the kubelet was stopped. */
  #next: { choice: Choice; changes: number; binary: string } | undefined;
  /** Ends the pause after a crash: another config should run. */
  #wake = new AbortController();
  #baseline: Baseline = { nodeReady: false, apiAnswered: false, staticPods: false };

  constructor(options: CurrentRunOptions) {
    this.#options = options;
  }

  /** Undefined while no kubelet runs. */
  get run(): KubeletRun | undefined {
    return this.#run;
  }

  /** What runs, or ran last. */
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

  begin(run: KubeletRun, over: AbortSignal): void {
    this.#run = run;
    this.#over = over;
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
    return isValid ? next.choice : chooseOrWait(this.#options, signal);
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

  /** Lets run what should run. The same bytes are not restarted: only the records move. True when another config starts. */
  async applyChoice(prepared: { next?: Choice | undefined; baseline?: TakenBaseline } = {}): Promise<boolean> {
    const run = this.#run;
    const changes = ++this.#changes;
    this.wake();
    if (run === undefined) return true;
    const next = prepared.next ?? (await chooseOrWait(this.#options, this.#over));
    if (next === undefined || run !== this.#run) return true;
    if (!run.isRunning(next)) return this.restart(run, next, { changes, baseline: prepared.baseline });
    run.moveTo(next);
    run.saveTrial();
    this.#options.onMoved(run);
    return false;
  }

  /** False where what runs is right again. */
  async restart(
    run: KubeletRun,
    chosen: Choice,
    { changes = this.#changes, baseline: taken }: { changes?: number; baseline?: TakenBaseline | undefined } = {},
  ): Promise<boolean> {
    const { driver, log, onRestart } = this.#options;
    if (run !== this.#run) return true;
    const isOther = !run.isRunning(chosen);
    let next = chosen;
    this.#next = { choice: next, changes, binary: driver.fingerprint() };
    const [isStopping, baseline] = await Promise.all([driver.isHostStopping(), taken ?? this.takeBaseline()]);
    if (isStopping) {
      log.info('the machine is going down, the kubelet is not restarted');
      return true;
    }
    // Another change came while the API server was asked.
    for (let decided = changes; decided !== this.#changes && run === this.#run; ) {
      decided = this.#changes;
      next = (await chooseOrWait(this.#options, this.#over)) ?? chosen;
      if (run === this.#run) this.#next = { choice: next, changes: decided, binary: driver.fingerprint() };
    }
    // It exited meanwhile, and the next one was chosen after the change.
    if (run !== this.#run) return true;
    if (isOther && run.isRunning(next)) {
      this.#next = undefined;
      run.saveTrial();
      return false;
    }
    run.next = next;
    if (baseline) this.#baseline = baseline;
    onRestart(run, next);
    log.info('kubelet restarts', { config: formatRef(next.source, 'log'), rank: next.rank });
    await driver.stop();
    return true;
  }
}
