/** Opens the store: on disk where a directory is given, else in memory. */
import type { Clock } from '../../../clock.js';
import { openDiskJournal } from './disk-journal.js';
import { memoryJournal } from './journal.js';
import { type HistoryLimits, RevisionStore } from './revision-store.js';
import type { Store } from './store.js';

export async function openStore(directory: string | undefined, clock: Clock, limits?: HistoryLimits): Promise<Store> {
  const journal = directory === undefined ? memoryJournal() : await openDiskJournal(directory);
  try {
    return new RevisionStore(journal, clock, limits);
  } catch (error) {
    // A damaged record is found only now; the directory must not stay locked for it.
    await journal.close();
    throw error;
  }
}
