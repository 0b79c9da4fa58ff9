/**
 * Second thoughts about a rollback: where the config that runs instead crashes the same way, the first one was not to blame.
 * So it is when the container runtime is down while a config is on trial.
 */
import type { Log } from '../../log.js';
import { forgetFailures } from '../results.js';
import type { Run } from '../run.js';
import type { NodeState } from '../state/node-state.js';

export class Doubt {
  readonly #enough: number;
  #deaths = 0;

  /** `enough` deaths of a fallback in a row, none of them after a healthy moment, lift the verdict. */
  constructor(enough: number) {
    this.#enough = enough;
  }

  /** Told of every death that its config may be blamed for. True when everything may be tried again. */
  lifts(
    { choice, healthy, onTrial }: Pick<Run, 'choice' | 'healthy' | 'onTrial'>,
    state: NodeState,
    log: Log,
  ): boolean {
    const isFallback = choice.fault !== undefined && !onTrial;
    this.#deaths = isFallback && !healthy ? this.#deaths + 1 : 0;
    if (this.#deaths < this.#enough) return false;
    this.#deaths = 0;
    forgetFailures(state);
    log.warn('the fallback crashes too, so the config is not to blame: it will be tried again');
    return true;
  }
}
