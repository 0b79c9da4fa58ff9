/** A wait that can be cut short: after a crash, unless another config should run meanwhile. */
import type { Clock } from '../clock.js';

export class Pause {
  readonly #clock: Clock;
  #wake = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    await this.#clock.sleep(ms, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
  }

  wake(): void {
    this.#wake.abort();
  }
}
