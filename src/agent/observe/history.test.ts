/** The history of a host: rates over windows, and what is missing. */
import { describe, expect, test } from 'vitest';
import {
  addSample,
  coverage,
  emptyHistory,
  growthOf,
  type HistoryRecord,
  isHistory,
  lastReading,
  meanOf,
  mostSamples,
  rateOf,
  usable,
} from './history.js';
import type { Reading } from './host-reading.js';

const start = Date.parse('2026-03-01T10:00:00Z');
const minute = 60_000;
const window = { from: start, to: start + 10 * minute };

/** A reading each minute from the start on. `skewMs`: the wall clock at that minute. */
function historyOf(readings: Reading[], skewMs: (at: number) => number = () => 0): HistoryRecord {
  return readings.reduce<HistoryRecord>(
    (record, reading, at) =>
      addSample(record, reading, { wallMs: start + at * minute + skewMs(at), monotonicMs: 5000 + at * minute }),
    emptyHistory('boot-1'),
  );
}

const growing = (byEach: number, length = 11) => Array.from({ length }, (_, at) => ({ memoryFullUs: at * byEach }));

describe('history', () => {
  test('keeps two hours', () => {
    const record = historyOf(growing(1, 300));
    expect(record.samples).toHaveLength(mostSamples);
    expect(lastReading(record)).toEqual({ memoryFullUs: 299 });
    expect(isHistory(JSON.parse(JSON.stringify(record)))).toBe(true);
  });

  test('of another boot, or with other columns, is not used', () => {
    const record = historyOf(growing(1));
    expect(usable(record, 'boot-1')).toBe(record);
    expect(usable(record, 'boot-2').samples).toEqual([]);
    expect(usable({ ...record, columns: ['old'] }, 'boot-1').samples).toEqual([]);
    expect(usable(undefined, 'boot-1').samples).toEqual([]);
  });

  test.each([
    ['no object', null],
    ['a sample without a value', { ...historyOf(growing(1)), samples: [[1, 2]] }],
    ['a sample without a time', { boot: 'b', columns: ['a'], samples: [[null, 2, 3]] }],
    ['a value that is not a number', { boot: 'b', columns: ['a'], samples: [[1, 2, 'x']] }],
    ['more than it keeps', { boot: 'b', columns: [], samples: Array.from({ length: 121 }, () => [1, 2]) }],
  ])('on disk is not taken with %s', (_name, value) => {
    expect(isHistory(value)).toBe(false);
  });
});

describe('rate of a counter', () => {
  test('is its growth in the window', () => {
    const record = historyOf(growing(6_000_000, 30));
    expect(rateOf(record, 'memoryFullUs', window)).toBe(100);
    expect(coverage(record, window)).toBe(1);
  });

  test('leaves out the minute in which the counter started again', () => {
    const readings = growing(600).map((reading, at) => (at < 5 ? reading : { memoryFullUs: (at - 5) * 600 }));
    expect(growthOf(historyOf(readings), 'memoryFullUs', window)).toEqual({ by: 9 * 600, ms: 9 * minute });
  });

  test('is missing, not 0, where less than half of the window is known', () => {
    const known = (count: number) => historyOf(growing(600).map((reading, at) => (at <= count ? reading : {})));
    expect(rateOf(known(5), 'memoryFullUs', window)).toBe(0.01);
    expect(rateOf(known(4), 'memoryFullUs', window)).toBeUndefined();
    expect(rateOf(historyOf(growing(600)), 'cpuSomeUs', window)).toBeUndefined();
  });

  test('counts nothing over a minute in which the wall clock was set, in either direction', () => {
    const forward = historyOf(growing(600), (at) => (at < 5 ? 0 : 40_000));
    expect(growthOf(forward, 'memoryFullUs', window)?.ms).toBe(8 * minute);
    const back = historyOf(growing(600, 13), (at) => (at < 5 ? 0 : -40_000));
    expect(growthOf(back, 'memoryFullUs', window)?.ms).toBe(9 * minute);
  });

  test('does not bridge the time in which no agent ran', () => {
    const record = historyOf(growing(600));
    const gap = { ...record, samples: record.samples.filter((_, at) => at < 3 || at > 8) };
    expect(coverage(gap, window)).toBeCloseTo(0.3);
    expect(rateOf(gap, 'memoryFullUs', window)).toBeUndefined();
  });
});

test('the mean of a gauge needs half of the minutes', () => {
  const record = historyOf(Array.from({ length: 11 }, (_, at) => (at > 5 ? { kubeletBytes: at } : {})));
  expect(meanOf(record, 'kubeletBytes', window)).toBe(8);
  expect(meanOf(record, 'kubeletBytes', { ...window, from: start - 10 * minute })).toBeUndefined();
});
