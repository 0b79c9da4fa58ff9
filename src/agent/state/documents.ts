/**
 * Documents that relet made from payloads: an overlay merged into the local config, a payload of DKC alpha converted. Files under
 * DIR/documents, named by the SHA-256 of their content, so that saving again is harmless.
 */
import { join } from 'node:path';
import { type Files, removeTree, replaceFile } from '../../atomic-file.js';
import { sha256 } from './checkpoints.js';

export class DocumentFiles {
  readonly #dir: string;
  readonly #files: Files;

  constructor(dir: string, files: Files) {
    this.#dir = dir;
    this.#files = files;
  }

  pathOf(digest: string): string {
    return join(this.#dir, `${digest}.yaml`);
  }

  /** Returns its digest. */
  save(text: string): string {
    const digest = sha256(text);
    if (this.read(digest) !== undefined) return digest;
    if (this.#files.stat(this.#dir) === undefined) this.#files.makeDir(this.#dir, 0o700);
    replaceFile(this.pathOf(digest), text, { files: this.#files });
    return digest;
  }

  /** Undefined when it is missing or damaged. */
  read(digest: string): string | undefined {
    const path = this.pathOf(digest);
    if (this.#files.stat(path) === undefined) return undefined;
    const text = this.#files.read(path).toString('utf8');
    return sha256(text) === digest ? text : undefined;
  }

  garbageCollect(keep: (path: string) => boolean): void {
    for (const path of this.#files.list(this.#dir).map((name) => join(this.#dir, name)))
      if (!keep(path)) removeTree(path, this.#files);
  }
}
