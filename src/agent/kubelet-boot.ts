/**
 * Runs one kubelet from the choice of its config to its exit, and ends its trial. Calls the hooks of the agent's parts (run-part.ts) on
 * the way, in the order of the list.
 */
import { type Clock, withinMs } from '../clock.js';
import type { Choice } from './choose.js';
import type { CurrentRun } from './current-run.js';
import type { Exit, KubeletDriver } from './drivers/driver.js';
import type { KubeletRun, RunListener } from './kubelet-run.js';
import type { LastKnownGood } from './last-known-good.js';
import { type EventText, trialPassed } from './report/events.js';
import type { NodeReport } from './report/node-report.js';
import type { Rollback } from './rollback.js';
import type { RunPart } from './run-part.js';
import type { Baseline } from './trial/health.js';
import type { TrialEnd } from './trial/trial.js';

export interface KubeletBootOptions {
  parts: readonly RunPart[];
  current: CurrentRun;
  lastKnownGood: LastKnownGood;
  rollback: Rollback;
  report: NodeReport;
  createRun(choice: Choice, baseline: Baseline, listener: RunListener): KubeletRun;
  send(event: EventText): void;
  driver: Pick<KubeletDriver, 'isHostStopping'>;
  /** After an exit, how long to wait until it can be seen whether the whole machine shuts down. */
  settleMs: number;
  clock: Clock;
}

/** Work beside a kubelet is awaited at most this long when it has exited. */
const besideMs = 1000;

export class KubeletBoot {
  readonly #options: KubeletBootOptions;

  constructor(options: KubeletBootOptions) {
    this.#options = options;
  }

  /** Config to start next. Undefined if it has to be chosen again. */
  async choose(signal: AbortSignal): Promise<Choice | undefined> {
    const { current, parts } = this.#options;
    const { changes, isRollback } = current;
    let choice = await current.choose(signal);
    for (const part of parts) {
      if (choice === undefined || changes !== current.changes) return undefined;
      if (part.beforeStart) choice = await part.beforeStart(choice, { signal, isRollback });
    }
    return choice;
  }

  /** From its start to its exit. */
  async run(choice: Choice, signal: AbortSignal): Promise<{ run: KubeletRun; exit: Exit }> {
    const { current, parts, lastKnownGood, report, createRun, clock } = this.#options;
    const over = new AbortController();
    const run = createRun(choice, current.baseline, {
      onStarted: (started) => {
        for (const part of parts) part.started?.(started);
      },
      onChange: () => report.update(),
      onHealthy: (healthy) => {
        for (const part of parts) part.healthy?.(healthy, over.signal);
        lastKnownGood.update(healthy);
      },
      onTrialEnd: (ended, end) => this.#endTrial(ended, end),
    });
    current.begin(run, AbortSignal.any([signal, over.signal]));
    report.updateLocal();
    report.update();
    report.counters.kubeletStarts++;
    const beside = parts.map((part) => part.during?.(run, over.signal));
    const exit = await run.untilExit();
    current.end();
    over.abort();
    // One of them may wait for a program on the host, and the next kubelet does not wait for that.
    await withinMs(clock, besideMs, Promise.all(beside));
    return { run, exit };
  }

  /** Handles an exit that was not requested: it may be a crash, and the one that ends the trial. */
  async exited(run: KubeletRun, exit: Exit, signal: AbortSignal): Promise<void> {
    const { current, parts, report, driver, settleMs, clock } = this.#options;
    report.counters.kubeletExits++;
    // A machine that shuts down ends everything at once; a moment later that can be seen.
    await clock.sleep(settleMs, signal).catch(() => {});
    const isStopping = signal.aborted || (await driver.isHostStopping());
    const { crashed, end } = await run.exited(exit, { isStopping });
    if (end) return this.#endTrial(run, end);
    report.update(run);
    if (crashed && parts.some((part) => part.crashed?.(run))) current.changed();
  }

  async #endTrial(run: KubeletRun, end: TrialEnd): Promise<void> {
    const { current, lastKnownGood, rollback, report, send } = this.#options;
    if (end.kind === 'failed') {
      await rollback.begin(run, end);
      report.counters.rollbacks++;
      return current.rollBack(run);
    }
    const { source, rank } = run.choice;
    if (lastKnownGood.passed(run)) {
      // A restart under way may have chosen the last known good before it.
      current.changed();
      report.counters.passedTrials++;
      if (source && rank === 'assigned') send(trialPassed(source));
    }
    report.update();
    await lastKnownGood.keep(run);
  }
}
