/** Events are forgotten after an hour, as Kubernetes does; nobody else deletes them. */
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import { changeOwn } from './own-objects.js';
import type { Store } from './store/store.js';

const events = { group: '', resource: 'events' };
const ttlMs = 3_600_000;
const sweepEveryMs = 300_000;

export async function expireEvents(store: Store, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(sweepEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    await sweep(store, clock.now()).catch((error: unknown) => log.error('events could not be expired', { error }));
  }
}

export async function sweep(store: Store, now: number): Promise<void> {
  const old = store.list(events).items.filter(({ bytes }) => lastSeen(bytes) < now - ttlMs);
  await Promise.all(old.map(({ key }) => changeOwn(store, key, () => 'delete')));
}

/** An event that repeats lives on. */
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
