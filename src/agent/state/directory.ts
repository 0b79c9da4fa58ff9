/**
 * Opens --dynamic-config-dir: creates what is missing, rejects what another user could have written, adopts what a real kubelet left
 * behind, and takes the lock. Only root can read what is below. A full or read-only disk does not keep a node from starting: it is
 * logged, and the node runs with the records that are there.
 */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Files, isDiskTrouble, isTrustedUser, realFiles, replaceFile } from '../../atomic-file.js';
import type { Log } from '../../log.js';
import { type Lock, type Processes, takeLock, unwrittenLock } from '../../process-lock.js';
import { adopt } from './adopt.js';
import { NodeState } from './node-state.js';

export interface DirectoryOptions {
  dir: string;
  host: Processes;
  log: Log;
  files?: Files;
}

export interface Directory {
  state: NodeState;
  lock: Lock;
  /** False if the disk takes nothing: then nothing written before can be relied on to be there, either. */
  writable: boolean;
}

/** Throws when the directory cannot be trusted, or another relet runs on it. */
export function openDirectory({ dir, host, log, files = realFiles }: DirectoryOptions): Directory {
  let writable = true;
  const attempt = <T>(what: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!isDiskTrouble(error)) throw error;
      writable = false;
      log.error('cannot write to dynamic config dir, continuing with existing records', { what, dir, error });
      return undefined;
    }
  };
  const locking = { path: join(dir, 'meta', 'lock'), host, files };
  const state = new NodeState(dir, log, files);
  attempt('directory', () => prepare(dir, files));
  // Without the directory, these would fail for want of it.
  const lock = (writable ? attempt('lock', () => takeLock(locking)) : undefined) ?? unwrittenLock(locking);
  if (writable) attempt('adoption', () => adopt({ dir, state, files, log }));
  for (const name of ['assigned', 'last-known-good'])
    if (writable && files.stat(join(dir, 'meta', name)) === undefined)
      attempt(name, () => replaceFile(join(dir, 'meta', name), '', { files }));
  return { state, lock, writable };
}

/** Throws when others could have put there what is found. */
function prepare(dir: string, files: Files): void {
  makeDirs(dir, files);
  const paths = [dir, join(dir, 'meta'), join(dir, 'checkpoints')];
  for (const path of paths) if (files.stat(path) !== undefined) checkTrust(path, files);
  checkParents(dir, files);
  for (const path of paths) {
    if (files.stat(path) !== undefined) continue;
    files.makeDir(path, 0o700);
    files.sync(dirname(path));
  }
}

function makeDirs(dir: string, files: Files): void {
  if (files.stat(dir) !== undefined) return;
  makeDirs(dirname(dir), files);
  files.makeDir(dir, 0o700);
  files.sync(dirname(dir));
}

function checkTrust(path: string, files: Files): void {
  const found = files.stat(path)!;
  if (found.isSymbolicLink()) throw distrust(path, 'is a symbolic link', 'name the directory it leads to');
  if (!found.isDirectory()) throw distrust(path, 'is not a directory', 'move it away');
  if ((found.mode & 0o022) !== 0)
    throw distrust(
      path,
      'can be written by others, who could so decide what the kubelet runs with',
      `chmod go-w ${path}`,
    );
  if (!isTrustedUser(found.uid)) throw distrust(path, `belongs to user ${found.uid}`, `chown ${self()} ${path}`);
}

/**
 * A user who may write a directory above can put another one in the place of this. As sshd does: up to the root, each must belong to
 * root or to this user, and nobody else may write it, except where the sticky bit lets nobody move what is not theirs. The
 * way through symbolic links is checked, and the way they lead to.
 */
function checkParents(dir: string, files: Files): void {
  for (const path of new Set([...parentsOf(dir), ...parentsOf(realpathSync(dir))])) {
    const found = files.stat(path);
    if (found === undefined) continue;
    const remedy = `chown ${self()} ${path}, or use a directory elsewhere`;
    if (!isTrustedUser(found.uid))
      throw distrust(
        path,
        `belongs to user ${found.uid}, who could put another directory in the place of ${dir}`,
        remedy,
      );
    if (found.isSymbolicLink() || (found.mode & sticky) !== 0) continue;
    // A user's own group is often allowed to write; that matters only where relet has more rights than the user.
    const writers = self() === 0 ? 0o022 : 0o002;
    if ((found.mode & writers) !== 0)
      throw distrust(
        path,
        `can be written by others, who could put another directory in the place of ${dir}`,
        `chmod go-w ${path}`,
      );
  }
}

const sticky = 0o1000;

const self = (): number => process.getuid?.() ?? 0;

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

const distrust = (path: string, why: string, remedy: string): Error =>
  new Error(`--dynamic-config-dir: ${path} ${why}: ${remedy}`);
