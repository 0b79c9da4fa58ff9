/**
 * Rollouts with made signals, for run.mjs: nodes differ by 35 %, the samples of one node follow each other (AR(1), 0.9), most PSI values are
 * zero, some nodes have pods that crash all the time, pods are evicted for limits of their own, and a third of the rollouts have a
 * deployment in the window, which slows pod starts and restarts containers on canaries and controls alike.
 */
import type { SetStrategy } from '../../src/api/node-config-set.js';
import type { Observed, ObserveRequest } from '../../src/api/observe.js';
import { type SeededRandom, seededRandom } from '../../src/rehearsal/simulation/seeded-random.js';
import { medianOf } from '../../src/rollout/analysis/rank-test.js';
import { RolloutWorld } from '../../test/rollout-world.js';

const samplesInWindow = 30;
const nodeSpread = 0.35;
const noise = { correlation: 0.9, spread: 0.25 };

function normal(random: SeededRandom): number {
  return Math.sqrt(-2 * Math.log(1 - random.number())) * Math.cos(2 * Math.PI * random.number());
}

function poisson(random: SeededRandom, rate: number): number {
  let count = 0;
  for (let left = Math.exp(-rate), product = random.number(); product > left; product *= random.number()) count++;
  return count;
}

interface Samples {
  before: number[];
  after: number[];
}

/** Pod start times of one node, a value every 20 s, in both windows. */
function startSamples(random: SeededRandom, factor: number): Samples {
  const base = 2 * Math.exp(nodeSpread * normal(random));
  let drift = noise.spread * normal(random);
  const next = () => {
    drift = noise.correlation * drift + noise.spread * Math.sqrt(1 - noise.correlation ** 2) * normal(random);
    return base * Math.exp(drift);
  };
  const window = (times: number) => Array.from({ length: samplesInWindow }, () => next() * times);
  const before = window(1);
  // Some minutes are between the windows.
  for (let at = 0; at < 6; at++) next();
  return { before, after: window(factor) };
}

export interface Case {
  nodes: number;
  strategy: SetStrategy;
  /** How much slower pods start on nodes with the change. */
  factor: number;
  seed: string;
}

export interface Result {
  isWorse: boolean;
  kayenta: boolean;
  canTell: boolean;
  looks: number;
}

export function rollout({ nodes, strategy, factor, seed }: Case): Result {
  const random = seededRandom(seed);
  const deployment = random.chance(1 / 3) ? { slower: 1.3, restarts: 0.4 } : { slower: 1, restarts: 0 };
  const crashing = new Set<string>();
  const samples = new Map<string, Samples & { isChanged: boolean }>();
  const of = new RolloutWorld({
    nodes,
    strategy,
    labels: (index) => ({
      'topology.kubernetes.io/zone': `zone-${index % 3}`,
      'node.kubernetes.io/instance-type': index % 5 === 0 ? 'large' : 'small',
    }),
    answer: (node, isChanged, { id, before, after }: ObserveRequest): Observed['signals'] => {
      const own = random.stream(`${id}/${node.name}`);
      // Counts of after begin at the change: their time is longer.
      const longer = (Date.parse(after[1]) - Date.parse(before[1])) / (Date.parse(before[1]) - Date.parse(before[0]));
      const found = startSamples(own, deployment.slower * (isChanged ? factor : 1));
      samples.set(node.name, { ...found, isChanged });
      const rare = (rate: number): [number, number] => [poisson(own, rate), poisson(own, rate * longer)];
      const restarts = rare(0.1);
      const isCrashing = crashing.has(node.name);
      const pressure = own.chance(0.7) ? 0 : 0.002 * Math.exp(normal(own));
      return {
        podStartSeconds: [medianOf(found.before), medianOf(found.after)],
        memoryPressure: [pressure, pressure === 0 && own.chance(0.9) ? 0 : 0.002 * Math.exp(normal(own))],
        oomKills: rare(0.03),
        evictions: rare(0.05),
        restarts: [
          restarts[0] + Number(isCrashing),
          restarts[1] + Number(isCrashing) + poisson(own, deployment.restarts),
        ],
        rejectedPods: [0, 0],
        lostReady: rare(0.05),
      };
    },
  });
  for (const { name } of of.nodes) if (random.chance(0.1)) crashing.add(name);
  // One rollout in ten has a node that rejects the config: it halts, and a person retries.
  const failing = random.chance(0.1) ? random.pick(of.nodes).name : undefined;
  let { progress } = of.run({ failing });
  for (let retries = 0; retries < 2 && progress.condition === 'Stalled' && progress.kind === 'halted'; retries++) {
    of.state = { ...of.state, rollout: { request: { action: 'Retry', revision: 'new' } } };
    ({ progress } = of.run());
  }
  const analyses = of.state.analyses ?? [];
  return {
    isWorse: analyses.some(({ outcome }) => outcome === 'Worse'),
    kayenta: kayentaFails([...samples.values()], random),
    canTell: analyses.some(({ look }) => look !== undefined),
    looks: Math.max(0, ...analyses.map(({ look = 0 }) => look)),
  };
}

const kayenta = { tolerance: 0.25, z: 2.326 };
const pairs = 20_000;

/**
 * The classifier of Kayenta (Mann-Whitney at 98 %, tolerance 0.25) on the samples after the change of all canaries and all controls, pooled.
 * The limits of its interval are quantiles of the differences of pairs, here of 20,000 pairs by chance.
 */
function kayentaFails(all: readonly (Samples & { isChanged: boolean })[], random: SeededRandom): boolean {
  const pooled = (isChanged: boolean) => all.filter((one) => one.isChanged === isChanged).flatMap(({ after }) => after);
  const [canaries, controls] = [pooled(true), pooled(false)];
  if (canaries.length === 0 || controls.length === 0) return false;
  const [m, n] = [canaries.length, controls.length];
  const differences = Float64Array.from({ length: pairs }, () => random.pick(canaries) - random.pick(controls)).sort();
  const quantile = (share: number) => differences[Math.min(pairs - 1, Math.max(0, Math.floor(share * pairs)))]!;
  const estimate = quantile(0.5);
  const lower = quantile(0.5 - kayenta.z * Math.sqrt((m + n + 1) / (12 * m * n)));
  return lower > kayenta.tolerance * Math.abs(estimate);
}
