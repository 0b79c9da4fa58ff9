/**
 * The one stream of this tab: the fleet, the sets, and how old they are. Opened again with backoff when it ends; each time it begins
 * with a new snapshot, so that nothing is missed.
 *
 *   connecting ── snapshot ──► live ── the server says `stale`, or nothing comes ──► stale ── snapshot or `fresh` ──► live
 */
import { signal } from '@preact/signals';
import { type SetSummary, type StreamEvents, unpackRows } from '../wire.js';
import { apiUrl, get, loggedOut } from './api.js';
import { applyRows, forgetRows, takeSnapshot } from './fleet/fleet-store.js';

export type Connection =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'stale'; sinceMs: number; why: string }
  /** Another tab has to be closed first. */
  | { kind: 'rejected'; why: string };

export const connection = signal<Connection>({ kind: 'connecting' });
export const sets = signal<SetSummary[] | undefined>(undefined);
/** Counts up when the permissions of the person changed. */
export const accessVersion = signal(0);

/** The server sends a heartbeat every 10 s. */
const silentMs = 25_000;
const firstRetryMs = 1000;
const longestRetryMs = 15_000;
/** A browser has six connections for a server over HTTP/1.1: a tab that nobody sees gives its own back, so that other tabs can load. */
const hiddenMs = 60_000;

let source: EventSource | undefined;
let retryMs = firstRetryMs;
let lastAtMs = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let hiding: ReturnType<typeof setTimeout> | undefined;
let isPaused = false;

export function openStream(): void {
  source?.close();
  clearTimeout(timer);
  isPaused = false;
  document.addEventListener('visibilitychange', onVisibility);
  source = new EventSource(apiUrl('stream'));
  const none: ReturnType<typeof takeSnapshot> = () => {};
  let part = none;
  listen(source, {
    fleet: ({ part: number, parts, rows }) => {
      if (number === 0) part = takeSnapshot();
      const isLast = number + 1 >= parts;
      part(unpackRows(rows), isLast);
      if (!isLast) return;
      // It knows the name of every node.
      part = none;
      live();
    },
    rows: ({ upsert, remove }) => applyRows(upsert, remove),
    sets: (message) => {
      sets.value = message.sets;
    },
    stale: ({ since, why }) => {
      connection.value = { kind: 'stale', sinceMs: since, why };
    },
    fresh: live,
    access: () => {
      accessVersion.value++;
    },
    login: () => {
      closeStream();
      loggedOut.value = true;
    },
    rejected: ({ message, remedy }) => {
      connection.value = { kind: 'rejected', why: `${message} ${remedy}` };
    },
    heartbeat: () => {},
  });
  source.onerror = () => void broken();
  watchSilence();
}

export function closeStream(): void {
  source?.close();
  source = undefined;
  clearTimeout(timer);
  clearTimeout(hiding);
  document.removeEventListener('visibilitychange', onVisibility);
  forgetRows();
  sets.value = undefined;
  connection.value = { kind: 'connecting' };
}

function onVisibility(): void {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(pause, hiddenMs);
  else if (isPaused) openStream();
}

function pause(): void {
  isPaused = true;
  source?.close();
  clearTimeout(timer);
  connection.value = { kind: 'connecting' };
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

/** A proxy may keep a connection open whose other end is gone. */
function watchSilence(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void broken(), silentMs);
}

async function broken(): Promise<void> {
  source?.close();
  clearTimeout(timer);
  const known = connection.value;
  const why = 'The dashboard’s server does not answer.';
  if (known.kind === 'live') connection.value = { kind: 'stale', sinceMs: lastAtMs, why };
  timer = setTimeout(async () => {
    // An EventSource does not show why it failed: this request does, and ends at the login where the session is over.
    await get('me').catch(() => undefined);
    if (!loggedOut.value && source !== undefined && !isPaused) openStream();
  }, retryMs);
  retryMs = Math.min(retryMs * 2, longestRetryMs);
}
