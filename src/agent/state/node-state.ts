/**
 * The state of one node on disk: checkpoints and a few record files under DIR/meta, each replaced whole. It is the only thing
 * that survives a restart. `assigned` and `last-known-good` have upstream's form. Every other record is declared with
 * defineRecord() by the part that owns it, and may be lost without harm except where docs/operations.md says otherwise.
 */
import { join } from 'node:path';
import { type ExactRef, sameConfig } from '../../api/config-ref.js';
import { type Files, isMissing, realFiles, removeTree, replaceFile, temporaryPrefix } from '../../atomic-file.js';
import type { Log } from '../../log.js';
import { Checkpoints, digestsRecord } from './checkpoints.js';
import { DocumentFiles } from './documents.js';
import { JsonRecord, type RecordType } from './json-record.js';
import { decodeSource, encodeSource } from './source-record.js';

/** A record names a source, or local, or is unreadable: then boot reports it and continues with the next candidate. */
export type Recorded = { source: ExactRef | undefined } | { broken: Error };

export class NodeState {
  readonly checkpoints: Checkpoints;
  readonly documents: DocumentFiles;
  /** Where the first edition kept its converted copies. */
  readonly #convertedDir: string;
  readonly #meta: string;
  readonly #files: Files;
  readonly #log: Log;
  readonly #records = new Map<string, JsonRecord<unknown>>();

  constructor(dir: string, log: Log, files: Files = realFiles, documents?: DocumentFiles) {
    this.#meta = join(dir, 'meta');
    this.#convertedDir = join(dir, 'converted');
    this.documents = documents ?? new DocumentFiles(join(dir, 'documents'), files);
    this.#files = files;
    this.#log = log;
    this.checkpoints = new Checkpoints(join(dir, 'checkpoints'), files, this.record(digestsRecord));
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
    const named = recorded.map((record) => ('source' in record ? record.source : undefined));
    const sources = [...named, ...inUse.sources].filter((source) => source !== undefined);
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
