/**
 * The snapshot of a store: everything at one point in one file, which is replaced whole. Its first frame is a header in JSON, the others
 * are batches of records.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryPrefix } from '../../../atomic-file.js';
import type { Batch, JournalRecord } from '../../../memory-api/store/journal.js';
import { DamagedFile, frame, readFrames } from './frames.js';
import { decodeBatch, encodeBatch } from './record-format.js';

/** Raised when the meaning of the files changes. 1 was LMDB. */
const format = 2;
/** A frame has about this much: enough for fast writes, little enough to do other things in between. */
const frameBytes = 1 << 20;

interface Header {
  format: number;
  /** The first log that has batches which are not in the snapshot. */
  firstLog: number;
  records: number;
}

const snapshotPath = (directory: string) => join(directory, 'snapshot');
const temporaryPath = (directory: string) => join(directory, `${temporaryPrefix}snapshot`);

/** Resolves with the size of the snapshot when it is durable. */
export async function writeSnapshot(directory: string, firstLog: number, batch: Batch): Promise<number> {
  const temporary = temporaryPath(directory);
  const header: Header = { format, firstLog, records: batch.records.length };
  let size = 0;
  try {
    const file = await open(temporary, 'w', 0o600);
    try {
      size += await writeAll(file, frame([Buffer.from(JSON.stringify(header))]));
      for (const records of inChunks(batch.records)) {
        size += await writeAll(file, frame(encodeBatch({ compacted: batch.compacted, records })));
      }
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(temporary, snapshotPath(directory));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(directory);
  return size;
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<number> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
  return bytes.length;
}

/** At least one chunk, which has the compacted revision of a store without objects. */
function* inChunks(records: readonly JournalRecord[]): Generator<JournalRecord[]> {
  let chunk: JournalRecord[] = [];
  let size = 0;
  for (const record of records) {
    chunk.push(record);
    size += record.bytes.length;
    if (size < frameBytes) continue;
    yield chunk;
    chunk = [];
    size = 0;
  }
  yield chunk;
}

export function hasSnapshot(directory: string): boolean {
  return existsSync(snapshotPath(directory));
}

/** Yields the batches; returns the first log to continue with, and the size. Throws when the file is damaged or of another format. */
export function* readSnapshot(directory: string): Generator<Batch, { firstLog: number; size: number }> {
  const path = snapshotPath(directory);
  let header: Header | undefined;
  let records = 0;
  const frames = readFrames({ path, mayEndIncomplete: false }, (body) => {
    if (header !== undefined) return decodeBatch(body);
    header = JSON.parse(body.toString()) as Header;
    return undefined;
  });
  for (;;) {
    const next = frames.next();
    if (next.done) {
      if (header?.records === records) return { firstLog: header.firstLog, size: next.value };
      throw new DamagedFile(
        path,
        `at byte ${next.value}: it ends there and has ${records} of ${header?.records} records`,
      );
    }
    if (next.value !== undefined) {
      records += next.value.records.length;
      yield next.value;
    } else if (header?.format !== format) {
      throw new Error(
        `store ${directory} has format ${header?.format}, this relet reads format ${format}: start the relet that wrote it, or give another --data-dir`,
      );
    }
  }
}

/** After a power loss a file is found only if its directory was synced. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
