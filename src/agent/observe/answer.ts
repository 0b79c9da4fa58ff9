/**
 * Computes the answer of this node to an observation request: each signal before and after the change. Pure. A signal that is unknown
 * in either window is left out.
 *
 *        before            first list                 second list
 *   ├──────────────┤·····├────────────── after ──────────────┤
 *    counts: before │ counts: after, from the end of `before` on: a kubelet evicts and rejects pods in its first seconds
 */

import type { KubeObject } from '../../api/object.js';
import { type Observed, type ObserveRequest, unfitReasons } from '../../api/observe.js';
import { type SignalName, signals } from '../../api/signals.js';
import { coverage, growthOf, type HistoryRecord, meanOf, rateOf, type Window } from './history.js';
import { lostReadyIn, lostReadySince, podCounts, podStartSeconds, readyPods } from './pod-signals.js';

export interface Windows {
  before: Window;
  after: Window;
}

export function windowsOf({ before, after }: ObserveRequest): Windows {
  const window = ([from, to]: readonly [string, string]) => ({ from: Date.parse(from), to: Date.parse(to) });
  return { before: window(before), after: window(after) };
}

type Values = Partial<Record<SignalName, number>>;

/** Facts of the first list that the answer needs: `before`, and who was Ready. Kept on disk until the second list. */
export interface FirstList {
  at: number;
  values: Values;
  ready: string[];
}

/** A first list later than this does not show which pods were Ready when `after` began. */
const lateMs = 120_000;

export function firstList(pods: readonly KubeObject[], { before }: Windows, now: number): FirstList {
  const values = { ...podCounts(pods, before), lostReady: lostReadyIn(pods, before), ...started(pods, before) };
  return { at: now, values, ready: readyPods(pods) };
}

function podsAfter(pods: readonly KubeObject[], first: FirstList, { before, after }: Windows): Values {
  const isLate = first.at > after.from + lateMs;
  return {
    ...podCounts(pods, { from: before.to, to: after.to }),
    ...(!isLate && { lostReady: lostReadySince(pods, new Set(first.ready)) }),
    ...started(pods, after),
  };
}

function started(pods: readonly KubeObject[], window: Window): Values {
  const seconds = podStartSeconds(pods, window);
  return seconds === undefined ? {} : { podStartSeconds: seconds };
}

/** Levels of the host in one window, and the kills outside of pods. */
export function hostValues(history: HistoryRecord, window: Window): Values {
  const periods = growthOf(history, 'periods', window)?.by;
  const throttled = growthOf(history, 'throttled', window)?.by;
  const perMs = (us: number | undefined) => us && us / 1000;
  const values: Record<string, number | undefined> = {
    memoryPressure: perMs(rateOf(history, 'memoryFullUs', window)),
    cpuPressure: perMs(rateOf(history, 'cpuSomeUs', window)),
    ioPressure: perMs(rateOf(history, 'ioSomeUs', window)),
    // Without a pod that has a limit there is nothing to throttle.
    cpuThrottled: periods && throttled !== undefined ? throttled / periods : undefined,
    systemOomKills: growthOf(history, 'systemOomKills', window)?.by,
    kubeletCpu: perMs(rateOf(history, 'kubeletCpuUs', window)),
    runtimeCpu: perMs(rateOf(history, 'runtimeCpuUs', window)),
    kubeletMemory: meanOf(history, 'kubeletBytes', window),
    runtimeMemory: meanOf(history, 'runtimeBytes', window),
    runtimeMemoryPeak: meanOf(history, 'runtimePeakBytes', window),
    podTasks: meanOf(history, 'podTasks', window),
    systemMemory: meanOf(history, 'systemBytes', window),
    systemMemoryPressure: perMs(rateOf(history, 'systemMemoryFullUs', window)),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

export interface PodLists {
  first: FirstList;
  second: readonly KubeObject[];
}

export interface AnswerFacts extends PodLists {
  history: HistoryRecord;
  /** Wall clock. Undefined if it is not known. */
  bootedAt: number | undefined;
}

export function answer(request: ObserveRequest, { history, bootedAt, first, second }: AnswerFacts): Observed {
  const { id } = request;
  const windows = windowsOf(request);
  const [booted, noHistory] = unfitReasons;
  if (bootedAt !== undefined && bootedAt > windows.before.from) return { id, signals: {}, unfit: booted };
  if (Math.min(coverage(history, windows.before), coverage(history, windows.after)) < 0.5)
    return { id, signals: {}, unfit: noHistory };
  const before = { ...first.values, ...hostValues(history, windows.before) };
  const after = { ...podsAfter(second, first, windows), ...hostValues(history, windows.after) };
  return { id, signals: pairs(before, after) };
}

/** Signals that both have. Rounded to four digits: the answer is small, and no comparison needs more. */
export function pairs(before: Values, after: Values): Observed['signals'] {
  const names = Object.keys(signals) as SignalName[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = [before[name], after[name]];
      return values.every((value) => value !== undefined) ? [[name, values.map((value) => shown(name, value))]] : [];
    }),
  );
}

function shown(name: SignalName, value: number): number {
  const { kind, most } = signals[name];
  return Math.min(most, kind === 'count' ? Math.round(value) : Number(value.toPrecision(4)));
}
