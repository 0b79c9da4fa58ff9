/**
 * Writes to standard output and standard error: wraps and colours text, and removes control sequences that are not relet's own. Writes
 * are synchronous. `process.stdout` would also do, but it loads Node's streams and sockets first, which costs a short-lived command a
 * tenth of its run time. Shows the progress of long work: on a terminal one line per node that changes in place, in a pipe one line per
 * event.
 */
import { fstatSync, writeSync } from 'node:fs';
import { oneLine, visible } from '../../visible-text.js';

export interface Terminal {
  /** Width at which text is wrapped. */
  columns: number;
  /** Width of the terminal; undefined if the output is not a terminal. */
  width: number | undefined;
  paint: Paint;
  print(text: string): void;
  /** A document of somebody's, such as a config: to a file or a pipe it goes as it is. */
  printDocument(text: string): void;
}

/** Colours only on a terminal, and not where NO_COLOR is set to anything. Lines no longer than 100, 80 when piped. */
export function openTerminal(): Terminal {
  const { env } = process;
  const seen = isTerminal();
  const width = seen ? process.stdout.columns || 80 : passedColumns();
  return {
    width,
    columns: Math.min(Math.max(width ?? 80, 40), 100),
    paint: createPaint(seen && !env.NO_COLOR && env.TERM !== 'dumb'),
    print: (text) => writeOut(ended(text)),
    printDocument: (text) => (seen ? writeOut(ended(text.replaceAll('\r\n', '\n'))) : writeDocument(ended(text))),
  };
}

/** For a verb whose result is read by a program: the result is the document on standard output, all else goes to standard error. */
function openResultTerminal(): Terminal {
  return {
    width: undefined,
    columns: 80,
    paint: createPaint(false),
    print: (text) => printError(text.replace(/\n$/, '')),
    printDocument: (text) => writeDocument(ended(text)),
  };
}

/** With `-o`, the result is for a program; but for `-o wide`, with which nothing is cut. */
export const terminalFor = ({ output }: { output?: string | undefined }): Terminal =>
  output === undefined
    ? openTerminal()
    : output === 'wide'
      ? { ...openTerminal(), width: undefined }
      : openResultTerminal();

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

export const writeOut = (text: string): void => write(1, render(text));

/** As `writeOut`, to standard error: what is drawn in place beside a result. */
export const writeAside = (text: string): void => write(2, render(text));

/** To a file or a pipe, byte for byte but for characters that no reader of YAML or JSON lets pass. */
export const writeDocument = (text: string): void => write(1, text.replace(forbidden, oneLine));
const forbidden = /[^\P{Cc}\t\n\r\u0085]/gu;

/** A line for people on standard error, broken at spaces where a person reads it and whole for a program. */
export function printError(text: string): void {
  const columns = errorColumns();
  write(2, render(`${columns === undefined ? text : wrapLines(text, columns)}\n`));
}

function errorColumns(): number | undefined {
  try {
    const seen = isTerminal(2) ? process.stderr.columns || 80 : passedColumns();
    return seen && Math.min(seen, 100);
  } catch {
    // A closed standard error.
    return undefined;
  }
}

function write(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A reader that stops early, such as `relet config explain | head`, is not an error; nor is a closed standard error.
      if (code === 'EPIPE' && descriptor === 1) process.exit();
      if (code === 'EPIPE' || (code === 'EBADF' && descriptor === 2)) return;
      if (code !== 'EAGAIN') throw error;
      // The pipe is full and was opened non-blocking by the process that holds the other end.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

export const columnsVariable = 'RELET_COLUMNS';

/** The width of the terminal behind the pipe, where a parent such as `relet demo` passes it on. */
export const passedColumns = (): number | undefined => Number(process.env[columnsVariable]) || undefined;

/** Whether a person is looking. /dev/null and its kin (major number 1) are character devices as terminals are. */
export function isTerminal(descriptor: 1 | 2 = 1): boolean {
  const stat = fstatSync(descriptor);
  const stream = descriptor === 1 ? 'stdout' : 'stderr';
  return stat.isCharacterDevice() && stat.rdev >> 8 !== 1 && process[stream].isTTY === true;
}

/**
 * The control sequences that relet itself sends carry a word in a text that nobody outside this process knows, so that `render` can
 * tell them from those in a value, and lets only these through. One for all bundles of the process: a text made in one may be printed
 * by another.
 */
const shared = globalThis as { [key: symbol]: unknown };
const key = Symbol.for('relet.own-control');
shared[key] ??= `${Math.random().toString(36).slice(2)};`;
const mark = `\x1b${shared[key]}`;
const ours = new RegExp(`${mark}(\\[\\d*[A-Za-z]|\\r)`);

/** `sequence` without its escape character, such as `[31m`, or a carriage return. */
const own = (sequence: string): string => mark + sequence;

/** To the left edge, `lines` up, and everything from there on cleared: whatever a key has echoed is gone too. */
export const clearUp = (lines: number): string => `${own('\r')}${lines > 0 ? own(`[${lines}A`) : ''}${own('[J')}`;

/** Rows that lines take on a terminal of this width, which may have changed since they were written. */
export const rowsOf = (lines: readonly string[], width: number): number =>
  lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / width)), 0);

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

