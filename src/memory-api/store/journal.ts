/** The journal makes writes durable: batches of records in order of their revisions. The store itself is in memory. */
import type { Key, StoreEvent } from './store.js';

/** One write. */
export interface JournalRecord {
  readonly revision: number;
  readonly type: StoreEvent['type'];
  readonly key: Key;
  /** When it was written, wall-clock milliseconds: compaction goes by age. */
  readonly time: number;
  /** The object's JSON. */
  readonly bytes: Buffer;
}

export interface Batch {
  /** The store's history was compacted up to this revision when the batch was written. */
  readonly compacted: number;
  readonly records: readonly JournalRecord[];
}

export interface Journal {
  /** All batches, oldest first. Called once, before the first append. Throws when one cannot be read. */
  load(): Iterable<Batch>;
  /** Resolves when the batch is durable. Throws StoreFull when nothing of it was kept and it may be tried again. */
  append(batch: Batch): Promise<void>;
  /** Called between two appends: replaces all batches by `contents()` when that is worth the effort. */
  shrink(contents: () => Batch): void;
  close(): Promise<void>;
}

/** A journal that keeps nothing, for tests and servers without persistent data. */
export function memoryJournal(): Journal {
  return { load: () => [], async append() {}, shrink() {}, async close() {} };
}
