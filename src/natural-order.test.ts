/** The order of names, as people count. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byNaturalOrder } from './natural-order.js';

test.each([
  ['node-1', 'node-9', 'node-10'],
  ['pool-a-2', 'pool-a-10', 'pool-b-2'],
  ['node-001', 'node-01', 'node-1', 'node-2'],
  ['ip-10-0-2-4', 'ip-10-0-2-30', 'ip-10-0-12-3'],
  ['a', 'node', 'node-1', 'node-1a'],
])('%s comes before %s', (...names) => {
  expect([...names].reverse().sort(byNaturalOrder)).toEqual(names);
});

test('it is a total order: equal only to itself, and the same in both directions', () => {
  const name = fc.stringMatching(/^[a-c0-2-]{0,6}$/);
  fc.assert(
    fc.property(name, name, name, (a, b, c) => {
      expect(Math.sign(byNaturalOrder(a, b))).toBe(0 - Math.sign(byNaturalOrder(b, a)));
      expect(byNaturalOrder(a, b) === 0).toBe(a === b);
      const [first, second, third] = [a, b, c].sort(byNaturalOrder);
      expect(byNaturalOrder(first!, third!)).toBeLessThanOrEqual(0);
      expect(byNaturalOrder(second!, third!)).toBeLessThanOrEqual(0);
    }),
  );
});
