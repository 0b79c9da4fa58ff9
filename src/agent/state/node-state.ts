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
import { JsonRecord, type RecordType } from './json-record.js';
import { decodeSource, encodeSource } from './source-record.js';

/** A record names a source, or local, or is unreadable: then boot reports it and continues with the next candidate. */
export type Recorded = { source: ExactRef | undefined } | { broken: Error };

export class NodeState {
  readonly checkpoints: Checkpoints;
  /** Copies of payloads of DKC alpha in a form that the kubelet can read. */
  readonly convertedDir: string;
  readonly #meta: string;
  readonly #files: Files;
  readonly #log: Log;
  readonly #records = new Map<string, JsonRecord<unknown>>();

  constructor(dir: string, log: Log, files: Files = realFiles) {
    this.#meta = join(dir, 'meta');
    this.convertedDir = join(dir, 'converted');
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

  /** Deletes checkpoints and converted copies that are neither assigned, last known good nor in use, and half-written files. */
  garbageCollect(inUse: { sources: (ExactRef | undefined)[]; converted: (string | undefined)[] }): void {
    const recorded = [this.assigned(), this.lastKnownGood()];
    // An unreadable record may name any checkpoint: nothing is deleted.
    if (recorded.some((record) => 'broken' in record)) return;
    const named = recorded.map((record) => ('source' in record ? record.source : undefined));
    this.checkpoints.garbageCollect([...named, ...inUse.sources].filter((source) => source !== undefined));
    for (const name of this.#files.list(this.#meta))
      if (name.startsWith(temporaryPrefix)) removeTree(join(this.#meta, name), this.#files);
    for (const path of this.#files.list(this.convertedDir).map((name) => join(this.convertedDir, name)))
      if (!inUse.converted.includes(path)) removeTree(path, this.#files);
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
    if ('source' in present && sameConfig(present.source, source, 'version')) return;
    replaceFile(join(this.#meta, name), encodeSource(source), { files: this.#files });
  }
}
