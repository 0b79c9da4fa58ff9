/** Answers analysis requests for the nodes of a rehearsal: made-up values, with the effect that --worse injects. */
import { claimOf } from '../api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { type Observed, type ObserveRequest, observeRequestOf } from '../api/observe.js';
import { type SignalName, signals } from '../api/signals.js';
import { assumedSpread } from '../rollout/analysis/power.js';
import type { SimulatedCluster } from './simulation/cluster.js';
import type { SeededRandom } from './simulation/seeded-random.js';

/** `podStartSeconds=1.5@30%`. */
export interface Harm {
  signal: SignalName;
  /** Levels: times so much. Counts: so many workloads more. */
  factor: number;
  /** Part of the nodes with the change that have it. */
  share: number;
}

export interface ObservationsOptions {
  cluster: SimulatedCluster;
  random: SeededRandom;
  harms: readonly Harm[];
  /** By signal, as earlier answers of the set show; others are assumed. */
  spreads: ReadonlyMap<string, number>;
  /** As the server has it now. */
  nodeConfig(name: string): NodeConfig | undefined;
  /** The revision that is rolled out. */
  revision(): string | undefined;
}

/** Usual values of a node: seconds, shares, cores, bytes. */
const usual: Partial<Record<SignalName, number>> = {
  podStartSeconds: 2,
  memoryPressure: 0.002,
  cpuPressure: 0.02,
  ioPressure: 0.01,
  cpuThrottled: 0.05,
  kubeletCpu: 0.05,
  kubeletMemory: 80 << 20,
  runtimeCpu: 0.05,
  runtimeMemory: 60 << 20,
  runtimeMemoryPeak: 200 << 20,
  podTasks: 500,
  systemMemory: 400 << 20,
  systemMemoryPressure: 0.001,
};
const rareCount = 0.02;
/** Agents do not answer in the same second. */
const jitterMs = 5000;

export class Observations {
  readonly #options: ObservationsOptions;
  readonly #due = new Set<string>();

  constructor(options: ObservationsOptions) {
    this.#options = options;
  }

  /** A NodeConfig was written. */
  seen(object: NodeConfig): void {
    const request = observeRequestOf(object);
    const { name } = object.metadata;
    if (request === undefined || object.status?.observed?.id === request.id) return;
    const { cluster, random } = this.#options;
    const key = `${name} ${request.id}`;
    if (this.#due.has(key)) return;
    this.#due.add(key);
    const dueMs = Date.parse(request.after[1]) - cluster.clock.now() + random.stream(key).below(jitterMs);
    void cluster.clock.sleep(Math.max(1000, dueMs)).then(() => this.#answer(name, request));
  }

  async #answer(name: string, request: ObserveRequest): Promise<void> {
    const { cluster, nodeConfig, revision } = this.#options;
    const isChanged = claimOf(nodeConfig(name))?.revision === revision();
    const observed: Observed = { id: request.id, signals: this.#signals(name, request.id, isChanged) };
    const place = { name, subresource: 'status' };
    await cluster.client.patch(nodeConfigs, place, { status: { observed } }, { as: 'merge' }).catch(() => {});
    this.#due.delete(`${name} ${request.id}`);
  }

  #signals(name: string, id: string, isChanged: boolean): Observed['signals'] {
    const { random, harms, spreads } = this.#options;
    const own = random.stream(`${name} ${id} signals`);
    const found: Observed['signals'] = {};
    for (const [signal, { kind, most }] of Object.entries(signals) as [SignalName, (typeof signals)[SignalName]][]) {
      const harm = harms.find((one) => one.signal === signal && isChanged && own.chance(one.share));
      if (kind === 'count') {
        const rare = () => Number(own.chance(rareCount));
        found[signal] = [rare(), rare() + Math.round(harm?.factor ?? 0)];
        continue;
      }
      // A change is the difference of two values, each with a part of the spread.
      const spread = (spreads.get(signal) ?? assumedSpread) / Math.SQRT2;
      const value = () => (usual[signal] ?? 1) * Math.exp(spread * normal(own));
      found[signal] = [Math.min(most, value()), Math.min(most, value() * (harm?.factor ?? 1))];
    }
    return found;
  }
}

const normal = (random: SeededRandom): number =>
  Math.sqrt(-2 * Math.log(1 - random.number())) * Math.cos(2 * Math.PI * random.number());
