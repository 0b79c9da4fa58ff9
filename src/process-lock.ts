/**
 * A lock file: one process per directory. It names its holder by pid, start time and boot, so a lock that a killed process or a power
 * loss left is void, and a pid that is used again is not taken for the holder.
 *
 * The lock is taken with a hard link: it appears complete, and never replaces the lock of another process. A void lock is removed by
 * the one process that holds a second lock, named after the void one. Otherwise a slow process could remove a lock that was taken
 * after it looked:
 *
 *     A and B find lock S void ──► A has tmp_lock-S, removes S, takes the lock ──► B gets tmp_lock-S, finds A's lock, not S: locked
 */
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type Files, isDiskTrouble, isMissing, NotAFile, temporaryFor, temporaryPrefix } from './atomic-file.js';
import { isObject } from './json.js';
import { isProcessIdentity, type ProcessIdentity } from './proc.js';

export interface Lock {
  /** Throws Locked when another process holds it: one of an earlier relet, which replaces the file, or after it was deleted. */
  check(): void;
  /** At a clean exit; after any other exit the lock is void. */
  release(): void;
}

/** Reads of the machine. */
export interface Processes {
  bootId(): string;
  /** Undefined when no such process runs. */
  identify(pid: number): ProcessIdentity | undefined;
}

export interface LockOptions {
  path: string;
  host: Processes;
  files: Files;
  /** Process that takes the lock. Default this one. */
  pid?: number;
}

export class Locked extends Error {
  readonly holder: ProcessIdentity;

  constructor(path: string, holder: ProcessIdentity) {
    super(
      `lock ${path}: another relet (pid ${holder.pid}) runs on this directory; stop it, or give this one a directory of its own`,
    );
    this.name = 'Locked';
    this.holder = holder;
  }
}

/** Throws Locked when another process holds it, another error when it cannot be written. A process may take its own lock again. */
export function takeLock(options: LockOptions): Lock {
  const { path, host, pid = process.pid } = options;
  const self = host.identify(pid);
  if (self === undefined) throw new Error(`lock ${path}: cannot find this process in /proc; is it mounted?`);
  const lock = unwrittenLock(options);
  // Before anything is written: on a full disk, too, another process is what must be reported.
  lock.check();
  acquire(options, `${JSON.stringify({ bootId: host.bootId(), process: self })}\n`);
  lock.check();
  return lock;
}

/** For a disk that cannot be written: the lock is not taken, but one that another process holds is respected. */
export function unwrittenLock(options: LockOptions): Lock {
  const { path, files, pid = process.pid } = options;
  return {
    check() {
      const holder = lockHolder(options);
      if (holder !== undefined && holder.pid !== pid) throw new Locked(path, holder);
    },
    release() {
      try {
        if (lockHolder(options)?.pid === pid) files.remove(path);
      } catch (error) {
        if (!isDiskTrouble(error)) throw error;
      }
    },
  };
}

/** The running process that holds the lock. */
export function lockHolder(options: LockOptions): ProcessIdentity | undefined {
  return holderIn(readLock(options) ?? '', options.host);
}

function acquire(options: LockOptions, own: string): void {
  const { path, host, files, pid = process.pid } = options;
  const draft = temporaryFor(path);
  try {
    files.create(draft, Buffer.from(own), 0o600);
    for (let attempt = 0; attempt < 20; attempt++) {
      if (tryLink(files, draft, path)) return;
      const found = readLock(options);
      if (found === own) return;
      if (found === undefined) continue;
      const holder = holderIn(found, host);
      if (holder !== undefined && holder.pid !== pid) throw new Locked(path, holder);
      removeVoid(options, found, own);
    }
  } finally {
    removeIfThere(files, draft);
  }
  throw new Error(`lock ${path}: other processes take and release it continuously`);
}

/** False when there is a lock. Its holder may also have removed our draft, as it does with all temporary files. */
function tryLink(files: Files, draft: string, path: string): boolean {
  try {
    files.link(draft, path);
    return true;
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function removeVoid(options: LockOptions, content: string, own: string): void {
  const { path, files } = options;
  const name = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const second = join(dirname(path), `${temporaryPrefix}${basename(path)}-${name}`);
  acquire({ ...options, path: second }, own);
  try {
    if (readLock(options) === content) files.remove(path);
  } finally {
    removeIfThere(files, second);
  }
}

function removeIfThere(files: Files, path: string): void {
  try {
    files.remove(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Undefined when there is none; '' when it cannot be read: then it has no holder, because a node must start. */
function readLock({ path, files }: LockOptions): string | undefined {
  try {
    return files.read(path).toString('utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (isDiskTrouble(error) || error instanceof NotAFile) return '';
    throw error;
  }
}

/** Undefined when the holder does not run any more, or when the text is not a lock. */
function holderIn(text: string, host: Processes): ProcessIdentity | undefined {
  const record = parse(text);
  if (!isObject(record) || !isProcessIdentity(record.process) || record.bootId !== host.bootId()) return undefined;
  const { pid, startTime } = record.process;
  return host.identify(pid)?.startTime === startTime ? record.process : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
