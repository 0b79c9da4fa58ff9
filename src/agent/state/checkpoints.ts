/**
 * Checkpoints: the data of one version of one ConfigMap, under DIR/checkpoints/<uid>/<resourceVersion>, one file per key. A checkpoint
 * never changes: its digests are recorded in DIR/meta/digests and verified when it is loaded. Beside the checkpoints are the documents
 * that relet made from such data.
 */
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { createDir, type Files, removeTree, replaceFile, temporaryPrefix } from '../../atomic-file.js';
import { isObject } from '../../json.js';
import { defineRecord, type JsonRecord } from './json-record.js';

/** Downloaded content: the files, and the annotations of the ConfigMap that validation needs at every boot. */
export interface ConfigFiles {
  files: Map<string, Uint8Array>;
  /** The annotations that have an effect or belong to the signature. */
  annotations: Record<string, string>;
  /** Keys of binaryData, which is not unpacked; recorded to explain a missing key. */
  binaryKeys: string[];
  /** SHA-256 of their bytes. Absent where there are none, and in records of an earlier relet. */
  binaryDigests?: Record<string, string>;
}

export interface Checkpoint extends ConfigFiles {
  source: ExactRef;
  dir: string;
  /** The config itself: the file of the source's key. */
  configFile: string;
  config: Buffer;
  /** Equal for two checkpoints that give the kubelet the same bytes. */
  digest: string;
}

export interface DigestEntry {
  files: Record<string, string>;
  annotations: Record<string, string>;
  binaryKeys: string[];
  binaryDigests?: Record<string, string>;
}
export type Digests = Record<string, DigestEntry>;

export const digestsRecord = defineRecord('digests', isDigests);

export class Checkpoints {
  readonly #root: string;
  readonly #files: Files;
  readonly #digests: JsonRecord<Digests>;

  constructor(root: string, files: Files, digests: JsonRecord<Digests>) {
    this.#root = root;
    this.#files = files;
    this.#digests = digests;
  }

