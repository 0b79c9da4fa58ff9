/**
 * A backup as a file: gzipped lines of JSON, readable with zcat. A file that is not complete is rejected.
 *
 *     {"format":"relet.dev/apiserver-backup","version":1,"revision":812,"objects":2,"taken":"2026-01-01T00:00:00Z"}
 *     ["","nodes","","n1",811,{…}]
 *     ["apps.example.com","things","default","t",640,{…}]
 *     {"sha256":"…"}                                         of everything above
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Key } from '../store/store.js';

const format = 'relet.dev/apiserver-backup';
const version = 1;
/** Larger than any store; a compression bomb is larger. */
const maxBytes = 1 << 30;

export interface Backup {
  /** The store was at this revision. */
  revision: number;
  items: BackupItem[];
}

export interface BackupItem {
  key: Key;
  revision: number;
  /** The object's JSON as it is stored. */
  bytes: Buffer;
}

/** The file is not a backup, or is damaged. */
export class BackupError extends Error {}

export async function encodeBackup({ revision, items }: Backup, takenMs: number): Promise<Buffer> {
  const taken = new Date(takenMs).toISOString();
  const head = { format, version, revision, objects: items.length, taken };
  const lines = [Buffer.from(`${JSON.stringify(head)}\n`), ...items.map(itemLine)];
  const content = Buffer.concat(lines);
  const trailer = Buffer.from(`${JSON.stringify({ sha256: digest(content) })}\n`);
  return promisify(gzip)(Buffer.concat([content, trailer]));
}

function itemLine({ key, revision, bytes }: BackupItem): Buffer {
  const head = JSON.stringify([key.group, key.resource, key.namespace, key.name, revision]);
  return Buffer.concat([Buffer.from(`${head.slice(0, -1)},`), bytes, Buffer.from(']\n')]);
}

function digest(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Verifies the whole file. Throws BackupError. */
export async function decodeBackup(file: Buffer): Promise<Backup> {
  const content = await unzip(file);
  const lines = content.toString('utf8').split('\n');
  const head = readHead(lines[0] ?? '');
  const end = content.lastIndexOf('{"sha256":');
  const isWhole = end > 0 && parse(content.toString('utf8', end))?.sha256 === digest(content.subarray(0, end));
  if (!isWhole) throw new BackupError('it is damaged or cut off: its checksum does not match');
  const items = lines.slice(1, -2).map(readItem);
  if (items.length !== head.objects) {
    throw new BackupError(`its header names ${head.objects} objects, it has ${items.length}`);
  }
  return { revision: head.revision, items };
}

async function unzip(file: Buffer): Promise<Buffer> {
  if (file[0] !== 0x1f || file[1] !== 0x8b) throw new BackupError('it is not a backup of relet apiserver');
  try {
    return await promisify(gunzip)(file, { maxOutputLength: maxBytes });
  } catch (cause) {
    throw new BackupError(`it is damaged or cut off: ${(cause as Error).message}`, { cause });
  }
}

function readHead(line: string): { revision: number; objects: number } {
  const head = parse(line) ?? {};
  if (head.format !== format) throw new BackupError('it is not a backup of relet apiserver');
  if (head.version !== version) {
    throw new BackupError(`it has version ${head.version}, this relet reads version ${version}`);
  }
  return head as { revision: number; objects: number };
}

// biome-ignore lint/suspicious/noExplicitAny: the callers check the fields
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readItem(line: string): BackupItem {
  const [group, resource, namespace, name, revision, object] = JSON.parse(line) as [
    string,
    string,
    string,
    string,
    number,
    object,
  ];
  return { key: { group, resource, namespace, name }, revision, bytes: Buffer.from(JSON.stringify(object)) };
}
