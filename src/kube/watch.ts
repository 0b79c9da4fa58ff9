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
import { isExpired, isForbidden, isNotFound, isStatus, statusError } from '../api/status.js';
import { isObject } from '../json.js';
import { type Backoff, backoffMs } from './backoff.js';
import type { KubeClient } from './client.js';
import { type ResourceType, resourcePath } from './resource-type.js';
import { ConnectionError, type HttpResponse } from './transport.js';

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
  /** The part of an object that is needed, called as each arrives, so that a long list is never in memory whole. Default: all of it. */
  trim?(object: T): T;
  signal: AbortSignal;
  backoff?: Backoff;
  /**
   * Begins with a watch that delivers the present objects as ADDED, instead of a list: for a caller that has just read what it watches.
   * A later list follows as always. Default false.
   */
  startsWithWatch?: boolean;
  /** Shortest duration of one watch; the longest is twice that. Default 300, and 900 for one object. */
  watchSeconds?: number;
}

const defaultBackoff: Backoff = { initialMs: 200, maxMs: 30_000 };
// A watch that ends sooner without an event is a failure, otherwise the loop would spin.
const shortestWatchMs = 1000;

/** Returns only when the signal fires. */
export async function watchLoop<T extends KubeObject>(client: KubeClient, options: WatchLoopOptions<T>): Promise<void> {
  const { signal, backoff = defaultBackoff } = options;
  // With an empty version the loop lists first; with 0 the API server delivers the present objects.
  const version = options.startsWithWatch ? '0' : '';
  const state: WatchLoopState = { version, failures: 0, expired: 0, doing: 'list' };
  while (!signal.aborted) {
    try {
      if (state.version === '') await list(client, options, state);
      await watchOnce(client, options, state);
    } catch (error) {
      if (signal.aborted) return;
      state.failures++;
      // The version is too old, or the watch is forbidden, perhaps because permissions changed, or nothing serves the resource any more:
      // list again.
      if (isExpired(error) || isForbidden(error) || isNotFound(error)) state.version = '';
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
  const { trim = (object) => object, omitLists } = options;
  const found: T[] = [];
  let version = '';
  const pages = client.pages<T>(options.type, {
    ...scope(options),
    ...(omitLists && { omitLists }),
    signal: options.signal,
  });
  for await (const { items, resourceVersion } of pages) {
    for (const item of items) found.push(trim(item));
    version = resourceVersion;
  }
  options.onList(found);
  state.version = version;
}

/** One watch from the last version on; returns when the server closes it. */
async function watchOnce<T extends KubeObject>(
  client: KubeClient,
  options: WatchLoopOptions<T>,
  state: WatchLoopState,
) {
  const { signal, type, onChange, onWatching, trim = (object) => object } = options;
  // One object costs the server next to nothing: most of the cost of its watch is opening it.
  const { watchSeconds = options.name === undefined ? 300 : 900 } = options;
  state.doing = 'watch';
  const startedMs = client.clock.monotonic();
  const isLong = () => client.clock.monotonic() - startedMs >= shortestWatchMs;
  let isOpen = false;
  let received = false;
  const events = watch<T>(client, type, {
    ...scope(options),
    resourceVersion: state.version,
    // Jitter: the watches of many clients should not end together.
    timeoutSeconds: Math.ceil(watchSeconds * (1 + client.random.number())),
    signal,
    onOpen: () => {
      isOpen = true;
      onWatching?.();
    },
  });
  try {
    for await (const event of events) {
      received = true;
      if (event.type !== 'BOOKMARK') onChange(event.type, trim(event.object));
      // Reset failures only after the handler returned: an event it throws on is retried with backoff.
      succeeded(state);
      state.version = event.object.metadata?.resourceVersion || state.version;
    }
  } catch (error) {
    // The watch was open for a while without an event: earlier failures are unrelated to this one.
    if (isOpen && isLong()) succeeded(state);
    throw error;
  }
  if (!received && !isLong()) throw new Error(`WATCH ${type.resource}: the server closed it at once`);
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

export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  /** No change up to this resourceVersion. */
  | { type: 'BOOKMARK'; object: T };

export interface WatchOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion: string;
  /** The server ends the watch after this time; when it does not, the client does shortly after. */
  timeoutSeconds: number;
  signal?: AbortSignal;
  /** The server accepted the watch. */
  onOpen?(): void;
  /** A longer line ends the watch. Default 16 MiB. */
  maxLineBytes?: number;
}

/** A line that is not a valid event: not JSON, without an object, or too long. */
export class MalformedEventError extends Error {
  override name = 'MalformedEventError';
}

// A server sends bookmarks about once a minute. After the first one, three minutes without any data mean a lost peer.
const bookmarkIdleMs = 180_000;
const graceMs = 15_000;
const mostInARow = 50;

/** One watch request and its events. Ends when the server closes it; throws on a line that is not a valid event. */
export async function* watch<T = KubeObject>(
  client: KubeClient,
  type: ResourceType,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void, void> {
  const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
  const path = resourcePath(type, namespace === undefined ? {} : { namespace });
  const what = `WATCH ${path}`;
  const response = await client.open({
    method: 'GET',
    path,
    query: {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion,
      timeoutSeconds: String(timeoutSeconds),
      labelSelector,
      fieldSelector,
    },
    ...(signal && { signal }),
  });
  options.onOpen?.();
  const idle = createIdleTimeout(client, response);
  const onAbort = () => response.destroy();
  signal?.addEventListener('abort', onAbort, { once: true });
  const forget = client.onLost((error) => response.destroy(error));
  try {
    idle.allow(timeoutSeconds * 1000 + graceMs);
    let inARow = 0;
    for await (const line of lines(response, options.maxLineBytes ?? 16 * 1024 * 1024, what)) {
      // Buffered events would be read to the end before anything else happens, such as a signal to stop.
      if (++inARow % mostInARow === 0) await client.clock.sleep(0, signal);
      signal?.throwIfAborted();
      const event = parseEvent<T>(line, what);
      if (event.type === 'BOOKMARK') idle.allow(Math.min(bookmarkIdleMs, timeoutSeconds * 1000 + graceMs));
      else idle.received();
      yield event;
    }
  } catch (error) {
    signal?.throwIfAborted();
    // An ApiError has a code as well, but a number.
    if (typeof (error as NodeJS.ErrnoException).code !== 'string') throw error;
    throw new ConnectionError(what, error as NodeJS.ErrnoException);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    forget();
    idle.stop();
    response.destroy();
  }
  signal?.throwIfAborted();
}

/** Destroys a response without data for too long. An event only records the time, so that many of them cost little. */
function createIdleTimeout({ clock }: KubeClient, response: HttpResponse) {
  let allowedMs = 0;
  let receivedMs = 0;
  let timer = new AbortController();
  const wait = (ms: number) => {
    timer.abort();
    timer = new AbortController();
    clock.sleep(ms, timer.signal).then(
      () => {
        const leftMs = receivedMs + allowedMs - clock.monotonic();
        if (leftMs > 0) return wait(leftMs);
        response.destroy(Object.assign(new Error(`no data for ${allowedMs} ms`), { code: 'ETIMEDOUT' }));
      },
      () => {},
    );
  };
  const received = () => {
    receivedMs = clock.monotonic();
  };
  return {
    allow(ms: number) {
      allowedMs = ms;
      received();
      wait(ms);
    },
    received,
    stop: () => timer.abort(),
  };
}

async function* lines(body: HttpResponse, maxBytes: number, what: string): AsyncGenerator<string, void, void> {
  let held: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      held.push(chunk.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(held).toString('utf8');
      held = [];
      size = 0;
      if (line.trim() !== '') yield line;
    }
    held.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > maxBytes) throw new MalformedEventError(`${what}: an event is longer than ${maxBytes} bytes`);
  }
  // The last line of a broken connection is half an event: never parse it, the resumed watch sends it again.
}

function parseEvent<T>(line: string, what: string): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown };
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw new MalformedEventError(`${what}: not JSON: ${JSON.stringify(line.slice(0, 200))}`, { cause });
  }
  const { type, object } = event ?? {};
  if (type === 'ERROR' && isStatus(object)) throw statusError(object, what);
  const known = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK';
  if (!known || !isObject(object) || !isObject(object.metadata))
    throw new MalformedEventError(`${what}: no event: ${JSON.stringify(line.slice(0, 200))}`);
  return { type, object: object as T };
}