  dirOf(source: ExactRef): string {
    if (source.uid === '') throw new Error('empty UID is ambiguous');
    if (source.resourceVersion === '') throw new Error('empty ResourceVersion is ambiguous');
    for (const part of [source.uid, source.resourceVersion]) checkFileKey(part);
    return join(this.#root, source.uid, source.resourceVersion);
  }

  exists(source: ExactRef): boolean {
    return this.#files.stat(this.dirOf(source))?.isDirectory() ?? false;
  }

  /**
   * Saving again is harmless: equal content stays, damaged content is put aside and written again. True when
   * something was written. `isFixed`: throws for other content than was saved before, instead of writing that.
   */
  save(source: ExactRef, payload: ConfigFiles, { isFixed = false } = {}): boolean {
    const dir = this.dirOf(source);
    for (const key of payload.files.keys()) checkFileKey(key);
    const parent = join(this.#root, source.uid);
    if (this.#files.stat(parent) === undefined) {
      this.#files.makeDir(parent, 0o700);
      this.#files.sync(this.#root);
    }
    const { files: _, ...beside } = payload;
    const entry = { files: digestsOf(payload.files), ...beside };
    if (isFixed && this.exists(source)) this.#checkSame(source, entry);
    this.#remember(source, entry);
    if (this.exists(source)) {
      if (sameContent(this.#readAll(dir), payload.files)) return false;
      removeTree(dir, this.#files);
    }
    createDir(dir, payload.files, this.#files);
    return true;
  }

  /** Throws, with the kubelet's words where it has them, when there is nothing whole to load. */
  load(source: ExactRef): Checkpoint {
    const dir = this.dirOf(source);
    if (!this.exists(source)) throw new Error(`no checkpoint for source ${formatRef(source, 'log')}`);
    const files = this.#readAll(dir);
    const entry = this.#digests.read()?.[idOf(source)];
    if (entry !== undefined) verify(dir, files, entry);
    const configFile = join(dir, source.kubeletConfigKey);
    const config = files.get(source.kubeletConfigKey);
    if (config === undefined) throw new Error(missingKey(configFile, source.kubeletConfigKey, entry));
    if (config.length === 0) throw new Error(`kubelet config file ${JSON.stringify(configFile)} was empty`);
    const { files: _, ...beside } = entry ?? { annotations: {}, binaryKeys: [] };
    return { source, dir, configFile, config, files, ...beside, digest: digestOf(config, files) };
  }

  /** Deletes every checkpoint that is not kept, and those that a crash left incomplete. */
  garbageCollect(keep: ExactRef[]): void {
    const kept = new Set(keep.map(idOf));
    for (const uid of this.#files.list(this.#root)) {
      const parent = join(this.#root, uid);
      if (!this.#files.stat(parent)?.isDirectory() || uid.startsWith(temporaryPrefix)) {
        removeTree(parent, this.#files);
        continue;
      }
      for (const version of this.#files.list(parent))
        if (!kept.has(`${uid}/${version}`)) removeTree(join(parent, version), this.#files);
      if (this.#files.list(parent).length === 0) this.#files.remove(parent);
    }
    const digests = this.#digests.read() ?? {};
    const remaining = Object.entries(digests).filter(([id]) => kept.has(id));
    if (remaining.length < Object.keys(digests).length) this.#digests.write(Object.fromEntries(remaining));
  }

  /** A version of an object never changes. Its files are on disk where a unit of the kubelet may name them, without another check. */
  #checkSame(source: ExactRef, entry: DigestEntry): void {
    const text = ({ files, annotations, binaryDigests = {} }: DigestEntry) =>
      JSON.stringify([files, annotations, binaryDigests].map((part) => Object.entries(part).sort()));
    const known = this.#digests.read()?.[idOf(source)] ?? {
      ...entry,
      files: digestsOf(this.#readAll(this.dirOf(source))),
    };
    if (text(known) !== text(entry))
      throw new Error(`the API server sent other content for ${formatRef(source, 'log')} than before`);
  }

  #remember(source: ExactRef, entry: DigestEntry): void {
    this.#digests.write({ ...this.#digests.read(), [idOf(source)]: entry });
  }

  #readAll(dir: string): Map<string, Buffer> {
    return new Map(this.#files.list(dir).map((name) => [name, this.#files.read(join(dir, name))]));
  }
}

function digestsOf(files: Map<string, Uint8Array>): Record<string, string> {
  return Object.fromEntries([...files].map(([key, data]) => [key, sha256(data)]));
}

function isDigests(value: unknown): value is Digests {
  return (
    isObject(value) &&
    Object.values(value).every(
      (entry) =>
        isObject(entry) && isObject(entry.files) && isObject(entry.annotations) && Array.isArray(entry.binaryKeys),
    )
  );
}

/** Which ConfigMap keys, uids and versions may become names of files. */
export function checkFileKey(key: string): void {
  if (key === '') throw new Error('invalid file key: must not be empty: ""');
  if (key.includes('/') || key.includes('\0'))
    throw new Error(`invalid file key ${JSON.stringify(key)}, only base names are allowed`);
  if (key === '.' || key === '..') throw new Error("invalid file key, may not be '.' or '..'");
  if (Buffer.byteLength(key) > 255)
    throw new Error(`invalid file key ${JSON.stringify(key)}, must be less than 255 characters`);
}

export const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex');

const idOf = ({ uid, resourceVersion }: ExactRef): string => `${uid}/${resourceVersion}`;

/** Over the config and every file beside it, since a config may name those by relative path. */
function digestOf(config: Uint8Array, files: Map<string, Uint8Array>): string {
  const hash = createHash('sha256').update(sha256(config));
  for (const [name, data] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(`\n${name}\0${sha256(data)}`);
  return hash.digest('hex');
}

function sameContent(a: Map<string, Uint8Array>, b: Map<string, Uint8Array>): boolean {
  return a.size === b.size && [...a].every(([name, data]) => b.has(name) && sha256(data) === sha256(b.get(name)!));
}

function verify(dir: string, files: Map<string, Uint8Array>, entry: DigestEntry): void {
  for (const [name, expected] of Object.entries(entry.files)) {
    const data = files.get(name);
    if (data === undefined) throw new Error(`checkpoint ${dir} is damaged: file ${JSON.stringify(name)} is missing`);
    if (sha256(data) !== expected)
      throw new Error(`checkpoint ${dir} is damaged: file ${JSON.stringify(name)} is not what was downloaded`);
  }
  for (const name of files.keys())
    if (!Object.hasOwn(entry.files, name))
      throw new Error(`checkpoint ${dir} is damaged: file ${JSON.stringify(name)} was not downloaded`);
}

function missingKey(path: string, key: string, entry: DigestEntry | undefined): string {
  const text = `failed to read kubelet config file ${JSON.stringify(path)}, error: open ${path}: no such file or directory`;
  return entry?.binaryKeys.includes(key)
    ? `${text}; the ConfigMap has the key ${JSON.stringify(key)} only under binaryData, which is not unpacked: move it to data`
    : text;
}

/**
 * Documents that relet made from payloads: an overlay merged into the local config, a payload of DKC alpha converted. Files under
 * DIR/documents, named by the SHA-256 of their content, so that saving again is harmless.
 */
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
    if (this.#files.stat(this.#dir) === undefined) {
      this.#files.makeDir(this.#dir, 0o700);
      this.#files.sync(dirname(this.#dir));
    }
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
