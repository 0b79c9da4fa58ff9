/** Deletes Events an hour after they were last changed, as Kubernetes does by default. */
import type { KubeObject } from '../api/object.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { changeStored } from './own-objects.js';
import type { Store } from './store/store.js';

const events = { group: '', resource: 'events' };
const ttlMs = 3_600_000;
const checkEveryMs = 300_000;

export async function expireEvents(store: Store, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    await deleteExpired(store, clock.now()).catch((error: unknown) =>
      log.error('events could not be expired', { error }),
    );
  }
}

export async function deleteExpired(store: Store, now: number): Promise<void> {
  const old = store.list(events).items.filter(({ bytes }) => lastSeen(bytes) < now - ttlMs);
  await Promise.all(old.map(({ key }) => changeStored(store, key, () => 'delete')));
}

/** An event that repeats is kept. */
function lastSeen(bytes: Buffer): number {
  const event = JSON.parse(bytes.toString('utf8')) as KubeObject & {
    lastTimestamp?: string | null;
    eventTime?: string | null;
    series?: { lastObservedTime?: string };
  };
  const times = [
    event.metadata.creationTimestamp,
    event.lastTimestamp,
    event.eventTime,
    event.series?.lastObservedTime,
  ].map((time) => Date.parse(time ?? ''));
  return Math.max(...times.filter((time) => !Number.isNaN(time)), 0);
}
