/** relet's own colours and cursor moves, and those in a value. */
import { describe, expect, test } from 'vitest';
import { clearUp, createPaint, liveLines, render, rowsOf, widthOf, wrap } from './terminal.js';

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

  test('takes more rows after the terminal has become narrower', () => {
    const lines = [paint.red('x'.repeat(70)), '', 'x'.repeat(40)];
    expect([80, 70, 40, 30].map((width) => rowsOf(lines, width))).toEqual([3, 3, 4, 6]);
  });

  test('is measured as it will be seen', () => {
    expect(widthOf(paint.bold('abc'))).toBe(3);
    expect(widthOf('a\x1b')).toBe('a\\u001b'.length);
    expect(wrap(`${paint.red('one two')} three`, 13).split('\n')).toHaveLength(1);
  });
});

/** The rows of a terminal, as far as live lines need one: text, line feeds, carriage returns, up, and clearing below. */
class Screen {
  readonly lines = [''];
  #row = 0;
  #column = 0;
  constructor(readonly height: number) {}

  write(text: string): void {
    for (const [, up, clear, char] of text.matchAll(/\x1b\[(\d+)A|(\x1b\[J)|([^\x1b])/g)) {
      // Lines that have scrolled off the top cannot be reached.
      if (up) this.#row = Math.max(this.#row - Number(up), this.lines.length - this.height, 0);
      else if (clear) this.lines.splice(this.#row, this.lines.length, this.lines[this.#row]!.slice(0, this.#column));
      else if (char === '\r') this.#column = 0;
      else if (char === '\n') [this.#row, this.#column] = [this.#row + 1, 0];
      else {
        const line = this.lines[this.#row] ?? '';
        this.lines[this.#row] = line.slice(0, this.#column) + char + line.slice(this.#column + 1);
        this.#column++;
      }
      this.lines[this.#row] ??= '';
    }
  }
}

function show(height: number) {
  const screen = new Screen(height);
  const terminal = { columns: 80, width: 80, paint: createPaint(false), print: () => {}, printDocument: () => {} };
  const progress = liveLines(terminal, {
    now: () => 0,
    rows: () => height,
    write: (text) => screen.write(render(text)),
  });
  return { screen, progress };
}

describe('live lines', () => {
  test('taller than the screen leave nothing behind but how each node ended', () => {
    const { screen, progress } = show(24);
    const names = Array.from({ length: 40 }, (_, at) => `node-${at}`);
    for (const name of names) progress.at(name, 'waiting');
    expect(screen.lines.at(-2)).toBe('… and 19 more');
    for (const name of names) progress.at(name, 'restarting');
    for (const name of names) progress.end(name, 'active');
    progress.close();
    expect(screen.lines).toEqual([...names.map((name) => `${name}: active`), '']);
  });

  test('overwrite what a key echoed', () => {
    const { screen, progress } = show(24);
    progress.at('node-1', 'waiting');
    screen.write('^C');
    progress.end('node-1', 'assigned');
    progress.close();
    expect(screen.lines).toEqual(['node-1: assigned', '']);
  });

  test('stay one line each, whatever a node says', () => {
    const { screen, progress } = show(24);
    progress.at('node-1', 'it reports: a\nnode-2: active');
    progress.close();
    expect(screen.lines).toEqual(['node-1: it reports: a\\nnode-2: active', '']);
  });
});
