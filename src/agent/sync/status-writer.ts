/**
 * Writes the newest report to the status, and retries until the API has it. Changes of the active config and of the error are written
 * at once, other changes together. An agent with nothing to report renews its lease.
 */
import { isDeepStrictEqual } from 'node:util';
import { renewMs } from '../../api/agent-lease.js';
import type { ReconcileResult } from '../../kube/work-queue.js';
import { type Report, statusConfig } from '../report/report.js';
import type { Reporter } from '../report/reporter.js';
import { ApiQueue, type ApiQueueOptions } from './api-queue.js';
import type { Reference } from './reference.js';

export interface StatusWriterOptions extends ApiQueueOptions {
  reference: Reference;
  reporter: Reporter;
}

/** Most kubelets answer within this time after a restart: a change is then one write, not two or three. */
const delayMs = 2000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly queue: ApiQueue;
  /** The part of the last report that is written at once. */
  #urgent: object | undefined;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.queue = new ApiQueue('status', options, () => this.#write());
    options.reporter.listen(() => this.#reported());
  }

  /** Called for each new report. */
  #reported(): void {
    const { report } = this.#options.reporter;
    const urgent = report && urgentOf(report);
    const isUrgent = !isDeepStrictEqual(urgent, this.#urgent);
    this.#urgent = urgent;
    if (isUrgent) this.queue.soon();
    else this.queue.after(delayMs);
  }

  /** Runs until the signal fires. The write decides whether a renewal is due. With jitter, since nodes may boot together. */
  async renew(): Promise<void> {
    const { clock, signal, client } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(renewMs * (0.9 + 0.1 * client.random.number()), signal).catch(() => {});
      this.queue.soon();
    }
  }

  async #write(): Promise<ReconcileResult> {
    const { reference, reporter, signal } = this.#options;
    const { report } = reporter;
    if (report !== undefined && (await reference.write(report, signal))) reporter.delivered(report);
    return { kind: 'done' };
  }
}

/** Includes the config: the same error of another config counts as a new one. */
const urgentOf = (report: Report) => {
  const { held, restartDelayedUntil } = report;
  const { assigned, ...config } = statusConfig(report);
  return { ...config, ...(config.error && { assigned }), held, restartDelayedUntil };
};
