/**
 * The sampler's history: one sample a minute for two hours, in a record of fixed length that is replaced atomically. Pure.
 *
 *   sample: [wall clock ms, monotonic ms, value of each column or null]
 *
 * Windows are in wall-clock time, rates in monotonic time. If the wall clock was set between two samples, or a counter restarted,
 * nothing is counted between the two. A window of which less than half is covered has no value.
 */
import { type Column, columns, type Reading } from './host-reading.js';

/** Milliseconds since the epoch. */
export interface Window {
  from: number;
  to: number;
}

export type Sample = (number | null)[];

export interface HistoryRecord {
  /** Id of the boot: counters of another boot are not comparable. */
  boot: string;
  columns: string[];
  samples: Sample[];
}

export const sampleMs = 60_000;
export const mostSamples = 120;
/** The sampler may be late, on a busy machine. */
const longestGapMs = 3 * sampleMs;
const clockJumpMs = 5000;
const names = Object.keys(columns) as Column[];

export const emptyHistory = (boot: string): HistoryRecord => ({ boot, columns: names, samples: [] });

/** The record, if it is of this boot and of this version of relet: other columns would be taken for these. */
export const usable = (record: HistoryRecord | undefined, boot: string): HistoryRecord =>
  record?.boot === boot && record.columns.join() === names.join() ? record : emptyHistory(boot);

export function addSample(
  record: HistoryRecord,
  reading: Reading,
  at: { wallMs: number; monotonicMs: number },
): HistoryRecord {
  const sample = [Math.round(at.wallMs), Math.round(at.monotonicMs), ...names.map((name) => reading[name] ?? null)];
  return { ...record, samples: [...record.samples, sample].slice(-mostSamples) };
}

export function lastReading({ samples }: HistoryRecord): Reading {
  const last = samples.at(-1);
  const values = names.flatMap((name, at) => {
    const value = last?.[at + 2];
    return typeof value === 'number' ? [[name, value]] : [];
  });
  return Object.fromEntries(values);
}

/** How much of the window lies between two samples that belong together, from 0 to 1. */
export const coverage = (record: HistoryRecord, window: Window): number =>
  pairsIn(record, window).reduce((sum, { ms }) => sum + ms, 0) / (window.to - window.from);

/** Growth of a counter per millisecond of the window; undefined if that is not known. */
export function rateOf(record: HistoryRecord, column: Column, window: Window): number | undefined {
  const grown = growthOf(record, column, window);
  return grown && grown.by / grown.ms;
}

/** Growth of a counter in the part of the window that is covered, and how long that is. */
export function growthOf(
  record: HistoryRecord,
  column: Column,
  window: Window,
): { by: number; ms: number } | undefined {
  const at = names.indexOf(column) + 2;
  let [by, ms] = [0, 0];
  for (const { first, second, ms: pairMs } of pairsIn(record, window)) {
    const [before, after] = [first[at], second[at]];
    // Smaller: the cgroup was made again.
    if (typeof before !== 'number' || typeof after !== 'number' || after < before) continue;
    by += after - before;
    ms += pairMs;
  }
  return ms >= (window.to - window.from) / 2 ? { by, ms } : undefined;
}

/** Mean of a gauge; undefined if less than half of the samples have it. */
export function meanOf(record: HistoryRecord, column: Column, window: Window): number | undefined {
  const at = names.indexOf(column) + 2;
  const values = pairsIn(record, window).flatMap(({ second }) => (typeof second[at] === 'number' ? [second[at]] : []));
  const isEnough = values.length * sampleMs >= (window.to - window.from) / 2;
  return isEnough ? values.reduce((sum, value) => sum + value, 0) / values.length : undefined;
}

/** Samples after each other of which the second is in the window, unless the clock was set between them. */
function pairsIn({ samples }: HistoryRecord, { from, to }: Window): { first: Sample; second: Sample; ms: number }[] {
  return samples.slice(1).flatMap((second, index) => {
    const first = samples[index]!;
    const [wallMs, ms] = [second[0]! - first[0]!, second[1]! - first[1]!];
    const isInside = second[0]! > from && second[0]! <= to;
    const belongs = ms > 0 && ms <= longestGapMs && Math.abs(wallMs - ms) <= clockJumpMs;
    return isInside && belongs ? [{ first, second, ms }] : [];
  });
}

export function isHistory(value: unknown): value is HistoryRecord {
  const { boot, columns: kept, samples } = (value ?? {}) as Partial<HistoryRecord>;
  return (
    typeof boot === 'string' &&
    Array.isArray(kept) &&
    kept.every((name) => typeof name === 'string') &&
    Array.isArray(samples) &&
    samples.length <= mostSamples &&
    samples.every((sample) => isSample(sample, kept.length))
  );
}

function isSample(value: unknown, width: number): value is Sample {
  if (!Array.isArray(value) || value.length !== width + 2) return false;
  return value.every((one, at) => (one === null && at > 1) || (typeof one === 'number' && Number.isFinite(one)));
}
