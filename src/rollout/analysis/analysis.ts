/**
 * Analysis of the waves of a rollout: a step of plan(), whose state is in the status of the set. Pure.
 *
 *   (wave rolls) ── its first canaries are active ──► Observing ── all have answered, or time is over ──► Done
 *        └────────── no node is left as a control ──────────────────────────────────────────────────────► Done (NoControls)
 *
 *   before   the window up to the first assignment           the same calendar time for canaries and controls, so that what
 *   after    the window from 60 s after the last is active    happens to all of them, such as a deployment, makes no difference
 *
 * The status names the observed nodes and their windows before any request is written, so a controller that restarts repeats the same
 * requests.
 */

import { leftOutReasons } from '../../api/condition-reasons.js';
import {
  type AnalysisOutcome,
  type AnalyzedSignal,
  mostAnalyses,
  mostObserved,
  type WaveAnalysis,
} from '../../api/node-config-set.js';
import type { ObserveRequest } from '../../api/observe.js';
import { isSignalName } from '../../api/signals.js';
import { rfc3339 } from '../../clock.js';
import { shorten } from '../../shorten.js';
import type { SetNode } from '../members.js';
import type { SetRules } from '../spec.js';
import { isComplete, isRejected, type SetState, updateOf } from '../state.js';
import type { Survey } from '../survey.js';
import { canariesOf, controlsOf, keyOf, leftOut, unfitnessOf } from './cohort.js';
import { type ComparedNode, compare, type SignalComparison } from './compare.js';
import { medianOf } from './rank-test.js';
import type { AnalysisRules, SignalRule } from './rules.js';
import { outcomeText } from './sentences.js';

/** Answers of Prometheus for one request: by signal and node, before and after; or why there are none. */
export interface Measured {
  id: string;
  values: Record<string, Record<string, [before: number, after: number]>>;
  errors: Record<string, string>;
}

export interface AnalysisInput {
  set: string;
  rules: SetRules;
  survey: Survey;
  present: { wave: number; room: number };
  measured?: Measured | undefined;
  nowMs: number;
}

/** A restarted kubelet admits its pods again, and caches fill: not compared. */
export const settlingMs = 60_000;
/** How long after its window a node may answer. */
const graceMs = 180_000;
/** How soon a query that failed is sent again. */
const retryMs = 15_000;
/** The history of a node is this long; both windows must be in it when the second one ends. */
const historyMs = 120 * 60_000;

export function withAnalysis(state: SetState, input: AnalysisInput): SetState {
  const { analysis } = input.rules;
  if (analysis === undefined || isRejected(state) || isComplete(state)) return state;
  const open = recordsOf(state).find((one) => one.state === 'Observing');
  if (open !== undefined) {
    const done = concluded(state, open, input, analysis);
    return done === undefined ? state : replaced(state, done);
  }
  if (recordOf(state, input.present.wave) !== undefined) return state;
  const begun = opened(state, input, analysis);
  return begun === undefined ? state : replaced(state, begun);
}

export type AnalysisGate = 'None' | 'Observing' | 'Ask' | 'Worse';

/** Whether the next wave has to wait for this one. */
export function gateOf(state: SetState, survey: Survey, { analysis }: SetRules, wave: number): AnalysisGate {
  if (analysis === undefined || analysis.onWorse === 'Report') return 'None';
  const record = recordOf(state, wave);
  if (record === undefined) return canariesOf(state, survey, wave).length > 0 ? 'Observing' : 'None';
  if (record.state === 'Observing') return 'Observing';
  if (record.outcome === 'Worse') return 'Worse';
  return record.outcome === 'CannotTell' && analysis.onCannotTell === 'Pause' ? 'Ask' : 'None';
}

/** The analysis that stops the rollout. */
export function worseIn(state: SetState, { analysis }: SetRules): WaveAnalysis | undefined {
  if (analysis === undefined || analysis.onWorse === 'Report') return undefined;
  return recordsOf(state).find(({ outcome }) => outcome === 'Worse');
}

/** The request to the nodes of the cohort, as long as they can still answer. */
export function requestOf(
  set: string,
  state: SetState,
  nowMs: number,
): (ObserveRequest & { names: string[] }) | undefined {
  const record = recordsOf(state).find((one) => one.state === 'Observing');
  const { before, after, canaries = [], controls = [] } = record ?? {};
  if (record === undefined || before === undefined || after === undefined) return undefined;
  if (nowMs > Date.parse(after[1])) return undefined;
  return { id: idOf(set, record), before, after, names: [...canaries, ...controls] };
}

