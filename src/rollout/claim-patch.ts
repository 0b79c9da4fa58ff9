/** The requests in which a set claims a node together with its config, and releases it. Pure. */
import { formatRef, nodeConfigSource, refOf } from '../api/config-ref.js';
import { type Claim, claimAnnotation, claimText, type Owed } from '../api/node-annotations.js';
import type { NodeConfig } from '../api/node-config.js';
import { setLabel } from '../api/node-config-set.js';
import { nodeConfigPatch } from '../fleet/assignment.js';
import { historyTexts, withEntry } from '../fleet/config-history.js';
import { resultOf } from './members.js';

export function claimPatch(object: NodeConfig, claim: Claim, owed: Owed | undefined): object {
  const [from, to] = [refOf(object.spec?.configSource), claim.source].map((ref) => formatRef(ref, 'short')) as [
    string,
    string,
  ];
  const entry = { at: claim.at, by: `set/${claim.set}`, verb: 'rollout', from, to };
  return nodeConfigPatch(object.metadata.resourceVersion, {
    source: claim.source && nodeConfigSource(claim.source),
    history: from === to ? undefined : withEntry(historyTexts(object), entry, resultOf(object)),
    owed,
    claim,
  });
}

/** The node keeps its config, and any set may claim it. */
export function releasePatch({ metadata }: NodeConfig, claim: Claim, { isTaken }: { isTaken: boolean }): object {
  const released = isTaken ? null : claimText({ ...claim, released: true });
  return {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      labels: { [setLabel]: null },
      annotations: { [claimAnnotation]: released },
    },
  };
}
