/**
 * One small JSON record under DIR/meta, replaced atomically. An unreadable record is logged and counts as absent: relet's own records
 * must never keep a kubelet from starting. If the disk is full, the value is kept in memory, so that a rollback still happens, and is
 * written with the next change.
 */
import { join } from 'node:path';
import { type Files, isMissing, removeTree, replaceFile } from '../../atomic-file.js';
import type { Log } from '../../log.js';

export interface RecordType<T> {
  name: string;
  is(value: unknown): value is T;
  /** False for a record that a power cut makes void, or that can be found out again: syncing takes time. */
  durable: boolean;
  formerly: { name: string; convert(value: unknown): unknown } | undefined;
}

export interface RecordOptions {
  /** Default true. */
  durable?: boolean;
  /** The name and form in the first edition. Read while there is no record of the present name, removed with the first write. */
  formerly?: { name: string; convert?(value: unknown): unknown };
}

/** Declares a record. `is` decides whether a parsed value is one of this kind; any other value counts as absent. */
export function defineRecord<T>(
  name: string,
  is: (value: unknown) => value is T,
  { durable = true, formerly }: RecordOptions = {},
): RecordType<T> {
  return { name, is, durable, formerly: formerly && { convert: (value) => value, ...formerly } };
}

interface RecordPlace {
  meta: string;
  files: Files;
  log: Log;
}

export class JsonRecord<T> {
  readonly #type: RecordType<T>;
  readonly #place: RecordPlace;
  readonly #path: string;
  /** The text last read or written: an unchanged record is not written again. */
  #text: string | undefined;
  #unwritten: T | undefined;

  constructor(type: RecordType<T>, place: RecordPlace) {
    this.#type = type;
    this.#place = place;
    this.#path = join(place.meta, type.name);
  }

  read(): T | undefined {
    if (this.#unwritten !== undefined) return this.#unwritten;
    const { name, formerly } = this.#type;
    this.#text = this.#readText(this.#path, name);
    if (this.#text !== undefined) return this.#parse(this.#text, name, (value) => value);
    const former = formerly && this.#readText(join(this.#place.meta, formerly.name), formerly.name);
    return former === undefined ? undefined : this.#parse(former, formerly!.name, formerly!.convert);
  }

  /** False while a value is only in memory. */
  get isWritten(): boolean {
    return this.#unwritten === undefined;
  }

  write(value: T): void {
    const text = `${JSON.stringify(value)}\n`;
    if (text === this.#text) return;
    try {
      const { files } = this.#place;
      const { durable } = this.#type;
      replaceFile(this.#path, text, { files, durable });
      this.#text = text;
      this.#unwritten = undefined;
    } catch (error) {
      // Logged once until a write succeeds: a trial is recorded at every health check.
      if (this.#unwritten === undefined)
        this.#place.log.error('record cannot be written, kept in memory', { record: this.#type.name, error });
      this.#unwritten = value;
      this.#text = undefined;
      return;
    }
    // The first edition must not find, after a downgrade, what is no longer true.
    this.#removeFormer();
  }

  remove(): void {
    this.#text = undefined;
    this.#unwritten = undefined;
    // The former one first: otherwise a crash in between would bring it back.
    this.#removeFormer();
    this.#removeFile(this.#type.name);
  }

  #readText(path: string, record: string): string | undefined {
    try {
      return this.#place.files.read(path).toString('utf8');
    } catch (error) {
      if (!isMissing(error)) this.#place.log.error('record unreadable, treated as absent', { record, cause: error });
      return undefined;
    }
  }

  #parse(text: string, record: string, convert: (value: unknown) => unknown): T | undefined {
    try {
      const value = convert(JSON.parse(text));
      if (!this.#type.is(value)) throw new Error('not a record of this kind');
      return value;
    } catch (cause) {
      this.#place.log.error('record unreadable, treated as absent', { record, cause });
      this.#text = undefined;
      return undefined;
    }
  }

  #removeFormer(): void {
    const { formerly } = this.#type;
    if (formerly && this.#place.files.stat(join(this.#place.meta, formerly.name)) !== undefined)
      this.#removeFile(formerly.name);
  }

  #removeFile(record: string): void {
    const { files, meta, log } = this.#place;
    const path = join(meta, record);
    try {
      if (this.#type.durable) removeTree(path, files);
      else if (files.stat(path) !== undefined) files.remove(path);
    } catch (error) {
      log.error('record cannot be removed', { record, error });
    }
  }
}
