/** Copies of hostile maps. */
import { expect, test } from 'vitest';
import { canonical } from './canonical.js';
import { copy } from './copy.js';
import { mergeKeys } from './merge-fields.js';

const hostile = () => JSON.parse('{"b": {"__proto__": {"polluted": [1]}}, "__proto__": "text", "a": 1}');

test.each([
  ['a copy', () => copy(hostile())],
  ['a map over another', () => mergeKeys({ b: 0 }, hostile())],
  ['a map in canonical order', () => canonical(hostile())],
  ['a sorted, flat map in canonical order', () => canonical(JSON.parse('{"__proto__": "text", "a": 1}'))],
])('%s has __proto__ as a key of its own, and no other prototype', (_name, made) => {
  const map = made();
  expect(Object.getPrototypeOf(map)).toBe(Object.prototype);
  expect(Object.getOwnPropertyDescriptor(map, '__proto__')?.value).toBe('text');
  expect(map.polluted).toBeUndefined();
});

test('a copy shares nothing with the original', () => {
  const original = { list: [{ a: { b: 1 } }], map: { c: { d: 2 } }, none: null };
  const made = copy(original);
  expect(made).toEqual(original);
  expect(made.list[0]!.a).not.toBe(original.list[0]!.a);
  expect(made.map.c).not.toBe(original.map.c);
});

test('a map whose keys are sorted already loses its nil values in canonical order', () => {
  expect(canonical({ a: 1, b: null, c: undefined, d: 'x' })).toEqual({ a: 1, d: 'x' });
});
