/** Formats the history of a node: the result of each change, and which author the API server has verified. Pure. */
import { formatRef, refOf } from '../api/config-ref.js';
import { oneLine } from '../visible-text.js';
import { type ChangeResult, type HistoryEntry, hasFailed, newestChange, readHistory } from './config-history.js';
import { type ConfiguredNode, configState, errorReason, errorText } from './configured-node.js';

export interface ShownEntry extends HistoryEntry {
  /** Only of the newest: each writer replaces the whole annotation, and the API server checks the name of the last one. */
  verified: boolean;
  /** For the newest change: the present state of the node with it. */
  state?: string;
  /** Principals by whose keys it is signed; the node reports them for the config that it runs, and so for the newest change. */
  signers?: string[];
}

export function historyOf(node: ConfiguredNode): ShownEntry[] {
  const entries = readHistory(node);
  const newest = newestChange(entries);
  const isAssigned = newest?.to === formatRef(refOf(node.configSource), 'short');
  const reported = isAssigned ? reportedResult(node) : undefined;
  return entries.map((entry, at) => {
    const verified = at === 0 && node.changedBy !== undefined && entry.by === node.changedBy;
    if (entry !== newest || reported === undefined) return { ...entry, verified };
    const runs = ['active', 'trial'].includes(reported.outcome);
    const { signers } = (runs && node.signing) || {};
    return {
      ...entry,
      verified,
      result: entry.result ?? reported,
      state: reported.outcome,
      ...(signers && { signers }),
    };
  });
}

/** `rolled back (CrashLoop), active now`; empty where it is not known. */
export function resultSummary({ result, state }: Pick<ShownEntry, 'result' | 'state'>): string {
  if (result === undefined) return '';
  const later = state !== undefined && state !== result.outcome ? `, ${state} now` : '';
  return `${result.outcome}${result.reason ? ` (${result.reason})` : ''}${later}`;
}

/** The same with the message, for a place with room. */
export function resultSentence(entry: Pick<ShownEntry, 'result' | 'state'>): string {
  const { message } = entry.result ?? {};
  return `${resultSummary(entry)}${message ? `: ${message}` : ''}`;
}

/** A set is not a person: who steered it is in the steps of the set. */
export const entryBy = ({ by, verified }: Pick<ShownEntry, 'by' | 'verified'>): string =>
  by.startsWith('set/') ? by : whoText({ by, verified });

/** Result of the assigned config, as far as the report of the node is about it. */
export function reportedResult(node: ConfiguredNode): ChangeResult | undefined {
  const { generation, observedGeneration = generation, status, condition, cause } = node;
  if (!node.reports) return undefined;
  if (generation !== undefined && observedGeneration! < generation) return undefined;
  const result: ChangeResult = { outcome: configState(node) };
  if (!hasFailed(result)) return result;
  const reason = errorReason(status.error ?? '', condition);
  const message = `${errorText(status.error ?? '', condition)}${cause === undefined ? '' : `: ${cause}`}`;
  return { ...result, ...(reason && { reason }), message };
}

export interface Named {
  by?: string | undefined;
  /** The API server has checked the name (docs/security.md). */
  verified?: boolean | undefined;
}

/** `ann`, or `ann (unverified)`; empty without an author. */
export function whoText({ by = '', verified = false }: Named): string {
  if (by === '') return '';
  return verified ? oneLine(by) : `${oneLine(by)} (unverified)`;
}

/** `: "wrong value"`; empty without a reason. */
export const quotedWhy = (why: string | undefined): string => (why ? `: "${oneLine(why)}"` : '');
