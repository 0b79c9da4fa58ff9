/** Parses `strategy.analysis` with its defaults, and selects the signals that a set compares. Pure. */
import {
  type AnalysisSignal,
  type AnalysisStrategy,
  analysisDefaults,
  mostObserved,
} from '../../api/node-config-set.js';
import { longestWindowMs } from '../../api/observe.js';
import { defaultSignals, isSignalName, type Signal, signals } from '../../api/signals.js';
import { watchOf } from '../../config/catalogue.js';
import { durationMs, InvalidSpec } from '../spec-values.js';

export interface AnalysisRules {
  windowMs: number;
  controls: number;
  onWorse: 'Halt' | 'Rollback' | 'Report';
  onCannotTell: 'Continue' | 'Pause';
  signals: SignalRule[];
}

export interface SignalRule extends Omit<Signal, 'unit'> {
  name: string;
  unit: Signal['unit'] | 'value';
  /** A share for levels, workloads a node for counts. */
  worseBy: number;
  /** The strategy names it: without a result for it the wave has none. */
  isNamed: boolean;
  prometheus?: { query: string; label: string };
}

const shortestWindowMs = 5 * 60_000;
const usualWorseBy = { level: 0.25, count: 0 };

export function readAnalysis(strategy: AnalysisStrategy, changedFields: readonly string[]): AnalysisRules {
  const { window, controls, onWorse, onCannotTell, signals: named } = { ...analysisDefaults, ...strategy };
  const at = 'strategy.analysis';
  const windowMs = durationMs(window, `${at}.window`);
  if (windowMs < shortestWindowMs || windowMs > longestWindowMs)
    throw new InvalidSpec(`${at}.window: '${window}' is not from 5m to 30m`);
  if (!Number.isInteger(controls) || controls < 3 || controls > mostObserved)
    throw new InvalidSpec(`${at}.controls: ${controls} is not a number from 3 to ${mostObserved}`);
  const rules = named.map((signal, index) => ruleOf(signal, `${at}.signals[${index}]`));
  const twice = rules.find(({ name }, index) => rules.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new InvalidSpec(`${at}.signals: '${twice.name}' is there twice`);
  return {
    windowMs,
    controls,
    onWorse,
    onCannotTell,
    signals: rules.length > 0 ? rules : usualSignals(changedFields),
  };
}

function usualSignals(changedFields: readonly string[]): SignalRule[] {
  const names = new Set([...defaultSignals, ...changedFields.flatMap((field) => watchOf(field)?.signals ?? [])]);
  return [...names].map((name) => ({ ...ruleOf({ name }, ''), isNamed: false }));
}

function ruleOf({ name, worseBy, prometheus, label = 'node' }: AnalysisSignal, at: string): SignalRule {
  if (prometheus !== undefined) {
    if (isSignalName(name))
      throw new InvalidSpec(`${at}.name: '${name}' is a signal of the nodes, a query needs another name`);
    // The floor of a query is found with its values: their unit is not known.
    const signal = {
      kind: 'level',
      floor: 0,
      most: Number.MAX_VALUE,
      unit: 'value',
      worse: `have more ${name} than before`,
    } as const;
    return {
      name,
      ...signal,
      worseBy: limitOf('level', worseBy, at),
      isNamed: true,
      prometheus: { query: prometheus, label },
    };
  }
  if (!isSignalName(name))
    throw new InvalidSpec(
      `${at}.name: '${name}' is not a signal and has no prometheus; signals are ${Object.keys(signals).join(', ')}`,
    );
  return { name, ...signals[name], worseBy: limitOf(signals[name].kind, worseBy, at), isNamed: true };
}

function limitOf(kind: Signal['kind'], worseBy: number | string | undefined, at: string): number {
  if (worseBy === undefined) return usualWorseBy[kind];
  const [, digits, percent] = /^(\d{1,4}(?:\.\d{1,3})?)(%?)$/.exec(String(worseBy)) ?? [];
  if (digits === undefined || (kind === 'level') !== (percent === '%'))
    throw new InvalidSpec(
      `${at}.worseBy: '${worseBy}' is not ${kind === 'level' ? 'a percentage such as 25%' : 'a number of workloads a node, such as 0.5'}`,
    );
  return kind === 'level' ? Number(digits) / 100 : Number(digits);
}
