/**
 * Exact one-sided rank test of canaries against controls, stratified, with ties; and the size of the effect. Pure.
 *
 * The statistic is the sum of the ranks of the canaries, each within its stratum. Without an effect, any choice of so many canaries in each
 * stratum was as likely: the distribution of the sum is counted, stratum by stratum, and the distributions are convolved. It is always
 * exact, ties or not. No normal approximation is needed: with at most 50 canaries and 50 controls, counting takes some 20 ms at worst.
 *
 * Example: 1 canary and 3 controls with the changes 9 and 1, 2, 3. Its rank is 4 of 4, so p = 1/4: one of four choices is as extreme.
 */

export interface Stratum {
  /** One number a node: how much the signal has changed. */
  canaries: readonly number[];
  controls: readonly number[];
}

export interface RankTest {
  /** Probability of a sum of ranks at least as large, if the canaries are like the controls. */
  p: number;
  /** The smallest p that these values can give, however they were spread over canaries and controls. 1 where all are equal. */
  smallest: number;
}

export function rankTest(strata: readonly Stratum[]): RankTest {
  const all = strata.map(({ canaries, controls }) => ranksOf([...canaries, ...controls]));
  // Zeros everywhere but on some nodes leave few different ranks. One divisor for all strata: a rank weighs the same in each.
  const step = all.flat().reduce(greatestCommonDivisor, 0) || 1;
  let observed = 0;
  let sums: Float64Array = Float64Array.of(1);
  for (const [index, { canaries }] of strata.entries()) {
    const ranks = all[index]!.map((rank) => rank / step);
    for (let at = 0; at < canaries.length; at++) observed += ranks[at]!;
    sums = convolved(sums, sumsOf(ranks, canaries.length));
  }
  let p = 0;
  for (let sum = sums.length - 1; sum >= observed; sum--) p += sums[sum]!;
  return { p: Math.min(1, p), smallest: sums.findLast((probability) => probability > 0) ?? 1 };
}

/** The smallest p of a layout: all canaries above all controls, in every stratum, without ties. */
export const smallestP = (strata: readonly Stratum[]): number =>
  strata.reduce((p, { canaries, controls }) => p / choices(canaries.length + controls.length, canaries.length), 1);

/** The least sum of the ranks of so many canaries, counted from 0, whose p is within alpha; undefined if none is. Without ties. */
export function leastSum(canaries: number, controls: number, alpha: number): number | undefined {
  const ranks = Array.from({ length: canaries + controls }, (_, rank) => rank);
  const sums = sumsOf(ranks, canaries);
  let p = 0;
  let least: number | undefined;
  for (let sum = sums.length - 1; sum >= 0; sum--) {
    p += sums[sum]!;
    if (p > alpha) return least;
    least = sum;
  }
  return least;
}

/** n over k. */
function choices(n: number, k: number): number {
  let found = 1;
  for (let at = 1; at <= k; at++) found = (found * (n - k + at)) / at;
  return found;
}

/** Ranks in whole numbers from 0: twice the mean rank of equal values, less what all have in common. The order of sums stays. */
function ranksOf(values: readonly number[]): number[] {
  const order = [...values.keys()].sort((a, b) => values[a]! - values[b]!);
  const ranks: number[] = new Array(values.length).fill(0);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]!] === values[order[from]!]) to++;
    for (let at = from; at <= to; at++) ranks[order[at]!] = from + to;
    from = to + 1;
  }
  const least = Math.min(...ranks);
  return ranks.map((rank) => rank - least);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Probability of each sum of `count` of these ranks. */
function sumsOf(ranks: readonly number[], count: number): Float64Array {
  const most = [...ranks].sort((a, b) => b - a).slice(0, count);
  const width = most.reduce((sum, rank) => sum + rank, 0) + 1;
  // ways[k * width + s]: choices of k ranks with the sum s, of the ranks so far.
  const ways = new Float64Array((count + 1) * width);
  ways[0] = 1;
  for (const rank of ranks)
    for (let k = count; k >= 1; k--)
      for (let sum = width - 1; sum >= rank; sum--) {
        const found = ways[(k - 1) * width + sum - rank]!;
        if (found > 0) ways[k * width + sum]! += found;
      }
  const all = choices(ranks.length, count);
  return ways.slice(count * width).map((found) => found / all);
}

function convolved(a: Float64Array, b: Float64Array): Float64Array {
  const sums = new Float64Array(a.length + b.length - 1);
  for (const [i, p] of a.entries()) if (p > 0) for (let j = 0; j < b.length; j++) sums[i + j]! += p * b[j]!;
  return sums;
}

/** Hodges–Lehmann: the median of the differences between each canary and each control of its stratum. */
export const effectOf = (strata: readonly Stratum[]): number =>
  medianOf(
    strata.flatMap(({ canaries, controls }) => canaries.flatMap((canary) => controls.map((one) => canary - one))),
  );

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
