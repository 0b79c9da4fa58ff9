/**
 * The journal on disk. An append resolves when the write-ahead log is synced; LMDB, which holds everything by revision, follows
 * a moment later, many records in one transaction. A directory that holds another format, or damage, is refused and left as
 * it is.
 *
 *     append ──► log, synced ──► acknowledged ──► (soon) LMDB, synced ──► the log may go
 */

import { existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { makeDirectory } from '../../../make-directory.js';
import { lockDirectory } from './directory-lock.js';
import type { Journal, JournalRecord, RecordHead } from './journal.js';
import { checkPages } from './page-check.js';
import { decodeRecord, encodeRecord, headOf, recordBytes } from './record-format.js';
import { RecordForgotten, StoreFull } from './store.js';
import { type LoggedRecord, removeLogs, replayLogs, WriteAheadLog } from './write-ahead-log.js';

/** Raised when records change their meaning; a store of another number is refused. */
const formatVersion = 1;

/** LMDB is brought up to date so long after a write. */
const transferAfterMs = 100;
/** Less room than this and the store is not opened: LMDB and the lock could not be written. */
const minFreeBytes = 1 << 20;
/** A log this long is followed by a new one. */
const maxLogBytes = 8 << 20;

interface Meta {
  format: number;
  compacted: number;
  /** LMDB had everything up to this revision; what the log holds of it is old. */
  transferred: number;
}

/** `directory` is made when missing. One process at a time. */
export async function openDiskJournal(directory: string): Promise<Journal> {
  makeDirectory(directory);
  refuseFullDisk(directory);
  const unlock = lockDirectory(directory);
  let root: RootDatabase | undefined;
  try {
    checkFile(directory);
    // Loaded only here: a server in memory needs no native code.
    const { open } = await import('lmdb');
    // Without overlapping syncs a commit's promise means: on disk. Turns of the event loop are no batches: LMDB would make promises
    // for them that nobody can catch when a commit fails.
    const options = { overlappingSync: false, eventTurnBatching: false, maxDbs: 4, encoding: 'json' } as const;
    root = open({ path: directory, ...options });
    const meta = root.openDB<Meta, string>('meta', { encoding: 'json' });
    const records = root.openDB<Buffer, number>('records', { encoding: 'binary' });
    const found = meta.get('store');
    refuseOtherFormat(directory, found, records);
    const state = { format: formatVersion, compacted: 0, transferred: 0, ...found };
    // Everything is looked at before anything is written: damage must stay as it was found.
    const { heads, logged } = readAll(directory, state, records);
    await recover(directory, state, logged, root, meta, records);
    return new DiskJournal({ directory, root, meta, records, unlock, state }, heads);
  } catch (error) {
    await root?.close();
    unlock();
    throw error;
  }
}

function refuseFullDisk(directory: string): void {
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

function checkFile(directory: string): void {
  const file = join(directory, 'data.mdb');
  if (!existsSync(file) || statSync(file).size === 0) return;
  try {
    checkPages(file);
  } catch (error) {
    throw damaged(directory, error);
  }
}

function refuseOtherFormat(directory: string, found: Meta | undefined, records: Database<Buffer, number>): void {
  if (found?.format === formatVersion) return;
  if (found !== undefined) {
    throw new Error(
      `store ${directory} has format ${found.format}, this relet reads format ${formatVersion}: start the relet that wrote it, or give another --data-dir`,
    );
  }
  if (records.getKeysCount({ limit: 1 }) > 0) throw damaged(directory, new Error('it has records but no format'));
}

function damaged(directory: string, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Error(
    `store ${directory} is damaged (${why}); it was left as it is: restore a copy of the directory, or give another --data-dir`,
    { cause },
  );
}

/** What is in LMDB, and what only the log has. Every checksum is verified. */
function readAll(directory: string, state: Meta, records: Database<Buffer, number>) {
  try {
    const heads: RecordHead[] = [];
    for (const { key, value } of records.getRange()) heads.push(headOf(decodeRecord(key, value)));
    const logged = replayLogs(directory).filter(({ revision }) => revision > state.transferred);
    for (const { revision, bytes } of logged) heads.push(headOf(decodeRecord(revision, bytes)));
    return { heads, logged };
  } catch (error) {
    throw damaged(directory, error);
  }
}

/** Brings what only the log has into LMDB, before anything else happens. */
async function recover(
  directory: string,
  state: Meta,
  logged: LoggedRecord[],
  root: RootDatabase,
  meta: Database<Meta, string>,
  records: Database<Buffer, number>,
): Promise<void> {
  // In order of revisions, here and in every batch.
  state.transferred = Math.max(state.transferred, logged.at(-1)?.revision ?? 0);
  await commit(root, () => {
    for (const { revision, bytes } of logged) void records.put(revision, bytes);
    void meta.put('store', state);
  });
  removeLogs(directory);
}

/** All that `write` does, in one transaction and one sync. Throws StoreFull where LMDB cannot write it. */
async function commit(root: RootDatabase, write: () => void): Promise<void> {
  try {
    await root.batch(write);
  } catch (error) {
    // LMDB keeps the reason in a promise that would end the process if nobody caught it.
    (error as { commitError?: Promise<never> }).commitError?.catch(() => {});
    throw new StoreFull(new Error('LMDB cannot write to it', { cause: error }));
  }
}

interface Opened {
  directory: string;
  root: RootDatabase;
  meta: Database<Meta, string>;
  records: Database<Buffer, number>;
  unlock(): void;
  state: Meta;
}

class DiskJournal implements Journal {
  readonly #opened: Opened;
  readonly #log: WriteAheadLog;
  /** What was there at the start, until it is asked for. */
  #heads: RecordHead[];
  /** In the log, not yet in LMDB: read from here. */
  readonly #pending = new Map<number, Buffer>();
  #transferring: Promise<void> | undefined;
  /** Of logs that a new one followed, until LMDB has what they hold. */
  #removeOldLogs: (() => void) | undefined;
  #hurry: () => void = () => {};
  #failure: unknown;

  constructor(opened: Opened, heads: RecordHead[]) {
    this.#opened = opened;
    this.#heads = heads;
    this.#log = new WriteAheadLog(opened.directory);
  }

  load() {
    const records = this.#heads;
    this.#heads = [];
    return { compacted: this.#opened.state.compacted, records };
  }

  async append(added: JournalRecord[]): Promise<void> {
    // A disk that LMDB cannot use is no disk to acknowledge writes on.
    if (this.#failure !== undefined) await this.#tryAgain();
    const logged = added.map((record) => ({ revision: record.revision, bytes: encodeRecord(record) }));
    try {
      this.#rotate();
      await this.#log.append(logged);
    } catch (error) {
      throw asStoreFull(error);
    }
    for (const { revision, bytes } of logged) this.#pending.set(revision, bytes);
    this.#transferring ??= this.#transferSoon();
  }

  read(revision: number): Buffer {
    const encoded = this.#pending.get(revision) ?? this.#opened.records.getBinary(revision);
    if (encoded === undefined) throw new RecordForgotten(revision);
    return recordBytes(encoded);
  }

  async forget(revisions: number[], upTo: number): Promise<void> {
    // Else the transfer would bring back what is being forgotten.
    await this.#settle();
    if (this.#failure !== undefined) throw this.#failure;
    const { root, records, meta, state } = this.#opened;
    await commit(root, () => {
      for (const revision of revisions) void records.remove(revision);
      void meta.put('store', { ...state, compacted: upTo });
    });
    state.compacted = upTo;
  }

  async close(): Promise<void> {
    await this.#settle();
    if (this.#failure === undefined) this.#log.remove();
    else this.#log.close();
    await this.#opened.root.close();
    this.#opened.unlock();
  }

  /** LMDB has everything, or cannot get it. */
  async #settle(): Promise<void> {
    while (this.#transferring !== undefined) {
      this.#hurry();
      await this.#transferring;
    }
  }

  /** Only between two appends: then LMDB or `#pending` has all that the old logs hold, and the next transfer covers them. */
  #rotate(): void {
    if (this.#log.size > maxLogBytes && this.#removeOldLogs === undefined) this.#removeOldLogs = this.#log.rotate();
  }

  /** Once there is room for what LMDB could not take. */
  async #tryAgain(): Promise<void> {
    let needed = minFreeBytes;
    for (const bytes of this.#pending.values()) needed += bytes.length;
    if (freeBytes(this.#opened.directory) < needed) throw this.#failure;
    this.#failure = undefined;
    this.#transferring ??= this.#transferSoon();
    await this.#settle();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #transferSoon(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, transferAfterMs);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    try {
      await this.#transfer();
    } catch (error) {
      this.#failure = asStoreFull(error);
    }
    this.#transferring = this.#pending.size > 0 && this.#failure === undefined ? this.#transferSoon() : undefined;
  }

  async #transfer(): Promise<void> {
    const { root, records, meta, state } = this.#opened;
    const batch = [...this.#pending];
    const removeOldLogs = this.#removeOldLogs;
    const transferred = Math.max(state.transferred, batch.at(-1)?.[0] ?? 0);
    await commit(root, () => {
      for (const [revision, bytes] of batch) void records.put(revision, bytes);
      void meta.put('store', { ...state, transferred });
    });
    state.transferred = transferred;
    for (const [revision] of batch) this.#pending.delete(revision);
    removeOldLogs?.();
    if (removeOldLogs === this.#removeOldLogs) this.#removeOldLogs = undefined;
  }
}

/** What the file system says of a full disk; any other error stays what it is. */
function asStoreFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' ? new StoreFull(error) : error;
}
