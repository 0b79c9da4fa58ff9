/**
 * The controller's part of a node's history: records a failure when it happens, and makes Events of holds, releases and adoptions.
 * Pure.
 */
import { byAnnotation } from '../api/node-annotations.js';
import type { NodeConfig } from '../api/node-config.js';
import {
  type HistoryEntry,
  hasFailed,
  historyTexts,
  isMark,
  newestChange,
  readHistory,
  resultAnnotation,
  resultText,
} from '../fleet/config-history.js';
import { quotedWhy, whoText } from '../fleet/node-history.js';
import { resultOf, sourceText } from '../rollout/members.js';

/** A merge patch; undefined if nothing has failed, or it is recorded. With the resourceVersion: the change may be another by now. */
export function failurePatch(object: NodeConfig | undefined): object | undefined {
  if (object?.status?.config?.error === undefined) return undefined;
  const result = resultOf(object);
  if (!hasFailed(result)) return undefined;
  const newest = newestChange(readHistory(historyTexts(object)));
  if (newest === undefined || newest.to !== sourceText(object)) return undefined;
  if (newest.result?.outcome === result.outcome && newest.result.reason === result.reason) return undefined;
  const { resourceVersion } = object.metadata;
  return { metadata: { resourceVersion, annotations: { [resultAnnotation]: resultText(newest.revision, result) } } };
}

const reasons: Record<string, string> = { hold: 'Held', release: 'Released', adopt: 'Adopted' };
const verbs: Record<string, string> = { hold: 'held', release: 'released', adopt: 'adopted' };

/** Events of the entries that the history did not have before: holds, releases and adoptions, oldest first. */
export function markEvents(
  before: string | undefined,
  now: NodeConfig,
  { areNamesChecked }: { areNamesChecked: boolean },
): { reason: string; message: string }[] {
  const named = now.metadata.annotations?.[byAnnotation];
  const known = readHistory({ history: before })[0]?.revision ?? 0;
  const isNew = (entry: HistoryEntry) => entry.revision > known && isMark(entry);
  return readHistory(historyTexts(now))
    .filter(isNew)
    .reverse()
    .map(({ verb, by, why }) => {
      const who = whoText({ by, verified: areNamesChecked && by === named });
      return { reason: reasons[verb]!, message: `${who} ${verbs[verb]} the node${quotedWhy(why)}` };
    });
}
