/**
 * One relet per directory. The lock names its holder by pid, start time and boot: one that died, even by kill -9 or a
 * power cut, holds nothing. Two that start at the same moment may both find it free; the last to write it has it, and the
 * other finds that out before it starts a kubelet.
 */
import { type Files, isDiskTrouble, isMissing, NotAFile, replaceFile } from '../../atomic-file.js';
import { isObject } from '../../json.js';
import type { Host } from '../drivers/host.js';
import { isProcessIdentity, type ProcessIdentity } from './child-record.js';

export interface Lock {
  /** Throws Locked when another relet took it meanwhile. */
  check(): void;
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

/** Throws Locked when another relet has it, and another error when it cannot be written down. */
export function takeLock(options: LockOptions): Lock {
  const { path, host, files } = options;
  const lock = heldLock(options);
  lock.check();
  const self = host.identify(process.pid);
  if (self === undefined) throw new Error(`lock ${path}: cannot see myself in /proc; is it mounted?`);
  const mine: LockRecord = { bootId: host.bootId(), process: self };
  replaceFile(path, `${JSON.stringify(mine)}\n`, { files });
  lock.check();
  return lock;
}

/** The lock as far as it goes where nothing can be written: it still gives way to another relet that holds it. */
export function heldLock(options: LockOptions): Lock {
  const { path, files } = options;
  return {
    check() {
      const holder = lockHolder(options);
      if (holder !== undefined && holder.pid !== process.pid)
        throw new Locked(
          `lock ${path}: another relet (pid ${holder.pid}) runs on this directory; stop it, or give this one a directory of its own`,
        );
    },
    release() {
      try {
        if (lockHolder(options)?.pid === process.pid) files.remove(path);
      } catch (error) {
        if (!isDiskTrouble(error)) throw error;
      }
    },
  };
}

/** The living process that holds the lock. */
export function lockHolder({ path, host, files }: LockOptions): ProcessIdentity | undefined {
  let record: unknown;
  try {
    record = JSON.parse(files.read(path).toString('utf8'));
  } catch (error) {
    // What cannot be read says nothing, and a node must start.
    if (isMissing(error) || isDiskTrouble(error) || error instanceof SyntaxError || error instanceof NotAFile)
      return undefined;
    throw error;
  }
  if (!isLockRecord(record) || record.bootId !== host.bootId()) return undefined;
  const { pid, startTime } = record.process;
  return host.identify(pid)?.startTime === startTime ? record.process : undefined;
}

function isLockRecord(value: unknown): value is LockRecord {
  return isObject(value) && typeof value.bootId === 'string' && isProcessIdentity(value.process);
}
