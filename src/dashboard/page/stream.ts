/**
 * The one stream of this tab: the fleet, the sets, and how old they are. Opened again with backoff when it ends; each time it begins
 * with a new snapshot, so that nothing is missed.
 *
 *   connecting ── snapshot ──► live ── the server says `stale`, or nothing comes ──► stale ── snapshot or `fresh` ──► live
 *        └── one tab too many ──► rejected ── snapshot ──► live       hidden for a minute: closed, until somebody looks again
 */
import { signal } from '@preact/signals';
import { type SetSummary, type StreamEvents, unpackRows } from '../wire.js';
import { apiUrl, get, loggedOut } from './api.js';
import { applyRows, forgetRows, isLoaded, takeSnapshot } from './fleet/fleet-store.js';

export type Connection =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'stale'; sinceMs: number; why: string }
  /** Another tab has to be closed first. Without `sinceMs` nothing is shown yet. */
  | { kind: 'rejected'; sinceMs: number | undefined; why: string };

export const connection = signal<Connection>({ kind: 'connecting' });
export const sets = signal<SetSummary[] | undefined>(undefined);
/** Counts up when the permissions of the person changed. */
export const accessVersion = signal(0);

/** The server sends a heartbeat every 4 s. */
const silentMs = 12_000;
const checkMs = 1000;
const firstRetryMs = 1000;
const longestRetryMs = 15_000;
/** A browser has six connections for a server over HTTP/1.1: a tab that nobody sees gives its own back, so that other tabs can load. */
const hiddenMs = 60_000;
const keepSessionMs = 600_000;

let source: EventSource | undefined;
let retryMs = firstRetryMs;
let lastAtMs = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let hiding: ReturnType<typeof setTimeout> | undefined;
let isPaused = false;
/** The server has said why it ends this stream. */
let isRejected = false;

export function openStream(): void {
  source?.close();
  clearTimeout(timer);
  isPaused = false;
  isRejected = false;
  source = new EventSource(apiUrl('stream'));
  const none: ReturnType<typeof takeSnapshot> = () => {};
  let part = none;
  let isStale = false;
  listen(source, {
    fleet: ({ part: number, parts, rows }) => {
      if (number === 0) part = takeSnapshot();
      const isLast = number + 1 >= parts;
      part(unpackRows(rows), isLast);
      if (!isLast) return;
      // `part` refers to the names of all nodes.
      part = none;
      if (!isStale) live();
    },
    rows: ({ upsert, remove }) => applyRows(upsert, remove),
    sets: (message) => {
      sets.value = message.sets;
    },
    stale: ({ since, why }) => {
      isStale = true;
      connection.value = { kind: 'stale', sinceMs: Math.min(since, shownSince() ?? since), why };
    },
    fresh: () => {
      isStale = false;
      live();
    },
    access: () => {
      accessVersion.value++;
    },
    login: () => {
      closeStream();
      loggedOut.value = true;
    },
    rejected: ({ message, remedy }) => {
      isRejected = true;
      connection.value = { kind: 'rejected', sinceMs: shownSince(), why: `${message} ${remedy}` };
    },
    heartbeat: () => {},
  });
  source.onerror = () => void broken();
  watchSilence();
  document.addEventListener('visibilitychange', onVisibility);
  // A tab may be opened in the background.
  onVisibility();
}

export function closeStream(): void {
  source?.close();
  source = undefined;
  clearTimeout(timer);
  clearTimeout(hiding);
  hiding = undefined;
  document.removeEventListener('visibilitychange', onVisibility);
  forgetRows();
  sets.value = undefined;
  connection.value = { kind: 'connecting' };
}

function onVisibility(): void {
  if (document.hidden) {
    hiding ??= setTimeout(pause, hiddenMs);
    return;
  }
  clearTimeout(hiding);
  hiding = undefined;
  if (isPaused && !loggedOut.value) void reopen();
}

/** Reads api/me first: an EventSource shows neither its error nor its user. If the session has ended, this leads to the login. */
async function reopen(): Promise<void> {
  isPaused = false;
  // A proxy may have opened another session meanwhile, with other rights.
  await get('me', AbortSignal.timeout(silentMs)).then(
    () => accessVersion.value++,
    () => undefined,
  );
  if (!loggedOut.value && source !== undefined && !isPaused) openStream();
}

function pause(): void {
  hiding = undefined;
  isPaused = true;
  source?.close();
  clearTimeout(timer);
  const sinceMs = shownSince();
  if (sinceMs !== undefined) connection.value = { kind: 'stale', sinceMs, why: 'This tab was in the background.' };
  keepSession();
}

/** A session without a stream ends after half an hour. */
function keepSession(): void {
  timer = setTimeout(async () => {
    await get('me').catch(() => undefined);
    if (isPaused && !loggedOut.value) keepSession();
  }, keepSessionMs);
}

/** How old the rows are that are shown; undefined if there are none. */
function shownSince(): number | undefined {
  if (!isLoaded.value) return undefined;
  const known = connection.value;
  return 'sinceMs' in known && known.sinceMs !== undefined ? known.sinceMs : lastAtMs;
}

type Handlers = { [Name in keyof StreamEvents]: (data: StreamEvents[Name]) => void };

function listen(from: EventSource, handlers: Handlers): void {
  for (const [name, handle] of Object.entries(handlers))
    from.addEventListener(name, (event: MessageEvent<string>) => {
      lastAtMs = Date.now();
      watchSilence();
      handle(JSON.parse(event.data));
    });
}

function live(): void {
  retryMs = firstRetryMs;
  connection.value = { kind: 'live' };
}

/** A proxy may keep a connection open whose other end is gone. By the time of day: the timers of a laptop stop while it sleeps. */
function watchSilence(): void {
  clearTimeout(timer);
  const sinceMs = Date.now();
  const check = () => {
    if (Date.now() - sinceMs >= silentMs) void broken();
    else timer = setTimeout(check, checkMs);
  };
  timer = setTimeout(check, checkMs);
}

async function broken(): Promise<void> {
  source?.close();
  clearTimeout(timer);
  const sinceMs = shownSince();
  const why = 'The dashboard’s server does not answer.';
  if (sinceMs !== undefined && !isRejected) connection.value = { kind: 'stale', sinceMs, why };
  timer = setTimeout(() => void reopen(), retryMs);
  retryMs = Math.min(retryMs * 2, longestRetryMs);
}
