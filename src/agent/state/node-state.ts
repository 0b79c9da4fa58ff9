/**
 * The state of one node on disk: checkpoints and a few record files under DIR/meta, each replaced atomically. It is the only thing that
 * survives a restart. `assigned` and `last-known-good` have upstream's form. Every other record is declared with defineRecord() by the
 * part that owns it, and may be lost without harm except where docs/operations.md says otherwise.
 */
import { dirname, join } from 'node:path';
import { type ExactRef, nodeConfigSource, sameConfig } from '../../api/config-ref.js';
import { type Files, isMissing, realFiles, removeTree, replaceFile, temporaryPrefix } from '../../atomic-file.js';
import { readPlain } from '../../config/plain-document.js';
import type { Log } from '../../log.js';
import { Checkpoints, checkFileKey, DocumentFiles, digestsRecord } from './checkpoints.js';
import { JsonRecord, type RecordType } from './json-record.js';

/** A record names a source, or local, or is unreadable: then boot reports it and continues with the next candidate. */
export type Recorded = { source: ExactRef | undefined } | { broken: Error };

/** Undefined for local, and for an unreadable record. */
export function sourceOf(recorded: Recorded): ExactRef | undefined {
  return 'source' in recorded ? recorded.source : undefined;
}

export function isLocal(recorded: Recorded): boolean {
  return 'source' in recorded && recorded.source === undefined;
}

export class NodeState {
  readonly checkpoints: Checkpoints;
  readonly documents: DocumentFiles;
  readonly #dir: string;
  /** Directory of the converted copies of the first edition. */
  readonly #convertedDir: string;
  readonly #meta: string;
  readonly #files: Files;
  readonly #log: Log;
  readonly #records = new Map<string, JsonRecord<unknown>>();

  constructor(dir: string, log: Log, files: Files = realFiles, documents?: DocumentFiles) {
    this.#dir = dir;
    this.#meta = join(dir, 'meta');
    this.#convertedDir = join(dir, 'converted');
    this.documents = documents ?? new DocumentFiles(join(dir, 'documents'), files);
    this.#files = files;
    this.#log = log;
    this.checkpoints = new Checkpoints(join(dir, 'checkpoints'), files, this.record(digestsRecord));
  }

