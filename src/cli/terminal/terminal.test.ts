/** relet's own colours and cursor moves, and those in a value. */
import { describe, expect, test } from 'vitest';
import { clearUp, createPaint, render, widthOf, wrap } from './terminal.js';

const paint = createPaint(true);

describe('what goes to a terminal', () => {
  test('has the colours of relet', () => {
    expect(render(`${paint.red('error')}  text`)).toBe('\x1b[31merror\x1b[39m  text');
    expect(render(clearUp(3))).toBe('\r\x1b[3A\x1b[J');
  });

  test('has no colour that a value brought along, in a painted text either', () => {
    expect(render(paint.green('fine\x1b[39m\x1b[31m'))).toBe('\x1b[32mfine\\u001b[39m\\u001b[31m\x1b[39m');
  });

  test('has no colours where they are not wanted', () => {
    expect(createPaint(false).red('error')).toBe('error');
  });

  test('is measured as it will be seen', () => {
    expect(widthOf(paint.bold('abc'))).toBe(3);
    expect(widthOf('a\x1b')).toBe('a\\u001b'.length);
    expect(wrap(`${paint.red('one two')} three`, 13).split('\n')).toHaveLength(1);
  });
});
