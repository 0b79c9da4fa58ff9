/** The effects that the waves of a set could notice. */
import { expect, test } from 'vitest';
import type { WaveAnalysis } from '../../api/node-config-set.js';
import { powerOf, powerTexts, spreadText } from './power.js';
import { leastSum, rankTest } from './rank-test.js';
import { readAnalysis } from './rules.js';

const rules = readAnalysis({}, []);

test('more nodes find more, one canary cannot tell, and the last wave is not compared', () => {
  const report = powerOf(rules, [1, 4, 15, 0, 80], {})!;
  expect(report.waves.map(({ state }) => state)).toEqual(['CannotTell', 'Compared', 'Compared', 'NoControls']);
  const [, few = 0, many = 0] = report.waves.map(({ found }) => found);
  expect(few).toBeGreaterThan(0.3);
  expect(many).toBeGreaterThan(few);
  expect(powerTexts(report)[0]).toBe('wave 1, 1 against 50 nodes: cannot tell, these are too few');
  expect(powerTexts(report)[2]).toMatch(/^wave 3, 15 against 50 nodes: podStartSeconds × 1\.5 is found with \d+ %$/);
  expect(powerOf(rules, [1, 4, 15, 0, 80], {})).toEqual(report);
});

test('the spread of earlier answers is used: calm nodes show smaller effects', () => {
  const group = { nodes: 5, worse: 0, before: 1, after: 1 };
  const numbers = {
    outcome: 'NotWorse',
    effect: 0,
    worseBy: 0.25,
    p: 1,
    alpha: 0.05,
    canaries: group,
    controls: group,
  } as const;
  const analyses: WaveAnalysis[] = [
    {
      revision: 'old',
      attempt: 1,
      wave: 1,
      state: 'Done',
      signals: [{ ...numbers, name: 'podStartSeconds', kind: 'level', spread: 0.05 }],
    },
  ];
  const report = powerOf(rules, [5, 45], { analyses })!;
  expect(report.waves[0]!.found).toBe(1);
  expect(spreadText(report)).toBe(
    'nodes differ by 5 % from one window to the next, as earlier answers of the set show',
  );
});

test('signals without a level have no power to show', () => {
  expect(powerOf(readAnalysis({ signals: [{ name: 'oomKills' }] }, []), [5, 45], {})).toBeUndefined();
});

test('the least sum is the first whose p is within alpha', () => {
  const least = leastSum(3, 10, 0.01)!;
  const sumOf = (ranks: number[]) => {
    const all = Array.from({ length: 13 }, (_, rank) => rank);
    return rankTest([{ canaries: ranks, controls: all.filter((rank) => !ranks.includes(rank)) }]).p;
  };
  const ranks = [least - 12 - 11, 11, 12];
  expect(sumOf(ranks)).toBeLessThanOrEqual(0.01);
  expect(sumOf([ranks[0]! - 1, 11, 12])).toBeGreaterThan(0.01);
  expect(leastSum(1, 19, 0.01)).toBeUndefined();
});
