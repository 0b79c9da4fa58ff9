/**
 * Rolls back from a failed config to another one. For a kubelet in its own unit, the first step is to hand over to systemd, which needs
 * no memory and no CPU of the agent: the failed config may leave the agent neither.
 *
 *   failed ─► handed over to systemd ─► the kubelet runs with another config: logged, event sent
 *                     └─ not within 30 s: logged, reported, handed over again, until it does
 */
import { ConfigError } from '../api/config-error.js';
import { type ExactRef, formatRef } from '../api/config-ref.js';
import { betaError } from '../api/upstream-words.js';
import { type Clock, rfc3339, withinMs } from '../clock.js';
import type { Log } from '../log.js';
import { fallbackOf } from './candidates.js';
import { hasBytesOfLastKnownGood } from './choose.js';
import type { Documents } from './documents.js';
import type { KubeletDriver, Notice } from './drivers/driver.js';
import type { HostFiles } from './host-files.js';
import type { KubeletRun } from './kubelet-run.js';
import { type EventText, rolledBack } from './report/events.js';
import type { NodeReport } from './report/node-report.js';
import type { RunPart } from './run-part.js';
import type { NodeState } from './state/node-state.js';
import { failTrial } from './transitions.js';
import { noteFailed } from './trial/boot-crash.js';
import { environmentOf, pathsIn } from './trial/retry.js';
import type { TrialFailure } from './trial/trial.js';

export interface RollbackOptions {
  state: NodeState;
  driver: Pick<KubeletDriver, 'bootId' | 'fingerprint' | 'unit'>;
  hostFiles: Pick<HostFiles, 'contentOf'>;
  documents: Pick<Documents, 'localFiles'>;
  report: NodeReport;
  send(event: EventText): void;
  clock: Clock;
  log: Log;
}

interface FailedConfig {
  source: ExactRef | undefined;
  /** For people. */
  error: string;
  cause: string;
}

const patienceMs = 30_000;
/** An answer of systemd takes milliseconds. */
const handOverMs = 5000;

export class Rollback implements RunPart {
  readonly #options: RollbackOptions;
  #pending: { failed: FailedConfig; over: AbortController } | undefined;
  #notice: Notice | undefined;

  constructor(options: RollbackOptions) {
    this.#options = options;
  }

  notices(): Notice[] {
    return this.#notice === undefined ? [] : [this.#notice];
  }

  /** Returns when systemd has the request, or does not answer. Throws only if the failure cannot be recorded. */
  async begin(run: KubeletRun, failure: TrialFailure): Promise<void> {
    const { clock, log } = this.#options;
    this.#record(run, failure);
    const { reason, cause } = failure;
    const failed = { source: run.choice.source, error: betaError(new ConfigError(reason, cause)), cause };
    this.#pending?.over.abort();
    const over = new AbortController();
    this.#pending = { failed, over };
    log.error('config failed, rolling back', fieldsOf(failed));
    void this.#repeat(failed, over.signal);
    await withinMs(clock, handOverMs, this.#handOver(failed));
  }

  #record(run: KubeletRun, failure: TrialFailure): void {
    const { state, driver, documents, clock } = this.#options;
    const { choice } = run;
    const { text, digest, mergedDigest } = choice.document;
    const merged = mergedDigest === undefined ? [] : documents.localFiles().map(({ path }) => path);
    const environment = environmentOf(this.#options, [...pathsIn(text), ...merged]);
    const now = clock.now();
    if (hasBytesOfLastKnownGood(state, choice))
      noteFailed(state, digest, driver.bootId(), { at: rfc3339(now), cause: failure.cause });
    failTrial(state, choice, failure, { at: new Date(now), environment });
    run.endTrial('failed');
  }

  /** The kubelet runs with another config, which was chosen last. */
  started({ choice }: KubeletRun): void {
    const { send, log } = this.#options;
    if (this.#pending === undefined) return;
    const { failed, over } = this.#pending;
    this.#pending = undefined;
    this.#notice = undefined;
    over.abort();
    log.error('config rolled back', { ...fieldsOf(failed), runs: formatRef(choice.source, 'log') });
    send(rolledBack(failed.source, failed.error, failed.cause));
  }

  /** Called when the agent ends. A rollback that systemd has taken over continues. */
  stop(): void {
    this.#pending?.over.abort();
  }

  async #repeat(failed: FailedConfig, signal: AbortSignal): Promise<void> {
    const { driver, report, clock, log } = this.#options;
    for (let seconds = patienceMs / 1000; ; seconds += patienceMs / 1000) {
      await clock.sleep(patienceMs, signal).catch(() => {});
      if (signal.aborted) return;
      log.error('rollback not complete, trying again', { ...fieldsOf(failed), seconds });
      const message = `not complete after ${seconds} s, relet asks systemd again`;
      if (driver.unit) this.#notice = { reason: 'RollbackPending', message };
      report.update();
      await this.#handOver(failed);
    }
  }

  async #handOver({ source }: FailedConfig): Promise<void> {
    const { state, driver, log } = this.#options;
    try {
      if (await driver.unit?.rollBack(fallbackOf(state, source))) log.info('rollback handed over to systemd');
    } catch (error) {
      log.error('rollback cannot be handed over to systemd', { error });
    }
  }
}

const fieldsOf = ({ source, error, cause }: FailedConfig) => ({ config: formatRef(source, 'log'), error, cause });
