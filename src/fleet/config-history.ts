/**
 * The last changes of a node's reference, in an annotation of the object that holds the reference: author, time, old and new config,
 * reason; also holds and releases. Written in the same request as the change itself. Pure.
 */
import { type ConfigRef, formatRef } from '../api/config-ref.js';
import type { KubeObject } from '../api/object.js';
import { parseObject } from '../json.js';
import { shorten } from '../shorten.js';

export const historyAnnotation = 'relet.dev/history';
/** How the newest change failed, by the controller, when it happens. The next change moves it into the history. */
export const resultAnnotation = 'relet.dev/result';
export const historyLength = 10;
/** Limit for holds, releases and adoptions among these: they do not push out entries that `undo` can return to. */
const mostMarks = 4;

export interface ChangeResult {
  /** A state of a node (configStates): `active`, `rejected`, `rolled back` … */
  outcome: string;
  /** Reason of a failure. */
  reason?: string;
  message?: string;
}

export interface HistoryEntry {
  /** Counts up with each change of the node, and is never used again: old entries leave, their numbers with them. */
  revision: number;
  /** RFC 3339. */
  at: string;
  by: string;
  verb: string;
  why?: string;
  /** `namespace/name/key`, or `local`. The same in both where the node was held, released or adopted. */
  from: string;
  to: string;
  /** Result of `to`: a failure when it happened, the rest when the next change was made. */
  result?: ChangeResult;
}

export type NewEntry = Omit<HistoryEntry, 'revision' | 'result'>;

/** The texts of the two annotations. */
export interface HistoryTexts {
  history?: string | undefined;
  changeResult?: string | undefined;
}

export const historyTexts = ({ metadata: { annotations = {} } }: Pick<KubeObject, 'metadata'>): HistoryTexts => ({
  history: annotations[historyAnnotation],
  changeResult: annotations[resultAnnotation],
});

/** A sentence of a person; the annotation is read by every watcher of the Node, so it stays short. */
export const longestWhy = 200;

/** Newest first. An invalid annotation counts as an empty history. Entries of older relets, without a revision, get the next one. */
export function readHistory({ history, changeResult }: HistoryTexts): HistoryEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(history ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(value)) return [];
  const recorded = readResult(changeResult);
  return numbered(value.filter(isEntry).slice(0, historyLength)).map((entry) =>
    entry.revision === recorded?.revision ? { ...entry, result: recorded.result } : entry,
  );
}

/** An entry as it is stored: older relets have a sentence, `rolled back: …` or `rejected: …`, in place of the result. */
type StoredEntry = NewEntry & { revision?: unknown; result?: unknown; failed?: string };

function numbered(entries: StoredEntry[]): HistoryEntry[] {
  const oldestFirst: HistoryEntry[] = [];
  for (const { failed, result, ...entry } of entries.reverse()) {
    const next = (oldestFirst.at(-1)?.revision ?? 0) + 1;
    const { revision } = entry as Partial<HistoryEntry>;
    const isKept = Number.isSafeInteger(revision) && revision! >= next;
    const known = isResult(result) ? result : failed === undefined ? undefined : resultOfSentence(failed);
    oldestFirst.push({ ...entry, revision: isKept ? revision! : next, ...(known && { result: known }) });
  }
  return oldestFirst.reverse();
}

function resultOfSentence(failed: string): ChangeResult {
  const outcome = failureOutcomes.find((one) => failed.startsWith(`${one}: `));
  return outcome === undefined
    ? { outcome: 'failed', message: failed }
    : { outcome, message: failed.slice(outcome.length + 2) };
}

const failureOutcomes = ['rejected', 'rolled back', 'failed'] as const;

export const hasFailed = ({ outcome }: ChangeResult): boolean =>
  (failureOutcomes as readonly string[]).includes(outcome);

/** The text of resultAnnotation. `revision`: of the change that it is about. */
export function resultText(revision: number, { outcome, reason, message }: ChangeResult): string {
  const short = message && { message: shorten(message, longestWhy) };
  return JSON.stringify({ revision, outcome, ...(reason && { reason }), ...short });
}

