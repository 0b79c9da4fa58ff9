/**
 * Batches of records as bytes.
 *
 *     batch:    compacted │ record …
 *                   6     │
 *     record:   length of the rest │ revision │ type │ time ms │ key length │ key JSON │ object JSON
 *                       4          │    6     │  1   │    6    │     2      │          │
 */
import type { Batch, JournalRecord } from '../../../memory-api/store/journal.js';

const typeCodes = { created: 1, updated: 2, deleted: 3 } as const;
const types = [undefined, 'created', 'updated', 'deleted'] as const;
const batchHeadBytes = 6;
const recordHeadBytes = 19;

/** The parts of a batch, to be written one after the other: large objects are not copied. */
export function encodeBatch({ compacted, records }: Batch): Buffer[] {
  const head = Buffer.allocUnsafe(batchHeadBytes);
  head.writeUIntBE(compacted, 0, 6);
  return [head, ...records.flatMap((record) => [recordHead(record), record.bytes])];
}

function recordHead({ revision, type, key, time, bytes }: JournalRecord): Buffer {
  const keyText = Buffer.from(JSON.stringify([key.group, key.resource, key.namespace, key.name]));
  const head = Buffer.allocUnsafe(recordHeadBytes + keyText.length);
  head.writeUInt32BE(head.length - 4 + bytes.length, 0);
  head.writeUIntBE(revision, 4, 6);
  head.writeUInt8(typeCodes[type], 10);
  head.writeUIntBE(time, 11, 6);
  head.writeUInt16BE(keyText.length, 17);
  keyText.copy(head, recordHeadBytes);
  return head;
}

/** The records own their bytes: nothing of `encoded` stays in memory. Throws when it is not what encodeBatch makes. */
export function decodeBatch(encoded: Buffer): Batch {
  const records: JournalRecord[] = [];
  for (let at = batchHeadBytes; at < encoded.length; ) {
    const end = at + 4 + encoded.readUInt32BE(at);
    if (end > encoded.length) throw new RangeError('a record is longer than its batch');
    records.push(decodeRecord(encoded.subarray(at, end)));
    at = end;
  }
  return { compacted: encoded.readUIntBE(0, 6), records };
}

function decodeRecord(encoded: Buffer): JournalRecord {
  const type = types[encoded.readUInt8(10)];
  if (type === undefined) throw new RangeError(`there is no record type ${encoded.readUInt8(10)}`);
  const keyEnd = recordHeadBytes + encoded.readUInt16BE(17);
  const [group, resource, namespace, name] = JSON.parse(encoded.toString('utf8', recordHeadBytes, keyEnd)) as string[];
  return {
    revision: encoded.readUIntBE(4, 6),
    type,
    key: { group: group!, resource: resource!, namespace: namespace!, name: name! },
    time: encoded.readUIntBE(11, 6),
    bytes: Buffer.from(encoded.subarray(keyEnd)),
  };
}
