/** What the controller writes to NodeConfigs for a set: the reference together with the claim. Pure. */
import { parseRef } from '../api/config-ref.js';
import { type Claim, claimAnnotation, type Owed, owedAnnotation } from '../api/node-annotations.js';
import { detachAnnotation, type NodeConfig, unsetAnnotations } from '../api/node-config.js';
import { adoptAnnotation, setLabel } from '../api/node-config-set.js';
import { historyAnnotation, withEntry } from '../fleet/config-history.js';
import { sourceText } from './set-nodes.js';

/** A merge patch. With the resourceVersion: who changed the object meanwhile is respected. */
export function assignPatch(object: NodeConfig, claim: Claim, owed: Owed | undefined): object {
  const { annotations = {}, resourceVersion } = object.metadata;
  const from = sourceText(object);
  const entry = { at: claim.at, by: `set/${claim.set}`, verb: 'rollout', from, to: claim.source };
  const ref = parseRef(claim.source);
  return {
    metadata: {
      resourceVersion,
      labels: { [setLabel]: claim.set },
      annotations: {
        [claimAnnotation]: JSON.stringify(claim),
        [adoptAnnotation]: null,
        ...(from !== claim.source && { [historyAnnotation]: withEntry(annotations[historyAnnotation], entry) }),
        [owedAnnotation]: owed === undefined ? null : JSON.stringify(owed),
        [detachAnnotation]: null,
        ...unsetAnnotations(null),
      },
    },
    // A merge keeps what it does not name: a pin is of one content, and goes with it.
    spec: { configSource: ref === undefined ? null : { configMap: { sha256: null, ...ref } } },
  };
}

/** The set lets the node go, and the node keeps what it has; any set may claim it. */
export function releasePatch({ metadata }: NodeConfig, claim: Claim, { isTaken }: { isTaken: boolean }): object {
  const released = isTaken ? null : JSON.stringify({ ...claim, released: true });
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      labels: { [setLabel]: null },
      annotations: { [claimAnnotation]: released },
    },
  };
}
