/** The exact test against scipy's answers (test/evidence/rank-tests.jsonl), and what must hold for any values. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readEvidence } from '../../../test/evidence/read.js';
import { effectOf, rankTest, type Stratum, smallestP } from './rank-test.js';

interface Case {
  strata: Stratum[];
  p: number;
  smallest: number;
  effect: number;
}

test('scipy gives the same p, smallest p and effect for hundreds of layouts, with ties and strata', () => {
  const [, ...cases] = readEvidence<Case>('rank-tests.jsonl');
  expect(cases.length).toBeGreaterThan(300);
  for (const { strata, p, smallest, effect } of cases) {
    const found = rankTest(strata);
    expect(found.p, JSON.stringify(strata)).toBeCloseTo(p, 10);
    expect(found.smallest).toBeCloseTo(smallest, 12);
    expect(effectOf(strata)).toBeCloseTo(effect, 9);
  }
});

const numbers = (least: number, most: number) =>
  fc.array(fc.integer({ min: -20, max: 20 }), { minLength: least, maxLength: most });
const stratum = fc.record({ canaries: numbers(1, 5), controls: numbers(3, 9) });
const strata = fc.array(stratum, { minLength: 1, maxLength: 3 });
const mapped = (of: readonly Stratum[], change: (value: number) => number): Stratum[] =>
  of.map(({ canaries, controls }) => ({ canaries: canaries.map(change), controls: controls.map(change) }));

describe('for any values', () => {
  test('the order of the nodes and of the strata does not matter', () => {
    fc.assert(
      fc.property(strata, (of) => {
        const turned = of
          .map(({ canaries, controls }) => ({ canaries: canaries.toReversed(), controls: controls.toReversed() }))
          .reverse();
        expect(rankTest(turned).p).toBeCloseTo(rankTest(of).p, 10);
        expect(effectOf(turned)).toBe(effectOf(of));
      }),
    );
  });

  test('the scale and the origin do not matter', () => {
    fc.assert(
      fc.property(strata, fc.integer({ min: 1, max: 9 }), fc.integer({ min: -9, max: 9 }), (of, scale, origin) => {
        const scaled = mapped(of, (value) => value * scale + origin);
        expect(rankTest(scaled)).toEqual(rankTest(of));
        expect(effectOf(scaled)).toBe(effectOf(of) * scale);
      }),
    );
  });

  test('more harm to all canaries never gives a larger p or a smaller effect', () => {
    fc.assert(
      fc.property(strata, fc.integer({ min: 1, max: 9 }), (of, harm) => {
        // Without ties between the groups: halves.
        const apart = of.map(({ canaries, controls }) => ({ canaries: canaries.map((one) => one + 0.5), controls }));
        const harmed = apart.map(({ canaries, controls }) => ({
          canaries: canaries.map((one) => one + harm),
          controls,
        }));
        expect(effectOf(harmed)).toBeGreaterThan(effectOf(apart));
        // Compared as sums of ranks of one layout, so only where the canaries tie with nobody.
        fc.pre([...apart, ...harmed].every(({ canaries, controls }) => isWithoutTies([...canaries, ...controls])));
        expect(rankTest(harmed).p).toBeLessThanOrEqual(rankTest(apart).p + 1e-12);
      }),
    );
  });

  test('no p is below the smallest of its values, and that is not below the smallest of the layout', () => {
    fc.assert(
      fc.property(strata, (of) => {
        const { p, smallest } = rankTest(of);
        expect(p).toBeGreaterThanOrEqual(smallest * (1 - 1e-9));
        expect(smallest).toBeGreaterThanOrEqual(smallestP(of) * (1 - 1e-9));
      }),
    );
  });
});

const isWithoutTies = (values: readonly number[]): boolean => new Set(values).size === values.length;

test.each([
  [1, 3, 1 / 4],
  [1, 19, 1 / 20],
  [3, 3, 1 / 20],
  [3, 10, 1 / 286],
  [5, 5, 1 / 252],
])('%i canaries and %i controls cannot have a p below %f', (canaries, controls, smallest) => {
  const of = (length: number, from: number) => Array.from({ length }, (_, at) => from + at);
  const layout = [{ canaries: of(canaries, 100), controls: of(controls, 0) }];
  expect(smallestP(layout)).toBeCloseTo(smallest, 12);
  expect(rankTest(layout).p).toBeCloseTo(smallest, 12);
});

test('values that are all equal show nothing', () => {
  expect(rankTest([{ canaries: [0, 0], controls: [0, 0, 0, 0] }])).toEqual({ p: 1, smallest: 1 });
});
