/**
 * Detaches relet from the host when the assignment requests it: once the kubelet is healthy with its local config, relet's files are
 * removed and the kubelet keeps running. A node that is assigned a config again is attached again.
 */
import { type Clock, rfc3339 } from '../clock.js';
import type { Log } from '../log.js';
import type { KubeletDriver, KubeletUnit } from './drivers/driver.js';
import type { KubeletRun } from './kubelet-run.js';
import { detachRecord } from './requests.js';
import type { RunPart } from './run-part.js';
import type { NodeState } from './state/node-state.js';
import type { Instruction } from './sync/reference.js';

export interface DetachOptions {
  state: NodeState;
  unit: Pick<KubeletUnit, 'detach'>;
  driver: Pick<KubeletDriver, 'stop'>;
  /** relet ends when it has left. */
  isOnlyTask: boolean | undefined;
  clock: Clock;
  log: Log;
}

export class Detach implements RunPart {
  readonly #options: DetachOptions;
  #cannotRunLocal = false;

  constructor(options: DetachOptions) {
    this.#options = options;
  }

  /** Exit code of relet where this is its only task: 0 when it is done, 1 where the local config cannot run. */
  get exitCode(): number | undefined {
    if (!this.#options.isOnlyTask) return undefined;
    return this.isDone ? 0 : this.#cannotRunLocal ? 1 : undefined;
  }

  healthy(run: KubeletRun): void {
    const { isOnlyTask, driver } = this.#options;
    if (!isOnlyTask || run.choice.source === undefined) return;
    this.#cannotRunLocal = true;
    void driver.stop();
  }

  get isDone(): boolean {
    return this.#options.state.read(detachRecord)?.done !== undefined;
  }

  /** True when relet was to leave, or had left, and is to be here again. */
  note(instruction: Instruction): boolean {
    const { state } = this.#options;
    const isAsked = instruction.kind === 'local' && instruction.detach === true;
    const wasAsked = state.read(detachRecord) !== undefined;
    if (isAsked && !wasAsked) state.write(detachRecord, {});
    if (!isAsked && wasAsked) state.remove(detachRecord);
    return !isAsked && wasAsked;
  }

  /** Detaches if that was requested and the local config is the kept one. */
  async kept(run: KubeletRun): Promise<void> {
    const { state, unit, driver, clock, log } = this.#options;
    const asked = state.read(detachRecord);
    if (asked === undefined || this.isDone) return;
    if (run.choice.source !== undefined || !run.isLastKnownGood()) return;
    try {
      await unit.detach();
    } catch (error) {
      return log.error('detach failed, will retry with the next change', { error });
    }
    state.write(detachRecord, { done: rfc3339(clock.now()) });
    log.info("detached: relet's files are removed, the kubelet runs with its local config");
    await driver.stop();
  }
}