/** When something will be different without an event. */
export function nextAnalysisMs(state: SetState, { analysis }: SetRules, nowMs: number): number[] {
  const record = recordsOf(state).find((one) => one.state === 'Observing');
  if (analysis === undefined || record?.after === undefined) return [];
  const endMs = Date.parse(record.after[1]);
  return nowMs < endMs ? [endMs] : [Math.min(nowMs + retryMs, Math.max(endMs + graceMs, nowMs + 1000))];
}

export const idOf = (set: string, { revision, attempt, wave }: WaveAnalysis): string =>
  `${set}/${revision}/${attempt}/${wave}`;

/** Newest first. A retry is analyzed again, as far as it assigns nodes. */
function recordsOf(state: SetState): WaveAnalysis[] {
  const { revision, attempt = 1 } = updateOf(state) ?? {};
  return (state.analyses ?? []).filter((one) => one.revision === revision && one.attempt === attempt);
}

export const recordOf = (state: SetState, wave: number): WaveAnalysis | undefined =>
  recordsOf(state).find((one) => one.wave === wave);

function opened(
  state: SetState,
  { set, rules, survey, present: { wave, room }, nowMs }: AnalysisInput,
  analysis: AnalysisRules,
): WaveAnalysis | undefined {
  const { revision = '', attempt = 1 } = updateOf(state) ?? {};
  const canaries = canariesOf(state, survey, wave);
  const phaseOf = (node: SetNode) => survey.phases.get(node);
  const active = canaries.filter((node) => phaseOf(node) === 'trial' || phaseOf(node) === 'updated');
  const [first] = active;
  const isWhole = canaries.length === mostObserved || room === 0;
  const isPending = canaries.some((node) => phaseOf(node) === 'pending');
  const record = { revision, attempt, wave };
  if (first === undefined) {
    const hasFailed = isWhole && !isPending && canaries.length > 0;
    return hasFailed ? { ...record, state: 'Done', ...outcomeOf('CannotTell', 'no canary is active') } : undefined;
  }
  const firstAtMs = Date.parse(first.claim!.at);
  // A wave that rolls slowly is compared by the nodes that have it while the history of the first still has its past.
  const isOverdue = nowMs - firstAtMs > historyMs - 2 * analysis.windowMs - settlingMs - graceMs;
  if ((!isWhole || isPending) && !isOverdue) return undefined;
  const id = idOf(set, { ...record, state: 'Observing' });
  const controls = controlsOf({ id, survey, rules, most: analysis.controls, room, canaries: active, nowMs });
  if (controls.length === 0)
    return { ...record, state: 'Done', ...outcomeOf('NoControls', 'no node of the set was left to compare with') };
  const afterMs = nowMs + settlingMs;
  return {
    ...record,
    state: 'Observing',
    before: [rfc3339(firstAtMs - analysis.windowMs), rfc3339(firstAtMs)],
    after: [rfc3339(afterMs), rfc3339(afterMs + analysis.windowMs)],
    canaries: active.map(({ name }) => name),
    controls: controls.map(({ name }) => name),
  };
}

const outcomeOf = (outcome: AnalysisOutcome, message: string) => ({ outcome, message });

function concluded(
  state: SetState,
  record: WaveAnalysis,
  { set, survey, measured, nowMs }: AnalysisInput,
  analysis: AnalysisRules,
): WaveAnalysis | undefined {
  const endMs = Date.parse(record.after?.[1] ?? '');
  if (nowMs < endMs) return undefined;
  const id = idOf(set, record);
  const isLate = nowMs >= endMs + graceMs;
  const byName = new Map([...survey.phases.keys()].map((node) => [node.name, node]));
  const observed = [...cohort(record)].map(({ name, isCanary }) => {
    const node = byName.get(name);
    const unfit = unfitnessOf(node, isCanary, id, survey);
    return { name, isCanary, node, unfit, answer: node?.observed?.id === id ? node.observed : undefined };
  });
  const queries = analysis.signals.filter(({ prometheus }) => prometheus !== undefined);
  const queried = measured?.id === id ? measured : undefined;
  const isQueried = ({ name }: SignalRule) => queried?.values[name] !== undefined;
  const isWaiting = observed.some(({ unfit, answer }) => !unfit && !answer) || !queries.every(isQueried);
  if (isWaiting && !isLate) return undefined;
  const left = observed.flatMap(({ name, unfit, answer }) =>
    unfit || !answer ? [leftOut(name, unfit ?? leftOutReasons.noAnswer)] : [],
  );
  const nodes = observed.filter(({ unfit, answer }) => !unfit && answer);
  const valuesOf = (rule: SignalRule): ComparedNode[] =>
    nodes.flatMap(({ name, isCanary, node, answer }) => {
      const known = rule.prometheus
        ? queried?.values[rule.name]?.[name]
        : isSignalName(rule.name)
          ? answer?.signals[rule.name]
          : undefined;
      return known === undefined ? [] : [{ ...keyOf(node!), isCanary, before: known[0], after: known[1] }];
    });
  const compared = analysis.signals.map((rule) => {
    const values = valuesOf(rule);
    return { ...rule, floor: rule.prometheus ? floorOf(values) : rule.floor, nodes: values };
  });
  const look =
    1 + Math.max(0, ...(state.analyses ?? []).map((one) => (one.revision === record.revision ? (one.look ?? 0) : 0)));
  const found = compare(compared, look);
  const signals = found.signals.map((signal, index) => analyzed(signal, compared[index]!, queried));
  const outcome = outcomeOfAll(signals, analysis.signals);
  const done: WaveAnalysis = {
    ...record,
    state: 'Done',
    ...(left.length > 0 && { leftOut: left }),
    outcome,
    ...(found.canTell && { look }),
    signals,
  };
  return { ...done, message: shorten(outcomeText(done), 4000) };
}

