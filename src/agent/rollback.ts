/**
 * A rollback from the failure of a config to the start of another one. Where the kubelet is in a unit of its own, the first step is to
 * let systemd do it: that needs neither memory nor CPU of the agent, and a config may leave the agent neither.
 *
 *   failed ─► handed over to systemd ─► the kubelet runs with another config: logged, event sent
 *                     └─ not within 30 s: logged, reported, handed over again, until it does
 */
import { type ExactRef, formatRef } from '../api/config-ref.js';
import { type Clock, withinMs } from '../clock.js';
import type { Log } from '../log.js';
import { fallbackOf } from './choose.js';
import type { KubeletUnit, Notice } from './drivers/driver.js';
import type { NodeState } from './state/node-state.js';

export interface RollbackOptions {
  state: NodeState;
  /** Set if the kubelet has a unit of its own. */
  unit: KubeletUnit | undefined;
  clock: Clock;
  log: Log;
  /** Called when notices() returns something else. */
  onChange(): void;
  onDone(failed: FailedConfig): void;
}

export interface FailedConfig {
  source: ExactRef | undefined;
  /** For people. */
  error: string;
  cause: string;
}

const patienceMs = 30_000;
/** An answer of systemd takes milliseconds. */
const handOverMs = 5000;

export class Rollback {
  readonly #options: RollbackOptions;
  #pending: { failed: FailedConfig; over: AbortController } | undefined;
  #notice: Notice | undefined;

  constructor(options: RollbackOptions) {
    this.#options = options;
  }

  notices(): Notice[] {
    return this.#notice === undefined ? [] : [this.#notice];
  }

  /** Returns when systemd has been asked, or does not answer. Never rejects. */
  async begin(failed: FailedConfig): Promise<void> {
    const { clock, log } = this.#options;
    this.#pending?.over.abort();
    const over = new AbortController();
    this.#pending = { failed, over };
    log.error('config failed, rolling back', fieldsOf(failed));
    void this.#repeat(failed, over.signal);
    await withinMs(clock, handOverMs, this.#handOver(failed));
  }

  /** The kubelet runs with the config that was chosen last. */
  started(source: ExactRef | undefined): void {
    const { log, onDone } = this.#options;
    if (this.#pending === undefined) return;
    const { failed, over } = this.#pending;
    this.#pending = undefined;
    this.#notice = undefined;
    over.abort();
    log.error('config rolled back', { ...fieldsOf(failed), runs: formatRef(source, 'log') });
    onDone(failed);
  }

  /** The agent ends; what was handed over continues. */
  stop(): void {
    this.#pending?.over.abort();
  }

  async #repeat(failed: FailedConfig, signal: AbortSignal): Promise<void> {
    const { unit, clock, log, onChange } = this.#options;
    for (let seconds = patienceMs / 1000; ; seconds += patienceMs / 1000) {
      await clock.sleep(patienceMs, signal).catch(() => {});
      if (signal.aborted) return;
      log.error('rollback not complete, trying again', { ...fieldsOf(failed), seconds });
      const by = unit === undefined ? 'relet tries again' : 'relet asks systemd again';
      this.#notice = { reason: 'RollbackPending', message: `not complete after ${seconds} s, ${by}` };
      onChange();
      await this.#handOver(failed);
    }
  }

  async #handOver({ source }: FailedConfig): Promise<void> {
    const { state, unit, log } = this.#options;
    try {
      if (await unit?.rollBack(fallbackOf(state, source))) log.info('rollback handed over to systemd');
    } catch (error) {
      log.error('rollback cannot be handed over to systemd', { error });
    }
  }
}

const fieldsOf = ({ source, error, cause }: FailedConfig) => ({ config: formatRef(source, 'log'), error, cause });
