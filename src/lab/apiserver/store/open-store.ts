/** Opens the store: on disk where a directory is given, else in memory. */
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import { memoryJournal } from '../../../memory-api/store/journal.js';
import { type HistoryLimits, RevisionStore } from '../../../memory-api/store/revision-store.js';
import type { Store } from '../../../memory-api/store/store.js';
import { openDiskJournal } from './disk-journal.js';

export interface OpenStoreOptions {
  directory: string | undefined;
  clock: Clock;
  history?: HistoryLimits | undefined;
  log?: Log;
}

export async function openStore({ directory, clock, history, log }: OpenStoreOptions): Promise<Store> {
  const journal = directory === undefined ? memoryJournal() : await openDiskJournal({ directory, ...(log && { log }) });
  try {
    return new RevisionStore(journal, clock, history);
  } catch (error) {
    // Damage is found only now; the directory must not stay locked.
    await journal.close();
    throw error;
  }
}
