/**
 * One process per directory. The lock file names its holder by pid, start time and boot, so that a lock left by kill -9 is
 * recognised and taken over, and a pid used again by another process is not mistaken for the holder.
 */
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A living process holds the lock. Known by its name: each bundle has a copy of its own. */
class DirectoryHeld extends Error {
  override readonly name = 'DirectoryHeld';
}

export function isHeldDirectory(error: unknown): boolean {
  return error instanceof Error && error.name === 'DirectoryHeld';
}

/** Returns the unlock function; throws when a living process holds the lock. */
export function lockDirectory(directory: string): () => void {
  const file = join(directory, 'lock');
  const own = `${process.pid} ${startTime(process.pid)} ${bootId()}\n`;
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  try {
    writeFileSync(draft, own, { mode: 0o600 });
    for (let attempt = 0; attempt < 5; attempt++) {
      if (tryLink(draft, file)) return () => release(file, own);
      removeIfStale(file, draft);
    }
    throw new Error(`lock ${file} could not be taken: others take it all the time`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A hard link appears whole or not at all, and never over another's lock. */
function tryLink(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function removeIfStale(file: string, draft: string): void {
  const holder = read(file);
  if (holder === undefined) return;
  const pid = Number(holder.split(' ')[0]);
  if (isHeld(holder, pid)) {
    throw new DirectoryHeld(`${file} is held by process ${pid}: stop it first, or give another --data-dir`);
  }
  // Moved aside first: if another took the lock over meanwhile, it is put back.
  const aside = `${draft}.stale`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (read(aside) !== holder) tryLink(aside, file);
  unlinkSync(aside);
}

function isHeld(holder: string, pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  if (holder !== `${pid} ${startTime(pid)} ${bootId()}\n` || hasEnded(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function release(file: string, own: string): void {
  if (read(file) === own) unlinkSync(file);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** In clock ticks since boot; '-' where there is no /proc. */
function startTime(pid: number): string {
  return statFields(pid)?.[19] ?? '-';
}

/** A zombie still has its pid until its parent reaps it, which PID 1 of a container may never do. */
function hasEnded(pid: number): boolean {
  const state = statFields(pid)?.[0];
  return state === 'Z' || state === 'X';
}

/** From the process state on; undefined where there is no /proc. */
function statFields(pid: number): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The command name may hold spaces and parentheses; fields count from behind it.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function bootId(): string {
  return read('/proc/sys/kernel/random/boot_id')?.trim() ?? '-';
}
