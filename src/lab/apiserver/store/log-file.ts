/** One log: a file of batches that is only appended to. */
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readdirSync, unlinkSync, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Batch } from '../../../memory-api/store/journal.js';
import { frame } from './frames.js';
import { encodeBatch } from './record-format.js';
import { syncDirectory } from './snapshot-file.js';

const writeTo = promisify(write);
/** With O_DSYNC a write returns when it is on disk: one system call instead of write and sync. */
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_DSYNC;

export class LogFile {
  readonly #fd: number;
  size: number;

  private constructor(fd: number, size: number) {
    this.#fd = fd;
    this.size = size;
  }

  /** The file must not exist. */
  static create(directory: string, number: number): LogFile {
    const path = logPath(directory, number);
    const fd = openSync(path, appendFlags | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      syncDirectory(directory);
    } catch (error) {
      closeSync(fd);
      unlinkSync(path);
      throw error;
    }
    return new LogFile(fd, 0);
  }

  /** Continues a log after its whole frames, which are `size` bytes. */
  static continue(directory: string, number: number, size: number): LogFile {
    const fd = openSync(logPath(directory, number), appendFlags);
    try {
      ftruncateSync(fd, size);
      // A frame of a process that was killed may be in memory only; it must not be served before it is on disk.
      fsyncSync(fd);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    return new LogFile(fd, size);
  }

  /** Resolves when the batch is on disk. */
  async append(batch: Batch): Promise<void> {
    const bytes = frame(encodeBatch(batch));
    try {
      for (let at = 0; at < bytes.length; )
        at += (await writeTo(this.#fd, bytes, at, bytes.length - at, null)).bytesWritten;
    } catch (error) {
      this.#cut(error);
      throw error;
    }
    this.size += bytes.length;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** A part of a frame in the middle of a log would be damage, and a whole frame a write that was reported as failed. */
  #cut(cause: unknown): void {
    try {
      ftruncateSync(this.#fd, this.size);
      fsyncSync(this.#fd);
    } catch {
      throw new Error('a failed write cannot be removed from the log', { cause });
    }
  }
}

export function logPath(directory: string, number: number): string {
  return join(directory, `log-${number}`);
}

/** The numbers of the logs in a directory, lowest first. */
export function logNumbers(directory: string): number[] {
  return readdirSync(directory)
    .flatMap((name) => /^log-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}
