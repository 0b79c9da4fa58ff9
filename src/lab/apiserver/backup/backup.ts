/** Takes a backup: of a store on disk that no server uses, or, as a route, of the running server. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../clock.js';
import type { Route } from '../router.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { encodeBackup } from './backup-format.js';

export const backupPath = '/relet/backup';

/** Everything at one revision. */
export function backupOf(store: Store, clock: Pick<Clock, 'now'>): Promise<Buffer> {
  const { revision, items } = store.snapshot();
  return encodeBackup({ revision, items }, clock.now());
}

/** For administrators: other users may not read paths outside the API. */
export function backupRoute(store: Store, clock: Clock): Route {
  return {
    path: backupPath,
    async handle(exchange) {
      const file = await backupOf(store, clock);
      exchange.respond(200, { 'content-type': 'application/gzip' }, file);
    },
  };
}

/** Throws Locked when a server runs. */
export async function backupStopped(dataDir: string, clock: Clock): Promise<Buffer> {
  const directory = storeDirectory(dataDir);
  if (!existsSync(directory)) {
    throw new Error(`there is no store in ${dataDir}: give the directory of relet apiserver with --data-dir`);
  }
  const store = await openStore({ directory, clock });
  try {
    return await backupOf(store, clock);
  } finally {
    await store.close();
  }
}

export function storeDirectory(dataDir: string): string {
  return join(dataDir, 'store');
}
