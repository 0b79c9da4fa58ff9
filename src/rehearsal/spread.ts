/** Summarizes several rehearsals of one rollout with different seeds: best, median and worst. Pure. */
import type { Rehearsal } from './report.js';

export interface RehearsalSpread {
  apiVersion: 'cli.relet.dev/v1';
  kind: 'RehearsalSpread';
  set: string;
  seeds: number;
  outcomes: Record<string, number>;
  /** Durations of the rehearsals that were complete; absent if none was. */
  durationSeconds?: Spread;
  failedNodes: Spread;
  mostUnavailable: Spread;
  mostInTrial: Spread;
  rejections: Rehearsal['rejections'];
  assumptions: string[];
  runs: RehearsalRow[];
}

export interface RehearsalRow {
  seed: string;
  outcome: Rehearsal['outcome'];
  reason: string;
  durationSeconds: number;
  failedNodes: number;
  mostUnavailable: number;
  mostInTrial: number;
}

export interface Spread {
  best: number;
  median: number;
  worst: number;
  /** Seed of the worst run, to repeat it. */
  worstSeed: string;
}

export const rowOf = ({ seed, outcome, reason, durationSeconds, nodes, budgets }: Rehearsal): RehearsalRow => ({
  seed,
  outcome,
  reason,
  durationSeconds,
  failedNodes: nodes.failed,
  mostUnavailable: budgets.unavailable.most,
  mostInTrial: budgets.inTrial.most,
});

/** `first` is one of them, for what does not depend on the seed. */
export function spreadOf(runs: readonly RehearsalRow[], first: Rehearsal): RehearsalSpread {
  const complete = runs.filter(({ outcome }) => outcome === 'complete');
  const outcomes: Record<string, number> = {};
  for (const { outcome, reason } of runs) {
    const key = `${outcome} (${reason})`;
    outcomes[key] = (outcomes[key] ?? 0) + 1;
  }
  return {
    apiVersion: 'cli.relet.dev/v1',
    kind: 'RehearsalSpread',
    set: first.set,
    seeds: runs.length,
    outcomes,
    ...(complete.length > 0 && { durationSeconds: spread(complete, 'durationSeconds') }),
    failedNodes: spread(runs, 'failedNodes'),
    mostUnavailable: spread(runs, 'mostUnavailable'),
    mostInTrial: spread(runs, 'mostInTrial'),
    rejections: first.rejections,
    assumptions: first.assumptions,
    runs: [...runs],
  };
}

type Measure = 'durationSeconds' | 'failedNodes' | 'mostUnavailable' | 'mostInTrial';

/** Less is better. Of an even number the median is the worse of the two in the middle. */
function spread(runs: readonly RehearsalRow[], of: Measure): Spread {
  const sorted = [...runs].sort((a, b) => a[of] - b[of]);
  const worst = sorted.at(-1)!;
  return {
    best: sorted[0]![of],
    median: sorted[Math.floor(sorted.length / 2)]![of],
    worst: worst[of],
    worstSeed: worst.seed,
  };
}
