/** A controller replica in a simulation: the real controller, with leader election, inside a fence. Restarted after a crash. */
import { configNamespaces } from '../../api/node-config.js';
import type { Clock } from '../../clock.js';
import { runController } from '../../controller/controller.js';
import { newControllerCounters } from '../../controller/metrics.js';
import { runWhileLeader } from '../../kube/leader.js';
import type { Log } from '../../log.js';
import { Fence, fencedClock, fencedLog } from './fence.js';
import type { Network } from './network.js';
import type { SeededRandom } from './seeded-random.js';
import { clientAs, controllerAccount } from './server.js';

export interface LeaseTimes {
  durationMs: number;
  renewMs: number;
  retryMs: number;
}

const slowLease: LeaseTimes = { durationMs: 150_000, renewMs: 100_000, retryMs: 20_000 };

export interface SimulatedControllerOptions {
  /** Also in the network. */
  name: string;
  clock: Clock;
  network: Network;
  random: SeededRandom;
  restartMs(random: SeededRandom): number;
  /** Default: ten times slower than that of a real controller, since most requests of a simulation would be renewals. */
  lease?: LeaseTimes;
  /** As for the controller. */
  gatherMs?: number;
  log(name: string): Log;
  onLead(name: string): void;
  onDown(name: string): void;
}

export class SimulatedController {
  readonly #options: SimulatedControllerOptions;
  process = new Fence();
  #starts = 0;

  constructor(options: SimulatedControllerOptions) {
    this.#options = options;
  }

  start(): void {
    const { name, network } = this.#options;
    const fence = new Fence(() => this.#onDown());
    this.process = fence;
    const random = this.#options.random.stream(`start ${++this.#starts}`);
    const clock = fencedClock(this.#options.clock, fence);
    const log = fencedLog(this.#options.log(name), fence);
    const client = clientAs(controllerAccount, { transport: network.transport(name, fence), clock, random });
    const running = runWhileLeader({
      client,
      namespace: 'relet-system',
      name: 'relet-controller',
      identity: `${name}_${this.#starts}`,
      log,
      signal: new AbortController().signal,
      ...(this.#options.lease ?? slowLease),
      lead: async (signal, client) => {
        this.#options.onLead(name);
        const counters = newControllerCounters();
        const { gatherMs } = this.#options;
        const own = { settleMs: 0, ...(gatherMs && { gatherMs }) };
        await runController({ client, namespaces: configNamespaces, guards: 'auto', ...own, log, counters }, signal);
      },
    });
    running.catch((error: unknown) => {
      log.error('controller failed', { error });
      fence.down();
    });
  }

  #onDown(): void {
    const { name, clock, random, restartMs, onDown } = this.#options;
    onDown(name);
    void clock.sleep(restartMs(random)).then(() => this.start());
  }
}
