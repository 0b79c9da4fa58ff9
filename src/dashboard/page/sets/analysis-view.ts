/** Computes the lines of an analysis drawing: each node from before to after, canaries beside controls, on one scale. Pure. */
import { observingText, valueText } from '../../../api/analysis.js';
import type { AnalyzedSignal, WaveAnalysis } from '../../../api/node-config-set.js';
import { isSignalName, signals } from '../../../api/signals.js';

/** Pixels of the picture, and within it the top and bottom of the scale. */
export const plotSize = { width: 240, height: 152, top: 10, bottom: 112 };

/** From the left: where the lines of a group begin and end. */
export const plotGroups = { canaries: [14, 90], controls: [150, 226] } as const;
export type PlotGroup = keyof typeof plotGroups;

export interface Slope {
  from: number;
  to: number;
}

export interface Plot {
  lines: Record<PlotGroup, Slope[]>;
  /** Levels only: the sums of counts are not on the scale. */
  medians: Partial<Record<PlotGroup, Slope>>;
  ticks: { y: number; text: string }[];
}

type Drawn = Pick<AnalyzedSignal, 'name' | 'kind' | 'canaries' | 'controls'>;

/** Undefined if no node has values. A level is on a logarithmic scale and raised to its floor, as it is compared. */
export function plotOf({ name, kind, canaries, controls }: Drawn): Plot | undefined {
  const groups = { canaries, controls };
  const values = [canaries, controls].flatMap(({ points = [] }) => points.flat());
  if (values.length === 0) return undefined;
  const [low, high] = kind === 'level' ? levelRange(values, floorOf(name, values)) : [0, Math.max(1, ...values)];
  const scale = kind === 'level' ? Math.log : (value: number) => value;
  const { top, bottom } = plotSize;
  const y = (value: number) => {
    const share = (scale(Math.max(low, value)) - scale(low)) / (scale(high) - scale(low));
    return Math.round(10 * (bottom - share * (bottom - top))) / 10;
  };
  const slope = (before: number, after: number): Slope => ({ from: y(before), to: y(after) });
  const plot: Plot = {
    lines: { canaries: [], controls: [] },
    medians: {},
    ticks: [low, high].map((value) => ({ y: y(value), text: valueText(name, value) })),
  };
  for (const group of Object.keys(plotGroups) as PlotGroup[]) {
    const { points = [], before, after } = groups[group];
    plot.lines[group] = points.map(([from, to]) => slope(from, to));
    if (kind === 'level' && points.length > 0) plot.medians[group] = slope(before, after);
  }
  return plot;
}

/** A query of Prometheus has no floor: there the smallest value above 0 is the bottom. */
function floorOf(name: string, values: readonly number[]): number {
  if (isSignalName(name)) return signals[name].floor;
  const positive = values.filter((value) => value > 0);
  return positive.length === 0 ? 1 : Math.min(...positive);
}

/** At least a factor of two, so that small differences look small. */
function levelRange(values: readonly number[], floor: number): [low: number, high: number] {
  const [low, high] = [Math.max(floor, Math.min(...values)), Math.max(floor, ...values)];
  const missing = Math.sqrt(Math.max(1, (2 * low) / high));
  return [Math.max(floor, low / missing), high * missing];
}

const order: AnalyzedSignal['outcome'][] = ['Worse', 'NotWorse', 'CannotTell'];

/** Signals that are worse come first; within an outcome, they keep the order of the controller. */
export const inOrder = (all: readonly AnalyzedSignal[]): AnalyzedSignal[] =>
  [...all].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));

export const analysisSentence = (analysis: WaveAnalysis): string =>
  analysis.state === 'Observing'
    ? `${observingText(analysis.wave, analysis)}.`
    : `Wave ${analysis.wave}: ${analysis.message ?? 'no result'}.`;
