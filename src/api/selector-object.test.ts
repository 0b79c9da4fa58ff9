/** Selectors as object and as text. */
import { expect, test } from 'vitest';
import { selectorObject, selectorText } from './selector-object.js';

test.each([
  ['', {}],
  ['pool=gpu', { matchLabels: { pool: 'gpu' } }],
  ['pool=gpu,zone=a', { matchLabels: { pool: 'gpu', zone: 'a' } }],
  [
    'pool=gpu,zone in (a,b),env notin (test),gpu,!old',
    {
      matchLabels: { pool: 'gpu' },
      matchExpressions: [
        { key: 'zone', operator: 'In', values: ['a', 'b'] },
        { key: 'env', operator: 'NotIn', values: ['test'] },
        { key: 'gpu', operator: 'Exists' },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    },
  ],
])('%s is the same selector as text and as object', (text, object) => {
  expect(selectorObject(text)).toEqual(object);
  expect(selectorText(selectorObject(text))).toBe(text);
});

test('two values for one label select nothing, also as an object', () => {
  expect(selectorObject('pool=a,pool=b').matchExpressions).toHaveLength(2);
});

test('a comparison has no form as an object', () => {
  expect(() => selectorObject('cpus>4')).toThrow("a set cannot select by cpus > 4; use 'in' with the values");
});
