/**
 * Keeps up with a collection, or one object by name, for as long as the signal lets it:
 *
 *     list ─► watch ─► (server closed it) ─► watch from the last version
 *       ▲        └─ version too old ─┐
 *       └────── wait, longer each time, and until the server can be reached ◄─ any failure
 *
 * Watches resume where they ended, so an idle object costs one request every few minutes.
 */
import type { KubeObject } from '../api/object.js';
import { isExpired, isForbidden } from './api-error.js';
import { type Backoff, backoffMs } from './backoff.js';
import type { KubeClient } from './client.js';
import type { ResourceType } from './resource-type.js';
import { watch } from './watch.js';

export interface Follower<T> {
  /** All there is now: after the first list, and after each one that was needed again. */
  onList(objects: T[]): void;
  onChange(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
  /** Listing or watching failed; it is tried again by itself. A 403 tells the caller that it may have to read instead. */
  onFailure(error: unknown, doing: 'list' | 'watch'): void;
  /** The watch stands: from here on changes are heard at once. */
  onWatching?(): void;
}

export interface FollowOptions<T> extends Follower<T> {
  type: ResourceType;
  namespace?: string;
  /** Follow this one object. */
  name?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Of the list; see ListOptions. A watch brings objects one by one, whole. */
  leaveOut?: readonly string[];
  signal: AbortSignal;
  backoff?: Backoff;
  /** Shortest life of one watch; the longest is twice that. Default 300. */
  watchSeconds?: number;
  random?: () => number;
}

const defaultBackoff: Backoff = { initialMs: 200, maxMs: 30_000 };
// A watch that ends sooner and brought nothing is a failure, or we would ask in circles.
const shortestWatchMs = 1000;

/** Returns only when the signal fires. */
export async function follow<T extends KubeObject>(client: KubeClient, options: FollowOptions<T>): Promise<void> {
  const { signal, random = Math.random, backoff = defaultBackoff } = options;
  // An empty version means: list first.
  const state: FollowState = { version: '', failures: 0, expired: 0, doing: 'list' };
  while (!signal.aborted) {
    try {
      if (state.version === '') await list(client, options, state);
      await watchOnce(client, options, state);
    } catch (error) {
      if (signal.aborted) return;
      state.failures++;
      // The server forgot where we were, or refuses the watch, perhaps since the object is no longer ours: ask afresh.
      if (isExpired(error) || isForbidden(error)) state.version = '';
      // Every restart of an API server does this. Only one that never stops is a reason to wait.
      if (isExpired(error) && ++state.expired === 1) continue;
      options.onFailure(error, state.doing);
      await client.pause(backoffMs(state.failures, backoff, random), signal).catch(() => {});
    }
  }
}

interface FollowState {
  version: string;
  failures: number;
  /** Of those, how many were a version that is too old. */
  expired: number;
  doing: 'list' | 'watch';
}

async function list<T extends KubeObject>(client: KubeClient, options: FollowOptions<T>, state: FollowState) {
  state.doing = 'list';
  const page = await client.list<T>(options.type, {
    ...scope(options),
    ...(options.leaveOut && { leaveOut: options.leaveOut }),
    signal: options.signal,
  });
  options.onList(page.items);
  state.version = page.resourceVersion;
}

/** A watch from the last version on; returns when the server ends it in its own time. */
async function watchOnce<T extends KubeObject>(client: KubeClient, options: FollowOptions<T>, state: FollowState) {
  const { watchSeconds = 300, random = Math.random, signal, type, onChange, onWatching } = options;
  state.doing = 'watch';
  const startedMs = client.clock.monotonic();
  let heard = false;
  const events = watch<T>(client, type, {
    ...scope(options),
    resourceVersion: state.version,
    // Spread, so that the watches of many clients do not end together.
    timeoutSeconds: Math.ceil(watchSeconds * (1 + random())),
    signal,
    onOpen: () => onWatching?.(),
  });
  for await (const event of events) {
    heard = true;
    if (event.type !== 'BOOKMARK') onChange(event.type, event.object);
    // Only now: an event that nobody can make sense of is a failure, and heard again after a longer wait.
    succeeded(state);
    state.version = event.object.metadata?.resourceVersion || state.version;
  }
  if (!heard && client.clock.monotonic() - startedMs < shortestWatchMs)
    throw new Error(`WATCH ${type.resource}: the server closed it at once`);
  succeeded(state);
}

function succeeded(state: FollowState): void {
  state.failures = 0;
  state.expired = 0;
}

function scope<T>({ namespace, name, labelSelector, fieldSelector }: FollowOptions<T>) {
  const fields = [name === undefined ? '' : `metadata.name=${name}`, fieldSelector ?? ''].filter((part) => part !== '');
  return {
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fields.length > 0 && { fieldSelector: fields.join(',') }),
  };
}
