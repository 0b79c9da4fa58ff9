/** GET with watch=true: the current state if requested, then every change until the timeout. */
import type { Clock } from '../../clock.js';
import type { Random } from '../../random.js';
import { type ListOptions, listOptions } from '../list/list-options.js';
import { parseRevision } from '../list/revision-parameter.js';
import { selectionOf } from '../list/selection.js';
import { expired } from '../status-error.js';
import type { Store } from '../store/store.js';
import type { WatchClock } from '../watch/watch-clock.js';
import { Watcher, type WatcherOptions } from '../watch/watcher.js';
import type { VerbRequest } from './verb.js';

/** The default is between half an hour and an hour, so that not all clients reconnect at once. */
const minTimeoutMs = 1_800_000;
const maxStallMs = 60_000;

export interface WatchContext {
  store: Store;
  clock: Clock;
  random: Random;
  watches: WatchClock;
}

export function watch(request: VerbRequest, { store, clock, random, watches }: WatchContext): void {
  const { exchange, info, resource, form, presenter } = request;
  const options = listOptions(exchange.query, true);
  const selection = selectionOf(info, resource, exchange.query);
  const wanted = parseRevision(options.resourceVersion);
  const isInitial = wantsInitialEvents(options, wanted);
  const stream = exchange.stream(200, { 'content-type': 'application/json' });
  const isTooOld = !isInitial && wanted !== 0 && wanted < store.compacted;
  const watcherOptions: WatcherOptions = {
    exchange,
    stream,
    store,
    resource,
    selection,
    from: isInitial || isTooOld || wanted === 0 ? store.revision : wanted,
    initial: isInitial ? store.list(selection.scope, { revision: store.revision }).items : [],
    marksInitialEnd: options.sendInitialEvents === true,
    presenter,
    form,
    includeObject: exchange.query.get('includeObject') ?? '',
    bookmarks: options.allowWatchBookmarks,
    maxStallMs,
    now: () => clock.monotonic(),
  };
  const watcher = new Watcher(watcherOptions);
  // Once the stream has begun, errors are events.
  if (isTooOld) {
    watcher.fail(expired(`too old resource version: ${wanted} (${store.compacted})`).status);
    return;
  }
  const timeoutMs = options.timeoutSeconds === undefined ? 0 : options.timeoutSeconds * 1000;
  if (!watcher.isClosed) watches.add(watcher, timeoutMs > 0 ? timeoutMs : minTimeoutMs * (1 + random.number()));
}

/** Without a revision, or with 0, a watch begins with the current state; sendInitialEvents requests it explicitly. */
function wantsInitialEvents({ sendInitialEvents }: ListOptions, wanted: number): boolean {
  return sendInitialEvents ?? wanted === 0;
}
