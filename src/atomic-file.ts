/**
 * Atomic writes: a temporary file in the same directory, fsync, rename, fsync of the directory.
 *
 * Every change goes through `Files`, one call for each step on the disk, so that a test can stop between any two.
 */

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Random, systemRandom } from './random.js';

export interface Files {
  /** The bytes of a regular file of root or of this user; throws ENOENT when there is none. Never follows a symbolic link. */
  read(path: string): Buffer;
  /** Names in a directory, sorted; empty when there is no such directory. */
  list(path: string): string[];
  /** The entry at the path itself (links are not followed); undefined when there is none. */
  stat(path: string): Stats | undefined;
  makeDir(path: string, mode: number): void;
  /** Writes a file that must not exist yet. Not durable before `sync`. */
  create(path: string, data: Uint8Array, mode: number): void;
  /** Makes the content of a file, or the entries of a directory, durable. */
  sync(path: string): void;
  rename(from: string, to: string): void;
  /** A second name for a file; throws EEXIST when the name is taken. */
  link(from: string, to: string): void;
  /** Removes one file or one empty directory. */
  remove(path: string): void;
  /** For the names of temporary files. Default: the system's. */
  readonly random?: Random | undefined;
}

export const realFiles: Files = {
  read(path) {
    // Non-blocking: opening a FIFO would wait for a writer.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = fstatSync(fd);
      if (!found.isFile()) throw new NotAFile(`${path} is not a regular file`);
      if (!isTrustedUser(found.uid)) throw new Error(`${path} belongs to user ${found.uid}, who is not trusted`);
      return readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  list(path) {
    try {
      return readdirSync(path).sort();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  },
  stat: (path) => lstatSync(path, { throwIfNoEntry: false }),
  makeDir: (path, mode) => mkdirSync(path, { mode }),
  create(path, data, mode) {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const fd = openSync(path, flags, mode);
    try {
      for (let written = 0; written < data.length; ) written += writeSync(fd, data, written);
    } finally {
      closeSync(fd);
    }
  },
  sync(path) {
    const fd = openSync(path, constants.O_RDONLY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  rename: renameSync,
  link: linkSync,
  remove: (path) => (lstatSync(path).isDirectory() ? rmdirSync(path) : unlinkSync(path)),
};

/** The path is not a regular file but a directory, a device or a FIFO. */
export class NotAFile extends Error {}

/** Root, or the user that this process runs as. */
export const isTrustedUser = (uid: number): boolean => uid === 0 || uid === process.getuid?.();

/** Temporary files begin with this; those that a crash left can be removed. */
export const temporaryPrefix = 'tmp_';

export interface ReplaceOptions {
  /** Permission bits of the file. Default 0600. */
  mode?: number;
  /** False: the file survives the end of this process, but maybe not a power failure. Default true. */
  durable?: boolean;
  files?: Files;
}

/** Writes `data` to `path`: after a crash there is the old file or the new one. The directory must exist. */
export function replaceFile(path: string, data: string | Uint8Array, options: ReplaceOptions = {}): void {
  const { mode = 0o600, durable = true, files = realFiles } = options;
  const temporary = temporaryFor(path, files);
  try {
    files.create(temporary, Buffer.from(data), mode);
    if (durable) files.sync(temporary);
    files.rename(temporary, path);
  } catch (error) {
    discard(files, temporary);
    throw new Error(`write ${path}`, { cause: error });
  }
  if (durable) files.sync(dirname(path));
}

/** Creates the directory `path` with these files, complete or not at all. It must not exist; its parent must. */
export function createDir(path: string, content: Map<string, Uint8Array>, files: Files = realFiles): void {
  const temporary = temporaryFor(path, files);
  try {
    files.makeDir(temporary, 0o700);
    // All files first, then the syncs: the first sync makes a journalling file system write most of the rest.
    for (const [name, data] of content) files.create(join(temporary, name), data, 0o600);
    for (const name of content.keys()) files.sync(join(temporary, name));
    files.sync(temporary);
    files.rename(temporary, path);
  } catch (error) {
    discard(files, temporary);
    throw new Error(`write ${path}`, { cause: error });
  }
  files.sync(dirname(path));
}

/** Removes a file or a tree. A directory first gets a temporary name, so that it is never found incomplete. */
export function removeTree(path: string, files: Files = realFiles): void {
  const found = files.stat(path);
  if (found === undefined) return;
  let removed = path;
  if (found.isDirectory() && !basename(path).startsWith(temporaryPrefix)) {
    removed = temporaryFor(path, files);
    files.rename(path, removed);
    files.sync(dirname(path));
  }
  removeAll(removed, files);
  // Without this the file could be back after a power failure.
  files.sync(dirname(path));
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** The disk is full, read-only or failing: not a mistake of the caller. */
export function isDiskTrouble(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && diskTrouble.has(String(error.code))) || isDiskTrouble(error.cause);
}

const diskTrouble: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']);

function removeAll(path: string, files: Files): void {
  if (files.stat(path)?.isDirectory()) for (const name of files.list(path)) removeAll(join(path, name), files);
  files.remove(path);
}

/** The name of a temporary file in the same directory. */
export function temporaryFor(path: string, { random = systemRandom }: Pick<Files, 'random'> = {}): string {
  // A name may be 255 bytes long, which leaves no room for a prefix: the temporary name has only its beginning.
  return join(dirname(path), `${temporaryPrefix}${basename(path).slice(0, 100)}${random.bytes(6).toString('hex')}`);
}

/** Removes an unfinished file. A failure is ignored: the first error matters more, and the next start removes the file. */
function discard(files: Files, temporary: string): void {
  try {
    if (files.stat(temporary) !== undefined) removeAll(temporary, files);
  } catch {
    // The next start garbage-collects it.
  }
}
