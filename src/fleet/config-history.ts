/**
 * The last changes of a node's reference, kept in an annotation of the object that holds the reference: who changed what
 * to what, when and why. Written in the same request as the change itself. Pure.
 */
import { type ConfigRef, formatRef } from '../api/config-ref.js';

export const historyAnnotation = 'relet.dev/history';
export const historyLength = 10;

export interface HistoryEntry {
  /** Counts up with each change of the node, and is never used again: old entries leave, their numbers with them. */
  revision: number;
  /** RFC 3339. */
  at: string;
  by: string;
  verb: string;
  why?: string;
  /** `namespace/name/key`, or `local`. */
  from: string;
  to: string;
  /** `rolled back: …` or `rejected: …`: how `to` ended, where that was so when the next change was made. */
  failed?: string;
}

/** A sentence of a person; the annotation is read by every watcher of the Node, so it stays short. */
const longestWhy = 200;

/** Newest first. An annotation that is not a valid history counts as none. Entries without a revision, of older relets, get the next one. */
export function readHistory(annotation: string | undefined): HistoryEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(annotation ?? '[]');
  } catch {
    return [];
  }
  return Array.isArray(value) ? numbered(value.filter(isEntry).slice(0, historyLength)) : [];
}

function numbered(entries: Omit<HistoryEntry, 'revision'>[]): HistoryEntry[] {
  const oldestFirst: HistoryEntry[] = [];
  for (const entry of entries.reverse()) {
    const next = (oldestFirst.at(-1)?.revision ?? 0) + 1;
    const { revision } = entry as Partial<HistoryEntry>;
    const isKept = Number.isSafeInteger(revision) && revision! >= next;
    oldestFirst.push({ ...entry, revision: isKept ? revision! : next });
  }
  return oldestFirst.reverse();
}

/** `failed`: what the node reports about the config that this change replaces, if it failed. */
export function withEntry(
  annotation: string | undefined,
  entry: Omit<HistoryEntry, 'revision'>,
  failed?: string,
): string {
  const before = withFailure(readHistory(annotation), entry.from, failed);
  const { why, ...rest } = entry;
  const added: HistoryEntry = {
    revision: (before[0]?.revision ?? 0) + 1,
    ...rest,
    ...(why && { why: shortened(why) }),
  };
  return JSON.stringify([added, ...before].slice(0, historyLength));
}

const shortened = (text: string): string => (text.length <= longestWhy ? text : `${text.slice(0, longestWhy - 1)}…`);

function withFailure([newest, ...older]: HistoryEntry[], config: string, failed: string | undefined): HistoryEntry[] {
  if (newest === undefined) return [];
  return [newest.to === config && failed !== undefined ? { ...newest, failed: shortened(failed) } : newest, ...older];
}

/** How a config ended when the node was last assigned it, if it failed and that is recorded. */
export const failureOf = (history: readonly HistoryEntry[], config: string): string | undefined =>
  history.find(({ to }) => to === config)?.failed;

/** The newest revision that `undo --to` can go to: another config than the present one, and none that failed. */
export const goodRevision = (history: readonly HistoryEntry[], now: ConfigRef | undefined): number | undefined =>
  history.find(({ to }) => to !== 'local' && to !== formatRef(now, 'short') && failureOf(history, to) === undefined)
    ?.revision;

/**
 * Where `undo` goes: back before the newest change; or, where the reference was changed past relet since, back to what the
 * newest change had set. Undefined when there is nothing recorded.
 */
export function undoTarget(
  history: readonly HistoryEntry[],
  now: ConfigRef | undefined,
): { to: string; changedPastRelet: boolean } | undefined {
  const [newest] = history;
  if (newest === undefined) return undefined;
  const changedPastRelet = newest.to !== formatRef(now, 'short');
  return { to: changedPastRelet ? newest.to : newest.from, changedPastRelet };
}

function isEntry(value: unknown): value is Omit<HistoryEntry, 'revision'> {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as Record<string, unknown>;
  const texts = ['at', 'by', 'verb', 'from', 'to'].every((field) => typeof entry[field] === 'string');
  return texts && ['why', 'failed'].every((field) => ['undefined', 'string'].includes(typeof entry[field]));
}
