/**
 * Opens --dynamic-config-dir: makes what is missing, refuses what others could have put there, adopts what a real kubelet
 * left behind, and takes the lock. Everything below is readable by root alone.
 */
import { dirname, join } from 'node:path';
import { type Files, realFiles, replaceFile } from '../../atomic-file.js';
import type { Log } from '../../log.js';
import type { Host } from '../host/host.js';
import { adopt } from './adopt.js';
import { type Lock, takeLock } from './lock.js';
import { Memory } from './memory.js';

export interface DirectoryOptions {
  dir: string;
  host: Host;
  log: Log;
  files?: Files;
}

export interface Directory {
  memory: Memory;
  lock: Lock;
}

export function openDirectory({ dir, host, log, files = realFiles }: DirectoryOptions): Directory {
  prepare(dir, files);
  const lock = takeLock({ path: join(dir, 'meta', 'lock'), host, files });
  const memory = new Memory(dir, log, files);
  adopt({ dir, memory, files, log });
  for (const name of ['assigned', 'last-known-good'])
    if (files.stat(join(dir, 'meta', name)) === undefined) replaceFile(join(dir, 'meta', name), '', { files });
  return { memory, lock };
}

/** Throws when the directory cannot be trusted. */
export function prepare(dir: string, files: Files): void {
  makeDirs(dir, files);
  for (const path of [dir, join(dir, 'meta'), join(dir, 'checkpoints')]) {
    if (files.stat(path) === undefined) {
      files.makeDir(path, 0o700);
      files.sync(dirname(path));
    }
    checkTrust(path, files);
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
  const refuse = (why: string, remedy: string) => new Error(`--dynamic-config-dir: ${path} ${why}: ${remedy}`);
  if (found.isSymbolicLink()) throw refuse('is a symbolic link', 'name the directory it leads to');
  if (!found.isDirectory()) throw refuse('is not a directory', 'move it away');
  if ((found.mode & 0o022) !== 0)
    throw refuse('can be written by others, who could so decide what the kubelet runs with', `chmod go-w ${path}`);
  const self = process.getuid?.() ?? 0;
  if (found.uid !== self && found.uid !== 0)
    throw refuse(`belongs to user ${found.uid}`, `chown it to the user relet runs as (${self})`);
}
