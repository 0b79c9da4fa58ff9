/**
 * Second thoughts about a rollback: where the config that runs instead dies the same way, the first one was not to blame.
 * So it is when the container runtime is down while a config is on trial.
 */
import type { Run } from './run.js';

export class Doubt {
  readonly #enough: number;
  #deaths = 0;

  /** `enough` deaths of a fallback, none of them after a healthy moment, lift the verdict. */
  constructor(enough: number) {
    this.#enough = enough;
  }

  /** Told of every death that its config may be blamed for; true when past verdicts should be forgotten. */
  died({ choice, healthy, onTrial }: Pick<Run, 'choice' | 'healthy' | 'onTrial'>): boolean {
    const isFallback = choice.fault !== undefined && !onTrial;
    this.#deaths = isFallback && !healthy ? this.#deaths + 1 : 0;
    if (this.#deaths < this.#enough) return false;
    this.#deaths = 0;
    return true;
  }
}
