/**
 * Writes to standard output and returns when all of it is out. `process.stdout` would do, but it loads Node's streams and
 * sockets first, which costs a short-lived command a tenth of its life.
 */
import { fstatSync, writeSync } from 'node:fs';

export function writeOut(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A reader that stops early, such as `relet config explain | head`, is not an error.
      if (code === 'EPIPE') process.exit();
      if (code !== 'EAGAIN') throw error;
      // The pipe is full and was opened non-blocking by whoever holds the other end.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Whether a person is looking. /dev/null and its kin (major number 1) are character devices as terminals are. */
export function isTerminal(): boolean {
  const stat = fstatSync(1);
  return stat.isCharacterDevice() && stat.rdev >> 8 !== 1 && process.stdout.isTTY === true;
}
