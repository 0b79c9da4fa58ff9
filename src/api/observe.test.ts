/** Reading of requests and answers, which anybody with access to the API may write. */
import { expect, test } from 'vitest';
import { observeAnnotation, observeRequestOf, observeText, readObserve, readObserved } from './observe.js';
import { defaultSignals, signals } from './signals.js';

const request = {
  id: 'gpu/1f0c2d3e4f/1/2',
  before: ['2026-03-01T10:00:00Z', '2026-03-01T10:10:00Z'],
  after: ['2026-03-01T10:12:00Z', '2026-03-01T10:22:00Z'],
} as const;

test('a request is read as it was written', () => {
  const metadata = { name: 'node-1', annotations: { [observeAnnotation]: observeText(request) } };
  expect(observeRequestOf({ metadata })).toEqual(request);
  expect(observeRequestOf({ metadata: { name: 'node-2' } })).toBeUndefined();
});

test.each([
  ['no annotation', undefined],
  ['another text', 'soon'],
  ['no id', JSON.stringify({ ...request, id: '' })],
  ['a window of a day', JSON.stringify({ ...request, after: ['2026-03-01T10:12:00Z', '2026-03-02T10:12:00Z'] })],
  ['a window that ends before it begins', JSON.stringify({ ...request, before: [...request.before].reverse() })],
  ['windows that overlap', JSON.stringify({ ...request, after: request.before })],
  ['a time that is none', JSON.stringify({ ...request, after: ['now', 'later'] })],
])('%s is not a request', (_name, text) => {
  expect(readObserve(text)).toBeUndefined();
});

test('values out of range and unknown signals of an answer count as no answer', () => {
  const signals = {
    oomKills: [0, 2],
    evictions: [0, 1.5],
    restarts: [-1, 0],
    lostReady: [0, 1e9],
    memoryPressure: [0, 1.01],
    podStartSeconds: [1.9, Number.NaN],
    cpuPressure: [0.1],
    rejectedPods: '0,0',
    other: [1, 2],
  };
  expect(readObserved({ id: 'a', signals })).toEqual({ id: 'a', signals: { oomKills: [0, 2] } });
  expect(readObserved({ id: 'a', signals: 7, unfit: 'Booted' })).toEqual({ id: 'a', signals: {}, unfit: 'Booted' });
  expect(readObserved({ id: 1 })).toBeUndefined();
});

test('only levels have a floor, and the default signals are known ones', () => {
  for (const { kind, floor, most } of Object.values(signals)) {
    expect(floor > 0).toBe(kind === 'level');
    expect(most).toBeGreaterThan(floor);
  }
  expect(defaultSignals.every((name) => signals[name] !== undefined)).toBe(true);
});
