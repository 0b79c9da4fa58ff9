/** Which signals of a cohort are worse, and when it cannot tell. */
import { describe, expect, test } from 'vitest';
import { type ComparedNode, type ComparedSignal, compare } from './compare.js';
import { strataOf } from './strata.js';

const key = { minor: '1.34', instanceType: 'm5.large', zone: 'a' };

/** Nodes whose changes are all different, so that there are no ties. */
function nodes(count: number, isCanary: boolean, factor = 1): ComparedNode[] {
  return Array.from({ length: count }, (_, at) => {
    const before = 2 + (isCanary ? 0.013 : 0) + at / 100;
    return { ...key, isCanary, before, after: before * factor * (1 + ((at * 7) % 10) / 100) };
  });
}

const level = (canaries: number, controls: number, factor: number): ComparedSignal => ({
  name: 'podStartSeconds',
  kind: 'level',
  floor: 0.05,
  worseBy: 0.25,
  nodes: [...nodes(canaries, true, factor), ...nodes(controls, false)],
});

const counts = (canaries: readonly number[], controls: readonly number[], worseBy = 0): ComparedSignal => ({
  name: 'oomKills',
  kind: 'count',
  floor: 0,
  worseBy,
  nodes: [
    ...canaries.map((after) => ({ ...key, isCanary: true, before: 0, after })),
    ...controls.map((after) => ({ ...key, isCanary: false, before: 0, after })),
  ],
});

const zeros = (count: number): number[] => new Array(count).fill(0);
const outcomes = (signals: ComparedSignal[], look = 1) => compare(signals, look).signals.map(({ outcome }) => outcome);

describe('levels', () => {
  test('pods that start half as fast on 5 canaries, and not on 45 controls, are worse', () => {
    const [signal] = compare([level(5, 45, 1.5)], 1).signals;
    expect(signal).toMatchObject({
      outcome: 'Worse',
      canaries: { nodes: 5, worse: 5 },
      controls: { nodes: 45, worse: 0 },
    });
    expect(signal!.effect).toBeCloseTo(0.5, 1);
  });

  test('an effect that is sure and smaller than worseBy is not worse', () => {
    const [signal] = compare([level(10, 50, 1.2)], 1).signals;
    expect(signal!.p).toBeLessThan(0.001);
    expect(signal!.outcome).toBe('NotWorse');
  });

  test('values below the floor are raised to it', () => {
    const quiet = { ...level(5, 45, 1), floor: 10 };
    expect(compare([quiet], 1).signals[0]).toMatchObject({ outcome: 'NotWorse', effect: 0, p: 1 });
  });
});

describe('counts', () => {
  test('workloads killed on 3 of 10 canaries, and on no control, are worse', () => {
    expect(outcomes([counts([1, 1, 1, ...zeros(7)], zeros(50))])).toEqual(['Worse']);
  });

  test('the same on canaries and controls alike is not', () => {
    expect(outcomes([counts([1, 1, 1, ...zeros(7)], [...new Array(15).fill(1), ...zeros(35)])])).toEqual(['NotWorse']);
  });

  test('fewer than worseBy workloads a node is not', () => {
    expect(outcomes([counts([1, 1, 1, ...zeros(7)], zeros(50), 0.5)])).toEqual(['NotWorse']);
  });
});

describe('what a layout can show', () => {
  test('one canary and 27 controls cannot tell, and spend nothing', () => {
    const found = compare([level(1, 27, 5), counts([9], zeros(27))], 1);
    expect(found.signals.map(({ outcome }) => outcome)).toEqual(['CannotTell', 'CannotTell']);
    expect(found.canTell).toBe(false);
  });

  test('a later look needs more nodes for the same answer', () => {
    expect(outcomes([level(1, 50, 5)], 1)).toEqual(['Worse']);
    expect(outcomes([level(1, 50, 5)], 2)).toEqual(['CannotTell']);
  });

  test('signals that are zero everywhere cost the others nothing', () => {
    const quiet = ['evictions', 'restarts'].map((name) => ({ ...counts([0], zeros(50)), name }));
    expect(outcomes([level(1, 50, 5), ...quiet])).toEqual(['Worse', 'NotWorse', 'NotWorse']);
  });

  test('without an answer it cannot tell', () => {
    const found = compare([{ ...level(0, 0, 1), nodes: [] }], 1);
    expect(found).toMatchObject({ canTell: false, signals: [{ outcome: 'CannotTell', effect: 0, p: 1 }] });
  });
});

describe('strata', () => {
  const change = (zone: string, isCanary: boolean, more: object = {}) => ({
    ...key,
    zone,
    isCanary,
    change: 0,
    ...more,
  });
  const sizes = (changes: ReturnType<typeof change>[]) =>
    strataOf(changes).map(({ canaries, controls }) => [canaries.length, controls.length]);
  const many = (count: number, one: ReturnType<typeof change>) => new Array(count).fill(one);

  test('zones with enough of both stay apart', () => {
    const a = [change('a', true), ...many(3, change('a', false))];
    expect(sizes([...a, ...a.map((one) => ({ ...one, zone: 'b' }))])).toEqual([
      [1, 3],
      [1, 3],
    ]);
  });

  test('a zone without canaries is merged with another zone', () => {
    expect(sizes([change('a', true), ...many(3, change('a', false)), ...many(5, change('b', false))])).toEqual([
      [1, 8],
    ]);
  });

  test('an instance type with too few is merged with another one of the same minor', () => {
    const small = { instanceType: 'm5.xlarge' };
    expect(
      sizes([change('a', true), ...many(3, change('a', false)), change('a', true, small), change('b', false, small)]),
    ).toEqual([[2, 4]]);
  });

  test('minors are never merged: canaries without controls of their minor are left out', () => {
    expect(sizes([change('a', true, { minor: '1.33' }), change('a', true), ...many(3, change('a', false))])).toEqual([
      [1, 3],
    ]);
  });
});
