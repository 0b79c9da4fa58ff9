/**
 * The journal on disk: a snapshot, and logs of the batches since. A batch is acknowledged when it is in a log, synced.
 *
 *     append ──► log-3
 *     shrink ──► log-4 is created and used ──► tmp_snapshot is written ──► becomes the snapshot, which names log-4 ──► log-3 is removed
 *
 * A start reads the snapshot and all logs from the one that it names. A crash at any point leaves a snapshot and every log that it needs.
 * Nothing in the directory is changed before everything was read.
 */
import { readdirSync, rmSync, statfsSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryPrefix } from '../../../atomic-file.js';
import { type Log, silentLog } from '../../../log.js';
import { makeDirectory } from '../../../make-directory.js';
import type { Batch, Journal } from '../../../memory-api/store/journal.js';
import { StoreFull } from '../../../memory-api/store/store.js';
import type { Lock } from '../../../process-lock.js';
import { DamagedFile, readFrames } from './frames.js';
import { LogFile, logNumbers, logPath } from './log-file.js';
import { decodeBatch } from './record-format.js';
import { hasSnapshot, readSnapshot, writeSnapshot } from './snapshot-file.js';
import { lockStore } from './store-lock.js';

/** A store is not opened with less room than this: the first writes would fail. */
const minFreeBytes = 1 << 20;

export interface DiskJournalOptions {
  directory: string;
  log?: Log;
  /** Logs this long are replaced by a snapshot, or as long as the last snapshot if that is longer. Default 8 MiB. */
  shrinkBytes?: number;
}

/** The directory is created when it is missing. One process at a time. */
export async function openDiskJournal(options: DiskJournalOptions): Promise<Journal> {
  const { directory } = options;
  makeDirectory(directory);
  rejectFormat1(directory);
  rejectFullDisk(directory);
  const lock = lockStore(directory);
  try {
    if (!hasSnapshot(directory)) await createFiles(directory);
    return new DiskJournal(options, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function createFiles(directory: string): Promise<void> {
  for (const number of logNumbers(directory)) {
    const path = logPath(directory, number);
    if (statSync(path).size > 0) throw new DamagedFile(directory, `: it has ${path} and no snapshot`);
    // From a start that crashed before it wrote the first snapshot.
    unlinkSync(path);
  }
  LogFile.create(directory, 1).close();
  await writeSnapshot(directory, 1, { compacted: 0, records: [] });
}

function rejectFormat1(directory: string): void {
  if (!readdirSync(directory).some((name) => name === 'data.mdb' || /^wal-\d+\.log$/.test(name))) return;
  throw new Error(
    `store ${directory} has the LMDB format of an earlier relet, which this relet does not read; it was not changed. Start with an empty store: 'relet up --fresh', or another --data-dir.`,
  );
}

function rejectFullDisk(directory: string): void {
  const free = freeBytes(directory);
  if (free >= minFreeBytes) return;
  throw new Error(
    `store ${directory} cannot be opened: its disk has ${free} bytes left, ${minFreeBytes} are needed; nothing in it is lost: make room and start again`,
  );
}

/** Infinity where the file system does not say. */
function freeBytes(directory: string): number {
  const { blocks, bavail, bsize } = statfsSync(directory);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

class DiskJournal implements Journal {
  readonly #directory: string;
  readonly #log: Log;
  readonly #shrinkBytes: number;
  readonly #lock: Lock;
  /** The one that is appended to; undefined until all was loaded. */
  #current: LogFile | undefined;
  #number = 0;
  /** Bytes of the logs before the current one. */
  #olderBytes = 0;
  /** The logs are replaced when they have so many bytes. */
  #shrinkAt = 0;
  #shrinking: Promise<void> | undefined;

  constructor({ directory, log = silentLog, shrinkBytes = 8 << 20 }: DiskJournalOptions, lock: Lock) {
    this.#directory = directory;
    this.#log = log;
    this.#shrinkBytes = shrinkBytes;
    this.#lock = lock;
  }

  *load(): Generator<Batch> {
    const { firstLog, size } = yield* readSnapshot(this.#directory);
    const numbers = logNumbers(this.#directory);
    this.#number = Math.max(firstLog, numbers.at(-1) ?? 0);
    let end = 0;
    for (let number = firstLog; number <= this.#number; number++) {
      const path = logPath(this.#directory, number);
      if (!numbers.includes(number)) throw new DamagedFile(this.#directory, `: ${path} is missing`);
      this.#olderBytes += end;
      end = yield* readFrames({ path, mayEndIncomplete: number === this.#number }, decodeBatch);
    }
    this.#shrinkAt = Math.max(this.#shrinkBytes, size);
    this.#current = LogFile.continue(this.#directory, this.#number, end);
    this.#removeLeftovers(firstLog);
  }

  async append(batch: Batch): Promise<void> {
    try {
      await this.#opened().append(batch);
    } catch (error) {
      throw asStoreFull(error);
    }
  }

  shrink(contents: () => Batch): void {
    const bytes = this.#olderBytes + this.#opened().size;
    if (this.#shrinking !== undefined || bytes < this.#shrinkAt) return;
    // For the case that it fails.
    this.#shrinkAt = bytes + this.#shrinkBytes;
    this.#shrinking = this.#replaceLogs(contents())
      .catch((error: unknown) => this.#log.warn('cannot write store snapshot, logs are kept', { error }))
      .finally(() => {
        this.#shrinking = undefined;
      });
  }

  async close(): Promise<void> {
    await this.#shrinking;
    this.#current?.close();
    this.#lock.release();
  }

  /** The new log is in use before this function first waits: all batches so far are in `content`, all later ones in that log. */
  async #replaceLogs(content: Batch): Promise<void> {
    this.#requireRoom(content);
    const old = this.#opened();
    this.#current = LogFile.create(this.#directory, this.#number + 1);
    this.#number++;
    old.close();
    const replaced = this.#olderBytes + old.size;
    this.#olderBytes = replaced;
    const first = this.#number;
    const size = await writeSnapshot(this.#directory, first, content);
    this.#olderBytes -= replaced;
    this.#shrinkAt = Math.max(this.#shrinkBytes, size);
    this.#removeLogsBefore(first);
  }

  /** A snapshot must not take the last room from the log. */
  #requireRoom({ records }: Batch): void {
    const needed = records.reduce((sum, { bytes }) => sum + bytes.length, 2 * minFreeBytes);
    const free = freeBytes(this.#directory);
    if (free < needed) throw new Error(`it needs about ${needed} bytes, the disk has ${free}`);
  }

  /** Removes files of processes that were killed. */
  #removeLeftovers(firstLog: number): void {
    for (const name of readdirSync(this.#directory)) {
      if (name.startsWith(temporaryPrefix)) rmSync(join(this.#directory, name), { recursive: true, force: true });
    }
    this.#removeLogsBefore(firstLog);
  }

  #removeLogsBefore(first: number): void {
    for (const number of logNumbers(this.#directory)) {
      if (number < first) unlinkSync(logPath(this.#directory, number));
    }
  }

  #opened(): LogFile {
    if (this.#current === undefined) throw new Error('the journal was not loaded');
    return this.#current;
  }
}

/** A full disk, or a full quota; any other error stays as it is. */
function asStoreFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' ? new StoreFull(error) : error;
}
