/** Where the revisions' bytes are kept: one record per write, never changed, forgotten when superseded and compacted. */
import { type Key, RecordForgotten, type StoreEvent } from './store.js';

/** A record without its bytes: all that the store keeps in memory about the past. */
export interface RecordHead {
  readonly revision: number;
  readonly type: StoreEvent['type'];
  readonly key: Key;
  /** The revision that this one supersedes; 0 for a created object. */
  readonly previous: number;
  /** When it was written, wall-clock milliseconds: compaction goes by age. */
  readonly time: number;
  /** Length of the bytes. */
  readonly size: number;
}

export interface JournalRecord extends RecordHead {
  readonly bytes: Buffer;
}

export interface Journal {
  /** Everything kept, oldest first, and the revision up to which the past was forgotten. Called once, at the start. */
  load(): { compacted: number; records: Iterable<RecordHead> };
  /** Resolves when all records are durable. */
  append(records: JournalRecord[]): Promise<void>;
  read(revision: number): Buffer;
  /** Removes records and notes the revision up to which the past is gone, in one step. */
  forget(revisions: number[], compacted: number): Promise<void>;
  close(): Promise<void>;
}

/** Keeps bytes in this process only: for tests and for servers that need not survive. */
export function memoryJournal(): Journal {
  const records = new Map<number, Buffer>();
  return {
    load: () => ({ compacted: 0, records: [] }),
    async append(added) {
      for (const record of added) records.set(record.revision, record.bytes);
    },
    read(revision) {
      const bytes = records.get(revision);
      if (bytes === undefined) throw new RecordForgotten(revision);
      return bytes;
    },
    async forget(revisions) {
      for (const revision of revisions) records.delete(revision);
    },
    async close() {},
  };
}
