/** The difference of two configs by meaning, as the page shows it. Pure. */

import { CannotRun } from '../../cannot-run.js';
import { DecodeError } from '../../config/decode.js';
import { impactSentence } from '../../config/impact-sentence.js';
import { type Minor, newestMinor, parseMinor } from '../../config/model.js';
import { isOverlay } from '../../config/overlay.js';
import { documentChanges } from '../../fleet/node-documents.js';
import { documentOf, readOverlay } from '../../fleet/payload.js';
import { type FieldChange, previewOverlays, summarize } from '../../fleet/preview.js';
import { oneLine } from '../../visible-text.js';
import type { ConfigDiff, FieldDiff } from '../wire.js';

export function diffOf({ from, to, changes }: { from: string; to: string; changes: FieldChange[] }): ConfigDiff {
  return { from, to, changes: changes.map(fieldDiff), impact: impactSentence(summarize(changes)) };
}

export const fieldDiff = ({ path, before, after, needs, why, risk, dropped }: FieldChange): FieldDiff => ({
  path,
  ...(before !== undefined && { from: before }),
  ...(after !== undefined && { to: after }),
  needs,
  why,
  ...(risk !== undefined && { risk }),
  ...(dropped && { dropped }),
});

/** Two payloads without a node. Overlays are compared by what they say; with a whole config, over the kubelet's defaults. */
export function payloadDiff(
  a: { name: string; text: string },
  b: { name: string; text: string },
  kubelet: string | undefined,
): ConfigDiff {
  const minor = parseMinor(kubelet ?? '') ?? newestMinor;
  return diffOf({ from: a.name, to: b.name, changes: changesOf(a, b, minor) });
}

type Named = { name: string; text: string };

function changesOf(a: Named, b: Named, minor: Minor): FieldChange[] {
  if (isOverlay(a.text) && isOverlay(b.text)) {
    const read = (one: Named) => explaining(one, () => readOverlay(one.text, minor));
    return previewOverlays({ before: read(a), after: read(b) }, minor).changes;
  }
  const read = (one: Named) => explaining(one, () => documentOf(one.text, {}, minor)!);
  return documentChanges({ before: read(a), after: read(b), minor, facts: {} });
}

function explaining<T>({ name }: Named, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) throw new CannotRun(`${name}: ${oneLine(error.message)}`);
    throw error;
  }
}
