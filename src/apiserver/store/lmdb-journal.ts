/**
 * The journal on disk: records by revision in LMDB. An append resolves when it is synced. A directory that holds
 * another format, or damage, is refused and left as it is.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { lockDirectory } from './directory-lock.js';
import type { Journal, RecordHead } from './journal.js';
import { checkPages } from './page-check.js';
import { decodeRecord, encodeRecord, headOf, recordBytes } from './record-format.js';
import { RecordForgotten } from './store.js';

/** Raised when records change their meaning; a store of another number is refused. */
const formatVersion = 1;

interface Meta {
  format: number;
  compacted: number;
}

/** `directory` is made when missing. One process at a time. */
export async function openLmdbJournal(directory: string): Promise<Journal> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const unlock = lockDirectory(directory);
  let root: RootDatabase | undefined;
  try {
    checkFile(directory);
    // Loaded only here: a server in memory needs no native code.
    const { open } = await import('lmdb');
    // Without overlapping syncs a put's promise means: on disk.
    root = open({ path: directory, overlappingSync: false, maxDbs: 4, encoding: 'json' });
    const meta = root.openDB<Meta, string>('meta', { encoding: 'json' });
    const records = root.openDB<Buffer, number>('records', { encoding: 'binary' });
    const found = meta.get('store');
    refuseOtherFormat(directory, found, records);
    if (found === undefined) await meta.put('store', { format: formatVersion, compacted: 0 });
    return journalOf({ directory, root, meta, records, unlock, compacted: found?.compacted ?? 0 });
  } catch (error) {
    await root?.close();
    unlock();
    throw error;
  }
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

interface Opened {
  directory: string;
  root: RootDatabase;
  meta: Database<Meta, string>;
  records: Database<Buffer, number>;
  unlock(): void;
  compacted: number;
}

function journalOf({ directory, root, meta, records, unlock, compacted }: Opened): Journal {
  return {
    load() {
      const heads: RecordHead[] = [];
      try {
        for (const { key, value } of records.getRange()) heads.push(headOf(decodeRecord(key, value)));
      } catch (error) {
        throw damaged(directory, error);
      }
      return { compacted, records: heads };
    },
    async append(added) {
      // All puts of one turn share one transaction and one sync.
      await Promise.all(added.map((record) => records.put(record.revision, encodeRecord(record))));
    },
    read(revision) {
      const encoded = records.getBinary(revision);
      if (encoded === undefined) throw new RecordForgotten(revision);
      return recordBytes(encoded);
    },
    async forget(revisions, upTo) {
      await root.transaction(() => {
        for (const revision of revisions) void records.remove(revision);
        void meta.put('store', { format: formatVersion, compacted: upTo });
      });
    },
    async close() {
      await root.close();
      unlock();
    },
  };
}
