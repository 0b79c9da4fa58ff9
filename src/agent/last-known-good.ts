/** Promotes the config that passed its trial to last known good: in the records, and in every part that keeps a copy (`RunPart.kept`). */
import { type ExactRef, formatRef } from '../api/config-ref.js';
import type { Log } from '../log.js';
import type { KubeletRun } from './kubelet-run.js';
import type { NodeReport } from './report/node-report.js';
import type { RunPart } from './run-part.js';
import type { NodeState } from './state/node-state.js';
import { garbageCollect, keepAsLastKnownGood, passTrial } from './transitions.js';
import { noteHealthy } from './trial/boot-crash.js';
import { trialRecord } from './trial/trial.js';

export interface LastKnownGoodOptions {
  state: NodeState;
  driver: { bootId(): string };
  parts: readonly RunPart[];
  report: NodeReport;
  log: Log;
}

export class LastKnownGood {
  readonly #options: LastKnownGoodOptions;
  /** Its checkpoint is saved, and no record names it before it is validated. */
  arriving: ExactRef | undefined;

  constructor(options: LastKnownGoodOptions) {
    this.#options = options;
  }

  /** The kubelet is healthy, or other records name its config. Unused checkpoints can be deleted. */
  update(run: KubeletRun): void {
    const { state, report, log } = this.#options;
    if (run.isLastKnownGood()) keepAsLastKnownGood(state, run.choice.source, log);
    garbageCollect(state, log, this.arriving);
    report.update();
    void this.keep(run);
  }

  /** The trial is over, or the minute of health that a last known good needs. True for a trial. */
  passed(run: KubeletRun): boolean {
    const { state, driver, log } = this.#options;
    const { source, rank, document, error } = run.choice;
    const { onTrial } = run;
    if (error === undefined) noteHealthy(state, document.digest, driver.bootId());
    if (onTrial) passTrial(state, run.choice);
    else state.remove(trialRecord);
    // Another config may take its place from now on, on a trial of its own.
    run.endTrial('passed');
    if (onTrial) log.info('trial passed', { config: formatRef(source, 'log'), rank });
    return onTrial;
  }

  /** Does nothing where the config that runs is not last known good. */
  async keep(run: KubeletRun): Promise<void> {
    for (const part of this.#options.parts) if (run.isLastKnownGood()) await part.kept?.(run);
  }
}