function readResult(text: string | undefined): { revision: number; result: ChangeResult } | undefined {
  const { revision, ...result } = parseObject(text) ?? {};
  return typeof revision === 'number' && isResult(result) ? { revision, result } : undefined;
}

/**
 * The text of the history with one more entry. `before`: what has become of the newest change, as the node reports it; where a failure
 * is recorded, that stays.
 */
export function withEntry(texts: HistoryTexts, { why, ...entry }: NewEntry, before?: ChangeResult): string {
  const present = withResult(readHistory(texts), entry.from, before);
  const added: HistoryEntry = {
    revision: (present[0]?.revision ?? 0) + 1,
    ...entry,
    ...(why && { why: shorten(why, longestWhy) }),
  };
  return JSON.stringify(trimmed([added, ...present]));
}

function trimmed(entries: HistoryEntry[]): HistoryEntry[] {
  const marks = entries.filter(isMark).slice(0, mostMarks);
  return entries.filter((entry) => !isMark(entry) || marks.includes(entry)).slice(0, historyLength);
}

function withResult(entries: HistoryEntry[], config: string, result: ChangeResult | undefined): HistoryEntry[] {
  const newest = newestChange(entries);
  if (newest === undefined || newest.to !== config || result === undefined) return entries;
  if (newest.result !== undefined && hasFailed(newest.result)) return entries;
  const { message } = result;
  const kept = { ...result, ...(message && { message: shorten(message, longestWhy) }) };
  return entries.map((entry) => (entry === newest ? { ...entry, result: kept } : entry));
}

const markVerbs: readonly string[] = ['hold', 'release', 'adopt'];

/** The node was held, released or adopted; its config stayed the same. */
export const isMark = ({ verb, from, to }: Pick<HistoryEntry, 'verb' | 'from' | 'to'>): boolean =>
  from === to && markVerbs.includes(verb);

export const newestChange = (history: readonly HistoryEntry[]): HistoryEntry | undefined =>
  history.find((entry) => !isMark(entry));

/** How a config failed when the node was last assigned it, if that is recorded. */
export function failureOf(history: readonly HistoryEntry[], config: string): ChangeResult | undefined {
  const result = history.find((entry) => entry.to === config && !isMark(entry))?.result;
  return result !== undefined && hasFailed(result) ? result : undefined;
}

/** The newest revision that `undo --to` can go to: another config than the present one, and none that failed. */
export const goodRevision = (history: readonly HistoryEntry[], now: ConfigRef | undefined): number | undefined =>
  history.find(
    (entry) =>
      !isMark(entry) &&
      entry.to !== 'local' &&
      entry.to !== formatRef(now, 'short') &&
      failureOf(history, entry.to) === undefined,
  )?.revision;

/**
 * Target of `undo`: the source before the newest change; or, if the reference was changed past relet since, the source that the
 * newest change had set. Undefined when there is nothing recorded.
 */
export function undoTarget(
  history: readonly HistoryEntry[],
  now: ConfigRef | undefined,
): { to: string; changedPastRelet: boolean } | undefined {
  const newest = newestChange(history);
  if (newest === undefined) return undefined;
  const changedPastRelet = newest.to !== formatRef(now, 'short');
  return { to: changedPastRelet ? newest.to : newest.from, changedPastRelet };
}

function isEntry(value: unknown): value is StoredEntry {
  if (typeof value !== 'object' || value === null) return false;
  const entry = value as Record<string, unknown>;
  const texts = ['at', 'by', 'verb', 'from', 'to'].every((field) => typeof entry[field] === 'string');
  return texts && ['why', 'failed'].every((field) => ['undefined', 'string'].includes(typeof entry[field]));
}

function isResult(value: unknown): value is ChangeResult {
  if (typeof value !== 'object' || value === null) return false;
  const { outcome, reason, message } = value as Record<string, unknown>;
  return typeof outcome === 'string' && [reason, message].every((one) => ['undefined', 'string'].includes(typeof one));
}
