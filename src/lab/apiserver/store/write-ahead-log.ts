/**
 * The log that makes a write durable: one file, appended to and synced, nothing else. LMDB gets the same records a moment
 * later and many at a time; what it has not got when the process dies is read from here at the next start.
 *
 *     frame:   length │ crc32 of the rest │ revision │ record
 *                4    │         4         │    6     │
 *
 * A frame cut short at the very end is a write that was never acknowledged. Anything else that does not fit is damage.
 */
import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  write as writeFd,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';

const headBytes = 8;
const revisionBytes = 6;
const name = /^wal-(\d+)\.log$/;
const write = promisify(writeFd);

export interface LoggedRecord {
  revision: number;
  /** The record as LMDB stores it. */
  bytes: Buffer;
}

export class WriteAheadLog {
  readonly #directory: string;
  #number: number;
  #fd: number;
  size = 0;

  constructor(directory: string) {
    this.#directory = directory;
    this.#number = (logFiles(directory).at(-1)?.number ?? 0) + 1;
    this.#fd = createLog(directory, this.#number);
  }

  /** Resolves when all of them are on disk. */
  async append(records: LoggedRecord[]): Promise<void> {
    const bytes = Buffer.concat(records.map(frame));
    try {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await write(this.#fd, bytes, at, bytes.length - at, null);
        at += bytesWritten;
      }
    } catch (error) {
      this.#takeBack(error);
      throw error;
    }
    this.size += bytes.length;
  }

  /** A frame that was cut short in the middle of a log would be damage, and a whole one a write that nobody was promised. */
  #takeBack(cause: unknown): void {
    try {
      ftruncateSync(this.#fd, this.size);
      fsyncSync(this.#fd);
    } catch {
      throw new Error('a failed write cannot be taken back from the log', { cause });
    }
  }

  /** Goes on in a new file; returns what removes the ones before, to be called when LMDB has all that is in them. */
  rotate(): () => void {
    const before = logFiles(this.#directory);
    const next = createLog(this.#directory, this.#number + 1);
    closeSync(this.#fd);
    this.#number++;
    this.#fd = next;
    this.size = 0;
    return () => {
      for (const { path } of before) unlinkSync(path);
    };
  }

  /** LMDB has everything: nothing is left behind. */
  remove(): void {
    closeSync(this.#fd);
    for (const { path } of logFiles(this.#directory)) unlinkSync(path);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** With O_DSYNC a write returns when it is on disk: one step instead of write and sync. */
function createLog(directory: string, number: number): number {
  const { O_CREAT, O_EXCL, O_WRONLY, O_APPEND, O_DSYNC } = constants;
  const path = join(directory, `wal-${number}.log`);
  const fd = openSync(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_DSYNC, 0o600);
  try {
    syncDirectory(directory);
    return fd;
  } catch (error) {
    closeSync(fd);
    unlinkSync(path);
    throw error;
  }
}

/** The file itself must be there after a power cut, too. */
function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Every acknowledged record of the logs in a directory, oldest first. Throws when a log is damaged. */
export function replayLogs(directory: string): LoggedRecord[] {
  return logFiles(directory).flatMap(({ path }) => readFrames(readFileSync(path), path));
}

/** Once LMDB has what they held. */
export function removeLogs(directory: string): void {
  for (const { path } of logFiles(directory)) unlinkSync(path);
}

function logFiles(directory: string): { number: number; path: string }[] {
  return readdirSync(directory)
    .map((file) => ({ number: Number(name.exec(file)?.[1]), path: join(directory, file) }))
    .filter(({ number }) => !Number.isNaN(number))
    .sort((a, b) => a.number - b.number);
}

function frame({ revision, bytes }: LoggedRecord): Buffer {
  const framed = Buffer.allocUnsafe(headBytes + revisionBytes + bytes.length);
  framed.writeUInt32BE(revisionBytes + bytes.length, 0);
  framed.writeUIntBE(revision, headBytes, revisionBytes);
  bytes.copy(framed, headBytes + revisionBytes);
  framed.writeUInt32BE(crc32(framed.subarray(headBytes)), 4);
  return framed;
}

function readFrames(bytes: Buffer, path: string): LoggedRecord[] {
  const records: LoggedRecord[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.length - at < headBytes ? bytes.length + 1 : at + headBytes + bytes.readUInt32BE(at);
    // The process died while it wrote this one.
    if (end > bytes.length) return records;
    const body = bytes.subarray(at + headBytes, end);
    if (body.length < revisionBytes || crc32(body) !== bytes.readUInt32BE(at + 4)) {
      if (end === bytes.length || isZero(bytes.subarray(at))) return records;
      throw new Error(`${path} is damaged at byte ${at}: its checksum does not match`);
    }
    records.push({ revision: body.readUIntBE(0, revisionBytes), bytes: body.subarray(revisionBytes) });
    at = end;
  }
  return records;
}

/** After a power cut a file may be longer than what was written to it. */
function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
