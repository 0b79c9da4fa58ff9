/**
 * Estimates the power of a set's analyses before it is rolled out: the share of simulated rollouts in which each wave detects a given
 * effect. Uses the same random numbers each time. Pure.
 */

import { countText } from '../../api/analysis.js';
import { mostObserved, type NodeConfigSetStatus } from '../../api/node-config-set.js';
import { alphaOf } from './compare.js';
import { effectOf, leastSum } from './rank-test.js';
import type { AnalysisRules } from './rules.js';

export interface WavePower {
  wave: number;
  canaries: number;
  controls: number;
  /** NoControls: the last wave. CannotTell: no effect is large enough for so few nodes. */
  state: 'Compared' | 'CannotTell' | 'NoControls';
  /** Share of the rollouts that find `factor`. */
  found?: number;
}

export interface PowerReport {
  signal: string;
  /** 1.5: a slowdown by half. */
  factor: number;
  /** Standard deviation of the changes of nodes, of logarithms. */
  spread: number;
  /** No earlier answer of the set shows the spread. */
  isAssumed: boolean;
  waves: WavePower[];
}

/** As in bench/analysis: nodes that differ by 35 %, and whose values follow each other. */
export const assumedSpread = 0.2;
const rollouts = 400;

/** `nodes`: how many change in each wave, in order. Undefined if no level is compared. */
export function powerOf(
  { controls: most, signals }: AnalysisRules,
  nodes: readonly number[],
  { analyses = [] }: Pick<NodeConfigSetStatus, 'analyses'>,
  factor = 1.5,
): PowerReport | undefined {
  const levels = signals.filter(({ kind }) => kind === 'level');
  const signal = levels.find(({ name }) => name === 'podStartSeconds') ?? levels[0];
  if (signal === undefined) return undefined;
  const known = analyses
    .flatMap((one) => one.signals ?? [])
    .find(({ name, spread }) => name === signal.name && spread > 0);
  const spread = known?.spread ?? assumedSpread;
  const total = nodes.reduce((sum, count) => sum + count, 0);
  let changed = 0;
  let look = 1;
  const waves: WavePower[] = [];
  for (const [index, own] of nodes.entries()) {
    changed += own;
    if (own === 0) continue;
    const [canaries, controls] = [Math.min(own, mostObserved), Math.min(total - changed, most)];
    const layout = { wave: index + 1, canaries, controls };
    // Counts are mostly zero and cost nothing; each level that is compared does.
    const least = leastSum(canaries, controls, alphaOf(look) / levels.length);
    if (controls === 0) waves.push({ ...layout, state: 'NoControls' });
    else if (least === undefined) waves.push({ ...layout, state: 'CannotTell' });
    else {
      waves.push({
        ...layout,
        state: 'Compared',
        found: foundIn({ canaries, controls, least, spread, factor, worseBy: signal.worseBy }),
      });
      look++;
    }
  }
  return { signal: signal.name, factor, spread, isAssumed: known === undefined, waves };
}

interface Layout {
  canaries: number;
  controls: number;
  least: number;
  spread: number;
  factor: number;
  worseBy: number;
}

function foundIn({ canaries, controls, least, spread, factor, worseBy }: Layout): number {
  const next = normals();
  let found = 0;
  for (let run = 0; run < rollouts; run++) {
    const values = Array.from({ length: canaries + controls }, (_, at) => ({
      isCanary: at < canaries,
      change: spread * next() + (at < canaries ? Math.log(factor) : 0),
    }));
    const of = (isCanary: boolean) => values.filter((one) => one.isCanary === isCanary).map(({ change }) => change);
    const ranked = values.sort((a, b) => a.change - b.change);
    const sum = ranked.reduce((total, { isCanary }, rank) => total + (isCanary ? rank : 0), 0);
    const isSure = sum >= least;
    if (isSure && Math.expm1(effectOf([{ canaries: of(true), controls: of(false) }])) > worseBy) found++;
  }
  return found / rollouts;
}

/** Normal numbers from a congruential generator: the same in every run, and good enough for a share of 400. */
function normals(): () => number {
  let state = 20_261_118;
  const uniform = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** A sentence a wave: `wave 3, 10 against 50 nodes: podStartSeconds × 1.5 is found with 97 %`. */
export const powerTexts = ({ signal, factor, waves }: PowerReport): string[] =>
  waves.map(({ wave, canaries, controls, state, found = 0 }) => {
    if (state === 'NoControls') return `wave ${wave}: not compared, no node is left without the change`;
    const layout = `wave ${wave}, ${canaries} against ${countText(controls, 'node', 'nodes')}`;
    if (state === 'CannotTell') return `${layout}: cannot tell, these are too few`;
    return `${layout}: ${signal} × ${factor} is found with ${Math.round(found * 100)} %`;
  });

export const spreadText = ({ spread, isAssumed }: PowerReport): string =>
  `nodes differ by ${Math.round(spread * 100)} % from one window to the next${isAssumed ? ', which is assumed' : ', as earlier answers of the set show'}`;
