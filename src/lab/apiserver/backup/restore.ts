/**
 * Makes a store of a backup. The new store is complete before it takes the old one's place, and the old one is put aside, never
 * removed:
 *
 *     write store-restoring ──► store-restored ──► store aside ──► store-restored becomes store
 *              │                       └─ a crash from here on is brought to its end by the next start
 *              └─ a crash before leaves everything as it was
 */

import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../../../make-directory.js';
import { isHeldDirectory, lockDirectory } from '../store/directory-lock.js';
import { openDiskJournal } from '../store/disk-journal.js';
import { storeDirectory } from './backup.js';
import type { Backup } from './backup-format.js';

/** Revisions go on far behind the backup's: clients that saw later ones must notice that the past was changed, not reuse it. */
const revisionGap = 1_000_000_000;

export interface RestoreOptions {
  dataDir: string;
  /** Put an existing store aside. */
  force: boolean;
  now: Date;
}

/** Answers where the old store is now; undefined where there was none. Throws where a server runs or a store is in the way. */
export async function restore(backup: Backup, { dataDir, force, now }: RestoreOptions): Promise<string | undefined> {
  makeDirectory(dataDir);
  finishRestore(dataDir);
  const directory = storeDirectory(dataDir);
  const isThere = existsSync(directory) && readdirSync(directory).some((name) => name !== 'lock');
  if (isThere && !force) {
    throw new Error(`${dataDir} has a store already: give another --data-dir, or --force to put that store aside`);
  }
  // Held until the old store is aside: no server may start on it meanwhile.
  const unlock = existsSync(directory) ? lockDirectory(directory) : undefined;
  try {
    await writeStore(join(dataDir, 'store-restoring'), backup);
  } catch (error) {
    unlock?.();
    throw error;
  }
  renameSync(join(dataDir, 'store-restoring'), join(dataDir, 'store-restored'));
  syncDirectory(dataDir);
  const aside = unlock === undefined ? undefined : putAside(directory, now);
  finishRestore(dataDir);
  if (isThere || aside === undefined) return aside;
  rmSync(aside, { recursive: true });
  return undefined;
}

function putAside(directory: string, now: Date): string {
  const aside = `${directory}-before-${now.toISOString().replace(/[:.]/g, '-')}`;
  renameSync(directory, aside);
  // Our own, which went along.
  rmSync(join(aside, 'lock'), { force: true });
  return aside;
}

/** Whatever a crash left of a restore: a whole new store takes its place, a part of one goes. Called at every start. */
export function finishRestore(dataDir: string): void {
  removePart(join(dataDir, 'store-restoring'));
  const restored = join(dataDir, 'store-restored');
  if (!existsSync(restored)) return;
  // The old store was not put aside yet: the restore did not happen.
  if (existsSync(storeDirectory(dataDir))) rmSync(restored, { recursive: true });
  else renameSync(restored, storeDirectory(dataDir));
  syncDirectory(dataDir);
}

/** Unless somebody is still writing it. */
function removePart(directory: string): void {
  if (!existsSync(directory)) return;
  try {
    lockDirectory(directory);
  } catch (error) {
    if (isHeldDirectory(error)) return;
    throw error;
  }
  rmSync(directory, { recursive: true });
}

async function writeStore(directory: string, { revision, items }: Backup): Promise<void> {
  const journal = await openDiskJournal(directory);
  try {
    const records = items
      .toSorted((a, b) => a.revision - b.revision)
      .map((item) => ({ ...item, type: 'created' as const, previous: 0, time: 0, size: item.bytes.length }));
    await journal.append(records);
    // A past that is forgotten makes watches and lists of old begin anew.
    await journal.forget([], revision + revisionGap);
  } finally {
    await journal.close();
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  fsyncSync(directory);
  closeSync(directory);
}
