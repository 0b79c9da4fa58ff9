/**
 * relet leaves the host when the assignment asks for it: once the kubelet is healthy with its local config, relet's files are removed and
 * the kubelet keeps running. A node that is assigned a config again is attached again.
 */
import { rfc3339 } from '../time.js';
import type { AgentOptions } from './agent-options.js';
import type { KubeletRun } from './kubelet-run.js';
import { detachRecord } from './requests.js';
import type { Instruction } from './sync/reference.js';

type DetachOptions = Pick<AgentOptions, 'state' | 'driver' | 'clock' | 'log'>;

export class Detach {
  readonly #options: DetachOptions;

  constructor(options: DetachOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#options.state.read(detachRecord)?.done !== undefined;
  }

  note(instruction: Instruction): 'asked' | 'attached' {
    const { state } = this.#options;
    const isAsked = instruction.kind === 'local' && instruction.detach === true;
    if (isAsked && state.read(detachRecord) === undefined) state.write(detachRecord, {});
    if (isAsked) return 'asked';
    state.remove(detachRecord);
    return 'attached';
  }

  /** Does nothing where nobody asked for it, or local has not passed its trial. */
  async leave(run: KubeletRun): Promise<void> {
    const { state, driver, clock, log } = this.#options;
    const asked = state.read(detachRecord);
    if (asked === undefined || this.isDone || driver.unit === undefined) return;
    if (run.choice.source !== undefined || !run.isLastKnownGood()) return;
    try {
      await driver.unit.detach();
    } catch (error) {
      return log.error('cannot leave the host, tried again with the next change', { error });
    }
    state.write(detachRecord, { done: rfc3339(clock.now()) });
    log.info("detached: relet's files are removed, the kubelet runs with its local config");
    await driver.stop();
  }
}
