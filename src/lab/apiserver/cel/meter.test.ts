/** Expressions that would run for hours or fill the memory run out of budget. */

import { expect, test } from 'vitest';
import { systemClock } from '../../../clock.js';
import { newEnvironment } from './environment.js';
import { Meter } from './meter.js';
import { compile } from './program.js';

const ten = '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]';
const nested = (depth: number, body: string): string =>
  depth === 0 ? body : `${ten}.all(x${depth}, ${nested(depth - 1, body)})`;
const doubled = (depth: number, end: string): string =>
  depth === 0 ? end : `cel.bind(v, v + v, ${doubled(depth - 1, end)})`;
const long = `'${'a'.repeat(10_000)}'`;

const environment = newEnvironment().registerVariable('all', 'dyn').registerVariable('text', 'string');
const all = Array.from({ length: 20_000 }, (_, index) => new Map([['x', BigInt(index)]]));
const run = (expression: string) => compile(environment, expression).run({ all, text: 'b' }, new Meter(systemClock));

test.each([
  ['loops inside loops', nested(12, 'true')],
  ['loops that swallow the error of the loops inside', nested(12, '1 / 0 > 0 || true')],
  ['lists that double', `cel.bind(v, ${ten}, ${doubled(40, 'v.size() > 0')})`],
  ['text that doubles', `cel.bind(v, 'aaaaaaaaaa', ${doubled(40, "v.contains('b')")})`],
  ['large comparisons in a loop', 'all.all(x, all == all.map(y, y))'],
  ['membership in a loop', 'all.all(x, x in all.map(y, y))'],
  ['replacements that multiply', `${long}.replace('a', ${long}).replace('a', ${long}).size() > 0`],
  ['patterns with repeated matching', `(${long} + ${long}).matches('(a|b)*a(a|b){200}[cd]')`],
  ['two variables in loops inside loops', `${ten}.all(i, v, ${nested(11, 'true')})`],
])('%s run out of budget', (_name, expression) => {
  expect(() => run(expression)).toThrow(/actual cost limit exceeded|too long/);
});

test('a pattern with catastrophic backtracking is evaluated at once', () => {
  expect(run(`(${long} + text).matches('^(a+)+$')`)).toBe(false);
});

test('a pattern that expands too much is rejected', () => {
  expect(() => run("text.matches('((a{100}){100}){100}')")).toThrow('invalid repeat count');
});

test.each([
  ['too long', `'${'a'.repeat(100_001)}' == ''`, 'expression code point size exceeds limit'],
  ['too deep', `${'('.repeat(300)}1${')'.repeat(300)}`, 'maxDepth'],
  ['too many parts', Array(6000).fill('1').join(' + '), 'maxAstNodes'],
])('an expression that is %s is rejected before it runs', (_name, expression, message) => {
  expect(() => compile(environment, expression)).toThrow(message);
});

test('an exhausted meter stays exhausted', () => {
  const meter = new Meter(systemClock, 5);
  const program = compile(environment, nested(2, 'true'));
  expect(() => program.run({ all, text: '' }, meter)).toThrow('actual cost limit exceeded');
  expect(() => compile(environment, 'true || 1 in [1]').run({ all, text: '' }, meter)).toThrow('cost limit');
});
