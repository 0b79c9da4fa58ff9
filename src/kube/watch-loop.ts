/**
 * List, then watch, again after failures: a collection, or one object by name, until the signal fires.
 *
 *     list ─► watch ─► (server closed it) ─► watch from the last version
 *       ▲        └─ version too old ─┐
 *       └────── backoff, then wait until the server can be reached ◄─ any failure
 *
 * A watch resumes at the last resourceVersion, so an idle object costs one request every few minutes.
 */
import type { KubeObject } from '../api/object.js';
import { isExpired, isForbidden } from './api-error.js';
import { type Backoff, backoffMs } from './backoff.js';
import type { KubeClient } from './client.js';
import type { ResourceType } from './resource-type.js';
import { watch } from './watch.js';

export interface WatchHandler<T> {
  /** All objects: after the first list, and after each later one. */
  onList(objects: T[]): void;
  onChange(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
  /** List or watch failed and will be retried. After a 403 the caller may have to poll instead. */
  onFailure(error: unknown, doing: 'list' | 'watch'): void;
  /** The watch is open: changes arrive at once from here on. */
  onWatching?(): void;
}

export interface WatchLoopOptions<T> extends WatchHandler<T> {
  type: ResourceType;
  namespace?: string;
  /** Only this object. */
  name?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** For the list; see ListOptions. A watch delivers whole objects, one by one. */
  omitLists?: readonly string[];
  signal: AbortSignal;
  backoff?: Backoff;
  /** Shortest duration of one watch; the longest is twice that. Default 300. */
  watchSeconds?: number;
}

const defaultBackoff: Backoff = { initialMs: 200, maxMs: 30_000 };
// A watch that ends sooner without an event is a failure, otherwise the loop would spin.
const shortestWatchMs = 1000;

/** Returns only when the signal fires. */
export async function watchLoop<T extends KubeObject>(client: KubeClient, options: WatchLoopOptions<T>): Promise<void> {
  const { signal, backoff = defaultBackoff } = options;
  // With an empty version the loop lists first.
  const state: WatchLoopState = { version: '', failures: 0, expired: 0, doing: 'list' };
  while (!signal.aborted) {
    try {
      if (state.version === '') await list(client, options, state);
      await watchOnce(client, options, state);
    } catch (error) {
      if (signal.aborted) return;
      state.failures++;
      // The version is too old, or the watch is forbidden, perhaps because permissions changed: list again.
      if (isExpired(error) || isForbidden(error)) state.version = '';
      // Every restart of an API server causes one; only repeated ones need a backoff.
      if (isExpired(error) && ++state.expired === 1) continue;
      options.onFailure(error, state.doing);
      await client.waitBeforeRetry(backoffMs(state.failures, backoff, client.random), signal).catch(() => {});
    }
  }
}

interface WatchLoopState {
  version: string;
  failures: number;
  /** How many of those were a version that is too old. */
  expired: number;
  doing: 'list' | 'watch';
}

async function list<T extends KubeObject>(client: KubeClient, options: WatchLoopOptions<T>, state: WatchLoopState) {
  state.doing = 'list';
  const page = await client.list<T>(options.type, {
    ...scope(options),
    ...(options.omitLists && { omitLists: options.omitLists }),
    signal: options.signal,
  });
  options.onList(page.items);
  state.version = page.resourceVersion;
}

/** One watch from the last version on; returns when the server closes it. */
async function watchOnce<T extends KubeObject>(
  client: KubeClient,
  options: WatchLoopOptions<T>,
  state: WatchLoopState,
) {
  const { watchSeconds = 300, signal, type, onChange, onWatching } = options;
  state.doing = 'watch';
  const startedMs = client.clock.monotonic();
  let received = false;
  const events = watch<T>(client, type, {
    ...scope(options),
    resourceVersion: state.version,
    // Jitter: the watches of many clients should not end together.
    timeoutSeconds: Math.ceil(watchSeconds * (1 + client.random.number())),
    signal,
    onOpen: () => onWatching?.(),
  });
  for await (const event of events) {
    received = true;
    if (event.type !== 'BOOKMARK') onChange(event.type, event.object);
    // Reset failures only after the handler returned: an event it throws on is retried with backoff.
    succeeded(state);
    state.version = event.object.metadata?.resourceVersion || state.version;
  }
  if (!received && client.clock.monotonic() - startedMs < shortestWatchMs)
    throw new Error(`WATCH ${type.resource}: the server closed it at once`);
  succeeded(state);
}

function succeeded(state: WatchLoopState): void {
  state.failures = 0;
  state.expired = 0;
}

function scope<T>({ namespace, name, labelSelector, fieldSelector }: WatchLoopOptions<T>) {
  const fields = [name === undefined ? '' : `metadata.name=${name}`, fieldSelector ?? ''].filter((part) => part !== '');
  return {
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fields.length > 0 && { fieldSelector: fields.join(',') }),
  };
}
