/** The forms in which a kubelet accepts its flags. */
import { describe, expect, test } from 'vitest';
import { asCommandLine, splitCommandLine } from './command-line.js';

const values = (...args: string[]) => Object.fromEntries(asCommandLine(splitCommandLine(args).flags));

describe('a kubelet command line', () => {
  test.each([
    ['an equals sign', ['--max-pods=5'], { 'max-pods': ['5'] }],
    ['a separate value', ['--max-pods', '5'], { 'max-pods': ['5'] }],
    ['underscores', ['--max_pods=5'], { 'max-pods': ['5'] }],
    ['a bare boolean leaves the next word alone', ['--fail-swap-on', '--v=2'], { 'fail-swap-on': ['true'], v: ['2'] }],
    ['a boolean with a value', ['--fail-swap-on=false'], { 'fail-swap-on': ['false'] }],
    ['an empty value', ['--enforce-node-allocatable='], { 'enforce-node-allocatable': [''] }],
    ['a value that looks like a flag', ['--node-labels', '--odd'], { 'node-labels': ['--odd'] }],
    ['the same flag twice keeps both, in order', ['--v=1', '--v=2'], { v: ['1', '2'] }],
    ['the verbosity shorthand', ['-v4', '-v=5', '-v', '6'], { v: ['4', '5', '6'] }],
    ['values with equals signs', ['--feature-gates=A=true,B=false'], { 'feature-gates': ['A=true,B=false'] }],
  ])('is read with %s', (_name, args, expected) => {
    expect(values(...args)).toEqual(expected);
  });

  test('ends its flags at a bare double dash', () => {
    expect(splitCommandLine(['--v=1', '--', '--v=2'])).toMatchObject({
      flags: [{ name: 'v', value: '1' }],
      rest: ['--v=2'],
    });
  });

  test('names a flag whose value is missing', () => {
    expect(splitCommandLine(['--max-pods']).incomplete).toBe('--max-pods');
  });
});
