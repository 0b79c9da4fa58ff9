/**
 * The control sequences that relet itself sends to a terminal: colours and the moves of live lines. In a text they carry a word
 * that nobody outside this process knows, so that `render` can tell them from those in a value, and lets only these through.
 */
import { visible } from '../visible-text.js';

/** One for all bundles of the process: a text made in one may be printed by another. */
const shared = globalThis as { [key: symbol]: unknown };
const key = Symbol.for('relet.own-control');
shared[key] ??= `${Math.random().toString(36).slice(2)};`;
const mark = `\x1b${shared[key]}`;
const ours = new RegExp(`${mark}(\\[\\d*[A-Za-z]|\\r)`);

/** `sequence` without its escape character, such as `[31m`, or a carriage return. */
const own = (sequence: string): string => mark + sequence;

/** To the left edge, `lines` up, and everything from there on cleared: whatever a key has echoed is gone too. */
export const clearUp = (lines: number): string => `${own('\r')}${lines > 0 ? own(`[${lines}A`) : ''}${own('[J')}`;

const style = (open: number, close: number) => (text: string) => `${own(`[${open}m`)}${text}${own(`[${close}m`)}`;
const plain = (text: string): string => text;

const styles = {
  bold: style(1, 22),
  dim: style(2, 22),
  red: style(31, 39),
  green: style(32, 39),
  yellow: style(33, 39),
  cyan: style(36, 39),
};

export type Paint = Record<keyof typeof styles, (text: string) => string>;

export const createPaint = (isColoured: boolean): Paint =>
  isColoured ? styles : { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain };

/** What goes to the terminal: our sequences as such, all others visible. */
export const render = (text: string): string =>
  text
    .split(ours)
    .map((part, at) => (at % 2 === 0 ? visible(part) : part === '\r' ? part : `\x1b${part}`))
    .join('');

/** Columns that a text takes: our sequences take none, and what is not printed as it is takes what is printed instead. */
export const widthOf = (text: string): number =>
  text
    .split(ours)
    .filter((_, at) => at % 2 === 0)
    .reduce((sum, part) => sum + visible(part).length, 0);