  /**
   * For the start of a process, which takes what it finds for recorded: one that was killed between a rename and the sync after it may
   * have left what a power failure would undo. Never fails.
   */
  sync(): void {
    const saved = join(this.#dir, 'checkpoints');
    const attempt = (dir: string, work: () => void) => {
      try {
        if (this.#files.stat(dir)?.isDirectory()) work();
      } catch (error) {
        this.#log.warn('cannot sync node state, continuing', { dir, error });
      }
    };
    const sync = (dir: string) => attempt(dir, () => this.#files.sync(dir));
    for (const dir of [dirname(this.#dir), this.#dir, this.#meta, join(this.#dir, 'documents'), saved]) sync(dir);
    attempt(saved, () => {
      for (const uid of this.#files.list(saved)) sync(join(saved, uid));
    });
  }

  record<T>(type: RecordType<T>): JsonRecord<T> {
    const known = this.#records.get(type.name) as JsonRecord<T> | undefined;
    if (known !== undefined) return known;
    const record = new JsonRecord(type, { meta: this.#meta, files: this.#files, log: this.#log });
    this.#records.set(type.name, record as JsonRecord<unknown>);
    return record;
  }

  read<T>(type: RecordType<T>): T | undefined {
    return this.record(type).read();
  }

  write<T>(type: RecordType<T>, value: T): void {
    this.record(type).write(value);
  }

  remove(type: RecordType<unknown>): void {
    this.record(type).remove();
  }

  assigned(): Recorded {
    return this.#readSource('assigned');
  }

  lastKnownGood(): Recorded {
    return this.#readSource('last-known-good');
  }

  /** The one place that writes `assigned`. The checkpoint it names must be complete. */
  assign(source: ExactRef | undefined): void {
    this.#writeSource('assigned', source);
  }

  /** The one place that writes `last-known-good`. */
  setLastKnownGood(source: ExactRef | undefined): void {
    this.#writeSource('last-known-good', source);
  }

  /** Deletes checkpoints and documents that are neither assigned, last known good nor in use, and half-written files. */
  garbageCollect(inUse: { sources: (ExactRef | undefined)[]; documents: (string | undefined)[] }): void {
    const recorded = [this.assigned(), this.lastKnownGood()];
    // An unreadable record may name any checkpoint: nothing is deleted.
    if (recorded.some((record) => 'broken' in record)) return;
    const sources = [...recorded.map(sourceOf), ...inUse.sources].filter((source) => source !== undefined);
    this.checkpoints.garbageCollect(sources);
    const digests = sources.flatMap(({ mergedDigest }) => mergedDigest ?? []);
    const documents = new Set([...inUse.documents, ...digests.map((digest) => this.documents.pathOf(digest))]);
    this.documents.garbageCollect((path) => documents.has(path));
    for (const name of this.#files.list(this.#meta))
      if (name.startsWith(temporaryPrefix)) removeTree(join(this.#meta, name), this.#files);
    if (this.#files.stat(this.#convertedDir) !== undefined) removeTree(this.#convertedDir, this.#files);
  }

  #readSource(name: string): Recorded {
    try {
      return { source: decodeSource(this.#files.read(join(this.#meta, name)).toString('utf8')) };
    } catch (error) {
      if (isMissing(error)) return { source: undefined };
      return { broken: new Error(`read meta/${name}`, { cause: error }) };
    }
  }

  #writeSource(name: string, source: ExactRef | undefined): void {
    const present = this.#readSource(name);
    if ('source' in present && sameConfig(present.source, source, 'document')) return;
    replaceFile(join(this.#meta, name), encodeSource(source), { files: this.#files });
  }
}

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const kind = 'SerializedNodeConfigSource';

/**
 * The text of `meta/assigned` and `meta/last-known-good`: a SerializedNodeConfigSource, or nothing for local. The last known good
 * of an overlay also names its merged document, in a field that upstream does not have.
 */
export function encodeSource(source: ExactRef | undefined): string {
  if (source === undefined) return '';
  if (source.uid === '') throw new Error('failed to write RemoteConfigSource, empty UID is ambiguous');
  if (source.resourceVersion === '')
    throw new Error('failed to write RemoteConfigSource, empty ResourceVersion is ambiguous');
  const fields = Object.entries(nodeConfigSource(source).configMap ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = fields.map(([name, value]) => `    ${name}: ${scalar(value)}\n`);
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nsource:\n  configMap:\n${lines.join('')}`;
}

/** A name, or a uid. Everything else might be a number or a date to Go, which reads YAML 1.1 (`0x10`, `1e3`, `2001-12-14`). */
const plain = /^[A-Za-z][-._A-Za-z0-9]*$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const otherThanText = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** Without quotes where the kubelet writes none, so that a record of ours is a record of its. */
function scalar(text: string): string {
  return plain.test(text) && !otherThanText.test(text) ? text : JSON.stringify(text);
}

/** Throws when the record names nothing usable. Unknown fields are left alone: a newer relet may have written them. */
export function decodeSource(text: string): ExactRef | undefined {
  if (text.trim() === '') return undefined;
  try {
    return checkedSource(readPlain(text));
  } catch (error) {
    throw new Error(`failed to decode, error: ${(error as Error).message}`, { cause: error });
  }
}

function checkedSource(record: unknown): ExactRef | undefined {
  const { apiVersion: version, kind: recordKind, source } = asMap(record, 'the record');
  if (version !== apiVersion || recordKind !== kind)
    throw new Error(`expected ${kind} of ${apiVersion}, found ${String(recordKind)} of ${String(version)}`);
  const configMap = asMap(asMap(source, 'source').configMap, 'source.configMap');
  const field = (name: string) => {
    const value = configMap[name];
    if (typeof value !== 'string' || value === '') throw new Error(`source.configMap.${name} must be set`);
    return value;
  };
  const { mergedDigest } = configMap;
  const exact = {
    namespace: field('namespace'),
    name: field('name'),
    uid: field('uid'),
    resourceVersion: field('resourceVersion'),
    kubeletConfigKey: field('kubeletConfigKey'),
    ...(typeof mergedDigest === 'string' && /^[0-9a-f]{64}$/.test(mergedDigest) && { mergedDigest }),
  };
  // These three become names of files: a record must not be able to lead out of the directory.
  for (const part of [exact.uid, exact.resourceVersion, exact.kubeletConfigKey]) checkFileKey(part);
  return exact;
}

function asMap(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is not an object`);
  return value as Record<string, unknown>;
}