function* cohort({ canaries = [], controls = [] }: WaveAnalysis) {
  for (const name of canaries) yield { name, isCanary: true };
  for (const name of controls) yield { name, isCanary: false };
}

/** The unit of a query is not known: a tenth of its usual value. The median of all nodes does not depend on which are canaries. */
function floorOf(values: readonly ComparedNode[]): number {
  const known = values.map(({ before }) => before).filter((before) => before > 0);
  return known.length === 0 ? 1e-9 : medianOf(known) / 10;
}

/** Each signal that the strategy names must have a result; of the usual ones, one with a result is enough. */
function outcomeOfAll(signals: readonly AnalyzedSignal[], rules: readonly SignalRule[]): AnalysisOutcome {
  if (signals.some(({ outcome }) => outcome === 'Worse')) return 'Worse';
  const isMissed = ({ outcome }: AnalyzedSignal, index: number) => outcome === 'CannotTell' && rules[index]!.isNamed;
  if (signals.some(isMissed) || signals.every(({ outcome }) => outcome === 'CannotTell')) return 'CannotTell';
  return 'NotWorse';
}

function analyzed(
  { canaries, controls, ...numbers }: SignalComparison,
  { kind, worseBy, nodes }: SignalRule & { nodes: readonly ComparedNode[] },
  queried: Measured | undefined,
): AnalyzedSignal {
  const error = queried?.errors[numbers.name];
  // Zeros everywhere, the usual case of counts, need no points.
  const hasPoints = nodes.some(({ before, after }) => before > 0 || after > 0);
  const groupOf = (group: typeof canaries, isCanary: boolean) => ({
    ...group,
    before: rounded(group.before),
    after: rounded(group.after),
    ...(hasPoints && {
      points: nodes
        .filter((node) => node.isCanary === isCanary)
        .map(({ before, after }): [number, number] => [rounded(before), rounded(after)]),
    }),
  });
  return {
    ...numbers,
    kind,
    effect: rounded(numbers.effect),
    p: rounded(numbers.p),
    spread: rounded(numbers.spread),
    worseBy,
    canaries: groupOf(canaries, true),
    controls: groupOf(controls, false),
    ...(error && { error: shorten(error, 1000) }),
  };
}

/** Four digits: the status is small. */
const rounded = (value: number): number => Number(value.toPrecision(4));

/** The newest entry has names and points; of the others the numbers stay. */
function replaced(state: SetState, record: WaveAnalysis): SetState {
  const isSame = (one: WaveAnalysis) =>
    one.revision === record.revision && one.attempt === record.attempt && one.wave === record.wave;
  const others = (state.analyses ?? []).filter((one) => !isSame(one));
  // The last wave has nothing to show that the one before it has not.
  const kept = record.outcome === 'NoControls' ? others : others.map(shortened);
  return { ...state, analyses: [record, ...kept].slice(0, mostAnalyses) };
}

function shortened({ canaries: _, controls: __, leftOut: ___, signals = [], ...record }: WaveAnalysis): WaveAnalysis {
  const withoutPoints = ({ points: _points, ...group }: AnalyzedSignal['canaries']) => group;
  return {
    ...record,
    ...(signals.length > 0 && {
      signals: signals.map((one) => ({
        ...one,
        canaries: withoutPoints(one.canaries),
        controls: withoutPoints(one.controls),
      })),
    }),
  };
}
