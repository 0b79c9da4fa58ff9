/**
 * A journal record as bytes on disk, with a checksum, so that damage is noticed instead of served.
 *
 *     crc32 │ type │ previous revision │ time ms │ key length │ key JSON │ object JSON
 *       4   │  1   │        6          │    6    │     2      │          │
 */
import { crc32 } from 'node:zlib';
import type { JournalRecord, RecordHead } from './journal.js';
import type { Key } from './store.js';

const typeCodes = { created: 1, updated: 2, deleted: 3 } as const;
const types = [undefined, 'created', 'updated', 'deleted'] as const;
const headBytes = 19;

export function encodeRecord(record: JournalRecord): Buffer {
  const { group, resource, namespace, name } = record.key;
  const key = Buffer.from(JSON.stringify([group, resource, namespace, name]));
  const encoded = Buffer.allocUnsafe(headBytes + key.length + record.bytes.length);
  encoded.writeUInt8(typeCodes[record.type], 4);
  encoded.writeUIntBE(record.previous, 5, 6);
  encoded.writeUIntBE(record.time, 11, 6);
  encoded.writeUInt16BE(key.length, 17);
  key.copy(encoded, headBytes);
  record.bytes.copy(encoded, headBytes + key.length);
  encoded.writeUInt32BE(crc32(encoded.subarray(4)), 0);
  return encoded;
}

/** Throws when the record is not as it was written. */
export function decodeRecord(revision: number, encoded: Buffer): JournalRecord {
  if (encoded.length < headBytes || encoded.readUInt32BE(0) !== crc32(encoded.subarray(4))) {
    throw new Error(`the record of revision ${revision} is damaged: its checksum does not match`);
  }
  const keyLength = encoded.readUInt16BE(17);
  const [group, resource, namespace, name] = JSON.parse(
    encoded.toString('utf8', headBytes, headBytes + keyLength),
  ) as string[];
  const key: Key = { group: group!, resource: resource!, namespace: namespace!, name: name! };
  const bytes = encoded.subarray(headBytes + keyLength);
  const type = types[encoded.readUInt8(4)];
  if (type === undefined) throw new Error(`the record of revision ${revision} is of no known type`);
  const previous = encoded.readUIntBE(5, 6);
  return { revision, type, key, previous, time: encoded.readUIntBE(11, 6), size: bytes.length, bytes };
}

/** Only the object's JSON, for reading; the checksum was verified when the store was opened. */
export function recordBytes(encoded: Buffer): Buffer {
  return encoded.subarray(headBytes + encoded.readUInt16BE(17));
}

export function headOf({ bytes: _, ...head }: JournalRecord): RecordHead {
  return head;
}
