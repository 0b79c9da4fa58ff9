/** Reads files that a user names, with a size limit: `/dev/zero` and disk images have no end. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { CannotRun } from '../cannot-run.js';

/** All of `file` (`-` is standard input); throws if that is more than `most` bytes. */
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
      // Standard input was opened non-blocking by the process at the other end, and has nothing yet.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory; name the files in it',
  ENOTDIR: 'a part of its path is a file, not a directory',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device; free some and try again',
  EDQUOT: 'your disk quota is used up; free some and try again',
  EMFILE: "too many open files; raise the limit ('ulimit -n')",
  ENFILE: 'too many open files on this machine',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'too many symbolic links',
};

export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return reasons[code ?? ''] ?? message;
}

/** The text of a file that a flag names. */
export function readNamedBy(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CannotRun(`--${flag}=${file}: cannot be read: ${whyUnreadable(error)}`);
  }
}
