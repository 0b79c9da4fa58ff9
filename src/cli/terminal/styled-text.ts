/**
 * Text for a terminal: coloured, measured, and broken to its width.
 *
 * The control sequences that relet itself sends carry a word in a text that nobody outside this process knows, so that `render` can
 * tell them from those in a value, and lets only these through.
 */
import { visible } from '../../visible-text.js';

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

/**
 * Breaks at spaces, every line indented, the first by `lead`. A word longer than the line, such as a path, stays whole. Colours
 * take no room.
 */
export function wrap(text: string, columns: number, indent = '', lead = indent): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let start = lines.length === 0 ? lead : indent;
    let line = start;
    for (const word of paragraph.split(' ')) {
      if (line.length > start.length && widthOf(line) + 1 + widthOf(word) > columns) {
        lines.push(line);
        line = start = indent;
      }
      line += line.length > start.length ? ` ${word}` : word;
    }
    lines.push(line.trimEnd());
  }
  return lines.join('\n');
}

/** Each line broken by itself, what follows of it below its own indent. */
export function wrapLines(text: string, columns: number): string {
  const lines = text.split('\n').map((line) => wrap(line.trimStart(), columns, /^ */.exec(line)![0]));
  return lines.join('\n');
}

/** Also breaks words that are longer than a line of a terminal, such as paths, so that the indent is kept. In a pipe they stay whole. */
export function wrapWords(text: string, { width, columns }: Room, indent = '', lead = indent): string {
  const room = columns - indent.length;
  const broken = width === undefined ? text : text.replace(/[^ \n]+/g, (word) => pieces(word, room).join(' '));
  return wrap(broken, columns, indent, lead);
}

/** Behind a slash, a dash, a dot or a comma where one is near. Two neighbours never fit one line, so no space gets into a word. */
function pieces(word: string, room: number): string[] {
  if (widthOf(word) <= room || word.includes('\x1b')) return [word];
  const end = Math.max(...['/', '-', '.', ','].map((mark) => word.lastIndexOf(mark, room - 1) + 1));
  const at = end > room / 2 ? end : room;
  return [word.slice(0, at), ...pieces(word.slice(at), room)];
}

interface Room {
  width: number | undefined;
  columns: number;
}

/** A line that a program may read, so it is broken only on a terminal; its other lines are indented by `indent` spaces. */
export function hanging(text: string, room: Room, indent = 4): string {
  return room.width === undefined ? text : wrapWords(text, room, ' '.repeat(indent), '');
}