/** Text for the terminal: our sequences as such, all others visible. */
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
 * Breaks at spaces, every line indented, the first by `lead`. A word longer than the line, such as a path, stays whole, and so does
 * a quoted command that fits on a line: it is there to be copied. Colours take no room.
 */
export function wrap(text: string, columns: number, indent = '', lead = indent): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let start = lines.length === 0 ? lead : indent;
    let line = start;
    for (const word of wordsOf(paragraph, columns - indent.length)) {
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

const quotedCommand = /[^ \n]*'(?:relet|kubectl|helm|systemctl) [^'\n]*'[^ \n]*/g;

function wordsOf(text: string, room: number): string[] {
  const keep = (command: string) => (widthOf(command) <= room ? command.replaceAll(' ', '\0') : command);
  const words = text.replace(quotedCommand, keep).split(' ');
  return words.map((word) => word.replaceAll('\0', ' '));
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

export interface Progress {
  /** Sets the present step of `name`. */
  at(name: string, text: string): void;
  /** How it ended for `name`; the line stays. */
  end(name: string, text: string): void;
  /** The same with a line of its own words. */
  endWith(name: string, line: string): void;
  /** A line about none of the names, for people: it stays. */
  note(line: string): void;
  /** Stops drawing. Called in any case. */
  close(): void;
}

interface ProgressOptions {
  /** In a pipe, print only the lines of `endWith`. */
  isQuietInPipe?: boolean;
}

export function showProgress(
  terminal: Terminal,
  now: () => number,
  { isQuietInPipe = false }: ProgressOptions = {},
): Progress {
  if (terminal.width === undefined || !isTerminal()) return plainLines(terminal, isQuietInPipe);
  return liveLines(terminal, { now, rows: () => process.stdout.rows || 24, write: writeOut });
}

function plainLines({ print }: Terminal, isQuiet: boolean): Progress {
  const last = new Map<string, string>();
  const printNew = (name: string, text: string) => {
    if (last.get(name) === text) return;
    last.set(name, text);
    print(`${name}: ${text}`);
  };
  const printUnlessQuiet = isQuiet ? () => {} : printNew;
  return {
    at: printUnlessQuiet,
    end: printUnlessQuiet,
    endWith: (_name, line) => print(line),
    note: printError,
    close() {},
  };
}

interface Screen {
  now(): number;
  rows(): number;
  write(text: string): void;
}

/** The block of live lines is never taller than the screen: a cursor cannot go up to what has scrolled away. */
export function liveLines({ columns, paint }: Terminal, { now, rows, write }: Screen): Progress {
  const live = new Map<string, { text: string; sinceMs: number }>();
  let drawn = 0;
  const draw = (settled = '') => {
    const all = [...live].map(([name, { text, sinceMs }]) => {
      const seconds = Math.floor((now() - sinceMs) / 1000);
      return clip(oneLine(`${name}: ${text}`), columns - 7) + paint.dim(seconds > 0 ? ` ${seconds}s` : '');
    });
    // One row for the cursor below the block, one for the count of those left out.
    const most = Math.max(1, rows() - 2);
    const lines =
      all.length <= most ? all : [...all.slice(0, most - 1), paint.dim(`… and ${all.length - most + 1} more`)];
    write(`${clearUp(drawn)}${settled}${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines.length;
  };
  const timer = setInterval(() => draw(), 1000);
  timer.unref();
  return {
    at(name, text) {
      if (live.get(name)?.text === text) return;
      live.set(name, { text, sinceMs: live.get(name)?.sinceMs ?? now() });
      draw();
    },
    end(name, text) {
      this.endWith(name, `${oneLine(name)}: ${text}`);
    },
    endWith(name, line) {
      live.delete(name);
      draw(`${wrapLines(line, columns)}\n`);
    },
    note: (line) => draw(`${wrapLines(line, columns)}\n`),
    close() {
      clearInterval(timer);
    },
  };
}

const clip = (text: string, width: number): string => (text.length <= width ? text : `${text.slice(0, width - 1)}…`);
