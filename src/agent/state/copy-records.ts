/**
 * Copies the records of another directory of relet when a node moves between `relet kubelet` and `relet agent`: both keep the same
 * files, and no record names its own directory. The source stays unchanged, so that the move can be undone.
 */
import { join } from 'node:path';
import { createDir, type Files, realFiles, replaceFile, temporaryPrefix } from '../../atomic-file.js';

/** Records that name checkpoints. */
const named = ['last-known-good', 'assigned'];
/** File that marks a complete copy; its content is the source directory. */
const marker = 'copied-from';
/** Records that belong to one process or directory, or are found out again. */
const notCopied = ['lock', 'child', 'request', 'kubelet', 'validated', marker];

export interface CopyOptions {
  from: string;
  /** Opened and locked by the caller. */
  to: string;
  /** Copies also where that was done before, or `to` has configs of its own. */
  replace?: boolean;
  files?: Files;
}

/** False if it was done before. Throws if there is nothing to copy, or `to` has configs of its own. */
export function copyRecords({ from, to, replace = false, files = realFiles }: CopyOptions): boolean {
  const [source, target] = [join(from, 'meta'), join(to, 'meta')];
  if (!replace && text(join(target, marker), files) === from) return false;
  if (files.stat(join(source, 'assigned')) === undefined)
    throw new Error(`${from} has no records of relet; name the --dynamic-config-dir of 'relet kubelet'`);
  for (const name of replace ? [] : named)
    if (!['', text(join(source, name), files)].includes(text(join(target, name), files)))
      throw new Error(
        `${to} has configs of its own, which those of ${from} would replace; to use those instead, stop the agent and remove ${to} first`,
      );
  for (const uid of namesIn(join(from, 'checkpoints'), files))
    for (const version of namesIn(join(from, 'checkpoints', uid), files))
      copyDir(join('checkpoints', uid, version), { from, to, files });
  for (const name of namesIn(join(from, 'documents'), files)) copyFile(join('documents', name), { from, to, files });
  for (const name of namesIn(source, files))
    if (![...notCopied, ...named].includes(name) && files.stat(join(source, name))?.isFile())
      copyFile(join('meta', name), { from, to, files });
  // Last: a crash before leaves a directory in which nothing is assigned.
  for (const name of named) copyFile(join('meta', name), { from, to, files });
  replaceFile(join(target, marker), from, { files });
  return true;
}

/** Empty for a missing file. */
const text = (path: string, files: Files): string =>
  files.stat(path) === undefined ? '' : files.read(path).toString();

const namesIn = (dir: string, files: Files): string[] =>
  files.list(dir).filter((name) => !name.startsWith(temporaryPrefix));

interface Places {
  from: string;
  to: string;
  files: Files;
}

function copyDir(path: string, { from, to, files }: Places): void {
  if (files.stat(join(to, path)) !== undefined) return;
  const names = files.list(join(from, path));
  makeParents(path, to, files);
  createDir(join(to, path), new Map(names.map((name) => [name, files.read(join(from, path, name))])), files);
}

function copyFile(path: string, { from, to, files }: Places): void {
  if (files.stat(join(from, path)) === undefined) return;
  makeParents(path, to, files);
  replaceFile(join(to, path), files.read(join(from, path)), { files });
}

function makeParents(path: string, to: string, files: Files): void {
  const parts = path.split('/').slice(0, -1);
  for (const at of parts.keys()) {
    const dir = join(to, ...parts.slice(0, at + 1));
    if (files.stat(dir) !== undefined) continue;
    files.makeDir(dir, 0o700);
    files.sync(join(dir, '..'));
  }
}
