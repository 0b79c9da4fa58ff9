/**
 * The only way out: what is written to standard output and standard error passes through here, and comes out without any control
 * sequence but relet's own. Returns when all of it is out. `process.stdout` would do, but it loads Node's streams and
 * sockets first, which costs a short-lived command a tenth of its life.
 */
import { fstatSync, writeSync } from 'node:fs';
import { oneLine } from '../visible-text.js';
import { render } from './own-control.js';
import { wrapLines } from './wrap.js';

export const writeOut = (text: string): void => write(1, render(text));

/** To a file or a pipe, byte for byte but for characters that no reader of YAML or JSON lets pass. */
export const writeDocument = (text: string): void => write(1, text.replace(forbidden, oneLine));
const forbidden = /[^\P{Cc}\t\n\r\u0085]/gu;

/** A line for people on standard error, broken at spaces where a person reads it and whole for a program. */
export function printError(text: string): void {
  const seen = process.stderr.isTTY === true ? process.stderr.columns || 80 : passedColumns();
  const columns = seen && Math.min(seen, 100);
  write(2, render(`${columns === undefined ? text : wrapLines(text, columns)}\n`));
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
export function isTerminal(): boolean {
  const stat = fstatSync(1);
  return stat.isCharacterDevice() && stat.rdev >> 8 !== 1 && process.stdout.isTTY === true;
}
