/** Reads a file, a pipe or standard input, but no more than it should hold: `/dev/zero` and disk images have no end. */
import { closeSync, openSync, readSync } from 'node:fs';

/** All of `file` (`-` is standard input); throws where that is more than `most` bytes. */
export function readAtMost(file: string, most: number): Buffer {
  const fd = file === '-' ? 0 : openSync(file, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let total = 0; total <= most; ) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const length = readSome(fd, chunk);
      if (length === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, length));
      total += length;
    }
    throw new Error(`it is larger than ${most / 1024 / 1024} MiB, no configuration is`);
  } finally {
    if (fd !== 0) closeSync(fd);
  }
}

function readSome(fd: number, into: Buffer): number {
  for (;;) {
    try {
      return readSync(fd, into);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      // Standard input was opened non-blocking by whoever holds the other end, and has nothing yet.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
