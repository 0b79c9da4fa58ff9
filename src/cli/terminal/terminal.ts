/**
 * The output of a verb. Everything written to standard output and standard error passes through here, and comes out without
 * any control sequence but relet's own. A write returns when all of it is out. `process.stdout` would do, but it loads Node's
 * streams and sockets first, which costs a short-lived command a tenth of its run time.
 */

import { fstatSync, writeSync } from 'node:fs';
import { oneLine } from '../../visible-text.js';
import { createPaint, type Paint, render, wrapLines } from './styled-text.js';

export type { Paint };

export interface Terminal {
  /** What text is broken to. */
  columns: number;
  /** The whole width; undefined when nobody looks. */
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

/** With `-o`, the result is for a program. */
export const terminalFor = ({ output }: { output?: string }): Terminal =>
  output === undefined ? openTerminal() : openResultTerminal();

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

export const writeOut = (text: string): void => write(1, render(text));

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
