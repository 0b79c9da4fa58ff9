/**
 * Makes a store of a backup. The new store is complete before it replaces the old one, and the old one is renamed, never removed:
 *
 *     write store-restoring ──► store-restored ──► rename the old store ──► rename store-restored to store
 *              │                       │                    └─ after a crash from here on the next start finishes the restore
 *              └───────────────────────┴─ after a crash here the next start removes the new store
 */

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryPrefix } from '../../../atomic-file.js';
import { makeDirectory } from '../../../make-directory.js';
import { Locked } from '../../../process-lock.js';
import { createStore } from '../store/disk-journal.js';
import type { Batch } from '../store/journal.js';
import { syncDirectory } from '../store/snapshot-file.js';
import { lockStore } from '../store/store-lock.js';
import { storeDirectory } from './backup.js';
import type { Backup } from './backup-format.js';

/** Revisions continue far above the backup's: a client that saw later ones must not find them reused for other content. */
const revisionGap = 1_000_000_000;

export interface RestoreOptions {
  dataDir: string;
  /** Replace an existing store; it is renamed. */
  force: boolean;
  now: Date;
}

/** Returns where the old store is now; undefined if there was none. Throws when a server runs, or when there is a store and no `force`. */
export async function restore(backup: Backup, { dataDir, force, now }: RestoreOptions): Promise<string | undefined> {
  makeDirectory(dataDir);
  finishRestore(dataDir);
  const directory = storeDirectory(dataDir);
  const isThere = existsSync(directory) && readdirSync(directory).some(isContent);
  if (isThere && !force) {
    throw new Error(
      `${dataDir} has a store already: give another --data-dir, or --force to replace it (it is renamed, not deleted)`,
    );
  }
  // Held until the old store is renamed: no server may start on it meanwhile.
  const lock = existsSync(directory) ? lockStore(directory) : undefined;
  try {
    await createStore(join(dataDir, 'store-restoring'), contentOf(backup));
  } catch (error) {
    lock?.release();
    throw error;
  }
  renameSync(join(dataDir, 'store-restoring'), join(dataDir, 'store-restored'));
  syncDirectory(dataDir);
  const aside = lock === undefined ? undefined : renameOld(directory, now);
  finishRestore(dataDir);
  if (isThere || aside === undefined) return aside;
  rmSync(aside, { recursive: true });
  return undefined;
}

/** Not a lock, or what a crash left of one. */
function isContent(name: string): boolean {
  return name !== 'lock' && !name.startsWith(temporaryPrefix);
}

function renameOld(directory: string, now: Date): string {
  const aside = `${directory}-before-${now.toISOString().replace(/[:.]/g, '-')}`;
  renameSync(directory, aside);
  // Our own lock, renamed with the directory.
  rmSync(join(aside, 'lock'), { force: true });
  return aside;
}

/** Completes or removes a restore that a crash interrupted. Called at every start. */
export function finishRestore(dataDir: string): void {
  removePart(join(dataDir, 'store-restoring'));
  const restored = join(dataDir, 'store-restored');
  if (!existsSync(restored)) return;
  // The old store was not renamed yet: the restore did not happen.
  if (existsSync(storeDirectory(dataDir))) rmSync(restored, { recursive: true });
  else renameSync(restored, storeDirectory(dataDir));
  syncDirectory(dataDir);
}

/** Unless another process is still writing it. */
function removePart(directory: string): void {
  if (!existsSync(directory)) return;
  try {
    lockStore(directory);
  } catch (error) {
    if (error instanceof Locked) return;
    throw error;
  }
  rmSync(directory, { recursive: true });
}

function contentOf({ revision, items }: Backup): Batch {
  const records = items
    .toSorted((a, b) => a.revision - b.revision)
    .map(({ key, revision: at, bytes }) => ({ key, revision: at, bytes, type: 'created' as const, time: 0 }));
  // Watches and lists from before the backup find their revision compacted and start again.
  return { compacted: revision + revisionGap, records };
}
