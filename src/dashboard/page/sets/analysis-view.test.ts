/** Plots of analyses. */
import { describe, expect, test } from 'vitest';
import type { AnalyzedGroup, AnalyzedSignal } from '../../../api/node-config-set.js';
import { inOrder, plotOf, plotSize } from './analysis-view.js';

const group = (points: [number, number][], [before, after]: [number, number] = [0, 0]): AnalyzedGroup => ({
  nodes: points.length,
  worse: 0,
  before,
  after,
  points,
});
const { top, bottom } = plotSize;
const middle = (top + bottom) / 2;

describe('the plot of a signal', () => {
  test('a level is on a logarithmic scale, with a line a node and the median of each group', () => {
    const canaries = group([[1, 4]], [1, 4]);
    const controls = group([[2, 2]], [2, 2]);
    expect(plotOf({ name: 'podStartSeconds', kind: 'level', canaries, controls })).toEqual({
      lines: { canaries: [{ from: bottom, to: top }], controls: [{ from: middle, to: middle }] },
      medians: { canaries: { from: bottom, to: top }, controls: { from: middle, to: middle } },
      ticks: [
        { y: bottom, text: '1 s' },
        { y: top, text: '4 s' },
      ],
    });
  });

  test('a count begins at 0, reaches at least 1, and has no median', () => {
    const plot = plotOf({ name: 'restarts', kind: 'count', canaries: group([[0, 0]]), controls: group([[0, 0]]) });
    expect(plot?.ticks.map(({ text }) => text)).toEqual(['0', '1']);
    expect(plot?.lines.canaries).toEqual([{ from: bottom, to: bottom }]);
    expect(plot?.medians).toEqual({});
  });

  test('a value below the floor is drawn at the floor', () => {
    const canaries = group([[0, 0.2]], [0, 0.2]);
    const plot = plotOf({ name: 'memoryPressure', kind: 'level', canaries, controls: group([]) });
    expect(plot?.ticks.map(({ text }) => text)).toEqual(['0.1 %', '20 %']);
    expect(plot?.lines).toEqual({ canaries: [{ from: bottom, to: top }], controls: [] });
  });

  test('small differences look small', () => {
    const plot = plotOf({ name: 'podStartSeconds', kind: 'level', canaries: group([[2, 2.1]]), controls: group([]) });
    const [{ from, to } = { from: 0, to: 0 }] = plot?.lines.canaries ?? [];
    expect(from - to).toBeGreaterThan(0);
    expect(from - to).toBeLessThan((bottom - top) / 10);
  });

  test.each([
    ['zeros', [[0, 0]]],
    ['one value', [[5, 5]]],
    ['zero and a value', [[0, 7]]],
  ] as [string, [number, number][]][])('the values of a query may be %s', (_what, points) => {
    const plot = plotOf({ name: 'appErrors', kind: 'level', canaries: group(points), controls: group([]) });
    for (const { from, to } of plot!.lines.canaries)
      for (const y of [from, to]) expect(y >= top && y <= bottom, String(y)).toBe(true);
  });

  test('without values there is none', () => {
    const none = { nodes: 0, worse: 0, before: 0, after: 0 };
    expect(plotOf({ name: 'restarts', kind: 'count', canaries: none, controls: none })).toBeUndefined();
  });
});

test('signals that are worse come first', () => {
  const signal = (name: string, outcome: AnalyzedSignal['outcome']) => ({ name, outcome }) as AnalyzedSignal;
  const all = [signal('a', 'CannotTell'), signal('b', 'NotWorse'), signal('c', 'Worse'), signal('d', 'NotWorse')];
  expect(inOrder(all).map(({ name }) => name)).toEqual(['c', 'b', 'd', 'a']);
});
