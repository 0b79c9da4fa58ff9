/**
 * Compares the canaries of a cohort with its controls, and returns the signals that are worse. Pure. One comparison is a look, in the
 * sense of sequential tests: a revision is looked at once per wave.
 *
 * The unit is the node, compared with its own past: change = after − before, of logarithms for levels. A signal is worse only if its p
 * is within its alpha and the effect exceeds `worseBy`.
 *
 *   over the looks of a revision   the k-th look that can tell at all spends 0.05 / 2^k, so all together spend less than 0.05
 *   over the signals of a look     Holm, over the signals whose values could give a small enough p at all (Tarone). Which these are
 *                                  depends on the values of all nodes and not on which of them are canaries. Counts of zero everywhere,
 *                                  the usual case, so cost the other signals nothing.
 *
 * Cannot tell: even a layout with all canaries above all controls would have a p above this alpha.
 */
import type { Signal } from '../../api/signals.js';
import { effectOf, medianOf, rankTest, smallestP } from './rank-test.js';
import { type StratumKey, strataOf } from './strata.js';

const alphaOfAll = 0.05;
export const alphaOf = (look: number): number => alphaOfAll / 2 ** look;

export interface ComparedNode extends StratumKey {
  isCanary: boolean;
  before: number;
  after: number;
}

export interface ComparedSignal {
  name: string;
  kind: Signal['kind'];
  /** Levels: lower values are raised to it. */
  floor: number;
  /** Levels: a share, 0.25 for 25 %. Counts: workloads a node. */
  worseBy: number;
  /** Those that have answered. */
  nodes: readonly ComparedNode[];
}

export type SignalOutcome = 'Worse' | 'NotWorse' | 'CannotTell';

export interface SignalComparison {
  name: string;
  outcome: SignalOutcome;
  /** In the unit of `worseBy`. 0 if there is nothing to compare. */
  effect: number;
  p: number;
  alpha: number;
  canaries: GroupSummary;
  controls: GroupSummary;
  /** Standard deviation of the changes of the nodes that have no effect to show: the controls. */
  spread: number;
}

export interface GroupSummary {
  nodes: number;
  /** Nodes that changed by more than `worseBy`. */
  worse: number;
  /** Levels: median. Counts: sum. */
  before: number;
  after: number;
}

export interface Comparison {
  signals: SignalComparison[];
  /** A signal of it can be worse, so it spends what its look may spend. */
  canTell: boolean;
}

export function compare(asked: readonly ComparedSignal[], look: number): Comparison {
  const alpha = alphaOf(look);
  const tested = asked.map((signal) => {
    const strata = strataOf(signal.nodes.map((node) => ({ ...node, change: changeOf(signal, node) })));
    return { signal, strata, ...rankTest(strata), layout: smallestP(strata) };
  });
  // Tarone: the smallest k such that at most k signals could reach alpha / k.
  let k = 1;
  while (tested.filter(({ smallest }) => smallest <= alpha / k).length > k) k++;
  const isTestable = ({ smallest }: { smallest: number }) => smallest <= alpha / k;
  const alphas = holm(tested.filter(isTestable), alpha);
  const signals = tested.map((one): SignalComparison => {
    const { signal, strata, p, layout } = one;
    const ownAlpha = alphas.get(one) ?? alpha / k;
    const effect = strata.length === 0 ? 0 : sizeOf(signal, strata);
    const isWorse = isTestable(one) && p <= ownAlpha && effect > signal.worseBy;
    const outcome = isWorse ? 'Worse' : layout <= ownAlpha ? 'NotWorse' : 'CannotTell';
    const summary = { canaries: summaryOf(signal, true), controls: summaryOf(signal, false) };
    return { name: signal.name, outcome, effect, p, alpha: ownAlpha, ...summary, spread: spreadOf(signal) };
  });
  return { signals, canTell: tested.some(({ layout }) => layout <= alpha / k) };
}

/** The alpha of each: the smallest p has that of all signals, each that follows a rejected one has one signal less. */
function holm<T extends { p: number }>(tested: readonly T[], alpha: number): Map<T, number> {
  const alphas = new Map<T, number>();
  let left = tested.length;
  for (const one of [...tested].sort((a, b) => a.p - b.p)) {
    alphas.set(one, alpha / left);
    if (one.p <= alpha / left && left > 1) left--;
  }
  return alphas;
}

function changeOf({ kind, floor }: ComparedSignal, { before, after }: ComparedNode): number {
  return kind === 'count' ? after - before : Math.log(Math.max(after, floor) / Math.max(before, floor));
}

/** The median of sparse counts is 0, however many workloads are killed on some of the canaries: counts have the difference of the means. */
function sizeOf({ kind }: ComparedSignal, strata: Parameters<typeof effectOf>[0]): number {
  if (kind === 'level') return Math.expm1(effectOf(strata));
  return meanOf(strata.flatMap((one) => one.canaries)) - meanOf(strata.flatMap((one) => one.controls));
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function summaryOf(signal: ComparedSignal, isCanary: boolean): GroupSummary {
  const nodes = signal.nodes.filter((node) => node.isCanary === isCanary);
  const limit = signal.kind === 'count' ? signal.worseBy : Math.log1p(signal.worseBy);
  const total = (values: number[]) => {
    if (signal.kind === 'count') return values.reduce((sum, value) => sum + value, 0);
    return values.length === 0 ? 0 : medianOf(values);
  };
  return {
    nodes: nodes.length,
    worse: nodes.filter((node) => changeOf(signal, node) > limit).length,
    before: total(nodes.map(({ before }) => before)),
    after: total(nodes.map(({ after }) => after)),
  };
}

/** By the median of the distances, which a few outliers do not move; for sparse counts, where that is 0, by the squares. */
function spreadOf(signal: ComparedSignal): number {
  const changes = signal.nodes.filter(({ isCanary }) => !isCanary).map((node) => changeOf(signal, node));
  if (changes.length < 3) return 0;
  const middle = medianOf(changes);
  const robust = 1.4826 * medianOf(changes.map((change) => Math.abs(change - middle)));
  return robust > 0 ? robust : Math.sqrt(meanOf(changes.map((change) => (change - meanOf(changes)) ** 2)));
}
