/**
 * One small JSON file of ours under DIR/meta, replaced whole. A record that cannot be read counts as absent and is
 * reported: what relet remembers for itself must never keep a kubelet from starting. What a full disk does not take is kept
 * in memory, so that a rollback happens all the same, and is written with the next change.
 */
import { join } from 'node:path';
import { type Files, isMissing, removeTree, replaceFile } from '../../atomic-file.js';
import type { Log } from '../../log.js';

export interface JsonRecordOptions<T> {
  meta: string;
  name: string;
  files: Files;
  log: Log;
  /** False for what a power cut makes void, or what can be found out again: a disk takes its time to be sure. Default true. */
  durable?: boolean;
  /** Says whether a parsed value is a record of this kind; what is not is treated as absent. */
  is(value: unknown): value is T;
}

export class JsonRecord<T> {
  readonly #options: JsonRecordOptions<T>;
  readonly #path: string;
  /** The text last read or written: an unchanged record is not written again. */
  #text: string | undefined;
  #unwritten: T | undefined;

  constructor(options: JsonRecordOptions<T>) {
    this.#options = options;
    this.#path = join(options.meta, options.name);
  }

  read(): T | undefined {
    if (this.#unwritten !== undefined) return this.#unwritten;
    const { files, log, is, name } = this.#options;
    try {
      const text = files.read(this.#path).toString('utf8');
      const value: unknown = JSON.parse(text);
      if (!is(value)) throw new Error('not a record of this kind');
      this.#text = text;
      return value;
    } catch (error) {
      if (!isMissing(error)) log.error('record unreadable, treated as absent', { record: name, cause: error });
      this.#text = undefined;
      return undefined;
    }
  }

  write(value: T): void {
    const text = `${JSON.stringify(value)}\n`;
    if (text === this.#text) return;
    try {
      const { files, durable = true } = this.#options;
      replaceFile(this.#path, text, { files, durable });
      this.#text = text;
      this.#unwritten = undefined;
    } catch (error) {
      this.#unwritten = value;
      this.#text = undefined;
      this.#options.log.error('record cannot be written, kept in memory', { record: this.#options.name, error });
    }
  }

  remove(): void {
    this.#text = undefined;
    this.#unwritten = undefined;
    try {
      const { files, durable = true } = this.#options;
      if (durable) removeTree(this.#path, files);
      else if (files.stat(this.#path) !== undefined) files.remove(this.#path);
    } catch (error) {
      this.#options.log.error('record cannot be removed', { record: this.#options.name, error });
    }
  }
}
