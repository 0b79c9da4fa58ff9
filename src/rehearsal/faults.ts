/** Faults that are injected into a rehearsal: on which nodes, and when. Determined by the seed, and pure. */
import type { Behaviour } from '../agent/drivers/fake.js';
import type { Share } from '../api/node-config-set.js';
import { CannotRun } from '../cannot-run.js';
import type { Harm } from './observations.js';
import type { SeededRandom } from './simulation/seeded-random.js';

/** A number of nodes, a percentage, or nodes by name. */
export type Chosen = Share | string[];

export interface Faults {
  /** Nodes whose kubelets crash, or are never healthy, with the new config. */
  fail?: Chosen | undefined;
  /** Nodes whose kubelets take long to be healthy. */
  slow?: Chosen | undefined;
  /** Nodes that are not Ready, from the start to the end. */
  notReady?: Chosen | undefined;
  /** The controller is killed every now and then. */
  controllerCrashes?: boolean | undefined;
  /** The API server is away every now and then. */
  apiOutages?: boolean | undefined;
  /** Effects on nodes with the change, for analyses. */
  worse?: readonly Harm[] | undefined;
}

/** Percentages round up, so that 2% of 10 nodes is one. Throws CannotRun for a name that is not there. */
export function choose(chosen: Chosen | undefined, names: readonly string[], random: SeededRandom): Set<string> {
  if (chosen === undefined) return new Set();
  if (Array.isArray(chosen)) {
    const missing = chosen.find((name) => !names.includes(name));
    if (missing === undefined) return new Set(chosen);
    throw new CannotRun(`there is no node '${missing}' among the ${names.length} that the set selects`);
  }
  const percent = typeof chosen === 'string' ? Number(chosen.slice(0, -1)) : undefined;
  const count = percent === undefined ? Number(chosen) : Math.ceil((names.length * percent) / 100);
  const left = [...names];
  const picked = new Set<string>();
  while (picked.size < count && left.length > 0) picked.add(left.splice(random.below(left.length), 1)[0]!);
  return picked;
}

const crashLog = ['panic: the rehearsal lets this kubelet crash', 'goroutine 1 [running]:'];

/** With the new config. */
export const failure = (random: SeededRandom): Behaviour =>
  random.chance(0.5)
    ? { healthyAfterMs: Number.POSITIVE_INFINITY, exits: { afterMs: 700, code: 1 }, log: crashLog }
    : { healthyAfterMs: Number.POSITIVE_INFINITY };

export const usual = (random: SeededRandom): Behaviour => ({ healthyAfterMs: 1000 + random.below(4000) });

/** Within the minute that a kubelet has. */
export const slow = (random: SeededRandom): Behaviour => ({ healthyAfterMs: 30_000 + random.below(20_000) });

const minuteMs = 60_000;

/** From one crash of the controller to the next, and from one outage of the API server to the next. */
export const pauseMs = (random: SeededRandom): number => 5 * minuteMs + random.below(20 * minuteMs);
export const outageMs = (random: SeededRandom): number => 10_000 + random.below(2 * minuteMs);
