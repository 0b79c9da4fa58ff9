/** A clock that does not move until a test moves it. */
import { VirtualClock } from '../src/rehearsal/simulation/virtual-clock.js';

export class ManualClock extends VirtualClock {
  #onSleep: (() => void)[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const slept = super.sleep(ms, signal);
    for (const resume of this.#onSleep.splice(0)) resume();
    return slept;
  }

  /** Some tests have sockets and files beside it: their answers need a few turns of the event loop. */
  override async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await super.settle();
  }

  /** Resolves when someone sleeps for a time that `matches`; at once if someone does. */
  async untilSleeping(matches: (ms: number) => boolean = () => true): Promise<void> {
    while (!this.sleeping.some(matches)) await new Promise<void>((resolve) => this.#onSleep.push(resolve));
  }
}
