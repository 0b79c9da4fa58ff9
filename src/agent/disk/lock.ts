/**
 * One relet per directory. The lock names its holder by pid, start time and boot: one that died, even by kill -9 or a
 * power cut, holds nothing.
 */
import { type Files, isMissing, replaceFile } from '../../atomic-file.js';
import type { Host } from '../host/host.js';
import { isProcessIdentity, type ProcessIdentity } from './child-record.js';
import { isObject } from './json-record.js';

export interface Lock {
  /** Given back on a clean end; after any other end it is void by itself. */
  release(): void;
}

interface LockRecord {
  bootId: string;
  process: ProcessIdentity;
}

export interface LockOptions {
  path: string;
  host: Host;
  files: Files;
}

export class Locked extends Error {}

export function takeLock(options: LockOptions): Lock {
  const { path, host, files } = options;
  const self = host.identify(process.pid);
  const holder = lockHolder(options);
  if (holder !== undefined && holder.pid !== self?.pid)
    throw new Locked(
      `lock ${path}: another relet (pid ${holder.pid}) runs on this directory; stop it, or give this one a directory of its own`,
    );
  if (self === undefined) throw new Error(`lock ${path}: cannot see myself in /proc; is it mounted?`);
  const mine: LockRecord = { bootId: host.bootId(), process: self };
  replaceFile(path, `${JSON.stringify(mine)}\n`, { files });
  // Two that found the lock free at the same moment both wrote; the file says who was last, and the other gives way.
  const winner = lockHolder(options);
  if (winner?.pid !== self.pid) throw new Locked(`lock ${path}: another relet (pid ${winner?.pid}) was faster`);
  return {
    release() {
      if (lockHolder(options)?.pid === self.pid) files.remove(path);
    },
  };
}

/** The living process that holds the lock. */
export function lockHolder({ path, host, files }: LockOptions): ProcessIdentity | undefined {
  let record: unknown;
  try {
    record = JSON.parse(files.read(path).toString('utf8'));
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!isLockRecord(record) || record.bootId !== host.bootId()) return undefined;
  const { pid, startTime } = record.process;
  return host.identify(pid)?.startTime === startTime ? record.process : undefined;
}

function isLockRecord(value: unknown): value is LockRecord {
  return isObject(value) && typeof value.bootId === 'string' && isProcessIdentity(value.process);
}
