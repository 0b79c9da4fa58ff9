/** One selected node as plan() sees it: from its Node, its NodeConfig and the claims on it. Pure. */
import { exclusionReasons, failureReasons } from '../api/condition-reasons.js';
import { configErrors } from '../api/config-error.js';
import { formatRef, refOf } from '../api/config-ref.js';
import { type DrainMark, drainMarkOf } from '../api/drain.js';
import { type Claim, claimOf } from '../api/node-annotations.js';
import type { NodeCondition } from '../api/node-condition.js';
import type { NodeConfig } from '../api/node-config.js';
import { isUnset } from '../api/node-config.js';
import { adoptAnnotation, holdAnnotation, updateLabel } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { type ConfigState, configState, errorReason } from '../fleet/configured-node.js';
import { shorten } from '../shorten.js';
import { oneLine } from '../visible-text.js';

export interface ClusterNode extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: { key: string; effect?: string; value?: string }[] };
  status?: { conditions?: NodeCondition[]; nodeInfo?: { kubeletVersion?: string } };
  /** It has GPUs of NVIDIA. */
  hasGpus?: boolean;
}

export interface Exclusion {
  reason: string;
  message: string;
}

export interface SetNode {
  name: string;
  labels: Record<string, string>;
  createdAtMs: number;
  isReady: boolean;
  notReadySinceMs?: number;
  isCordoned: boolean;
  isControlPlane: boolean;
  /** Has the label relet.dev/update with the name of the set. */
  isPicked: boolean;
  /** Why the set does not touch it, whatever its state. */
  blocked?: Exclusion;
  /** Of this set, and the reference is still what it says. */
  claim?: Claim;
  /** What the node runs before the set changes it: a rollback without a current revision goes back to it. */
  previous: string;
  /** Of what is assigned to it. */
  state: ConfigState;
  trialEndsAtMs?: number;
  /** Since when it has not settled: later than the assignment where it had, and crashed or is on trial again. */
  unsettledSinceMs?: number;
  /** Why it rejected or rolled back what is assigned. */
  failure?: Exclusion;
  /** Of this set, on the Node. While it is drained, `message` is what that waits for. */
  drain?: DrainMark;
}

export interface NodeFacts {
  set: string;
  node: ClusterNode;
  object: NodeConfig | undefined;
  /** Sets that select this node and come before this one: they are older. */
  olderSets: readonly string[];
  /** Another system has the node; undefined: nobody. claims.ts answers it. */
  claimant?: string | undefined;
}

export function setNode({ set, node, object, olderSets, claimant }: NodeFacts): SetNode {
  const { metadata, spec = {}, status = {} } = node;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const isReady = ready?.status === 'True';
  const claim = claimOf(object);
  const assigned = sourceText(object);
  const own = claim !== undefined && claim.set === set && !claim.released && claim.source === assigned;
  const blocked = exclusion({ set, node, object, olderSets, claimant }, { claim, assigned, own });
  const failure = object && failureOf(object);
  const drain = drainMarkOf(node);
  const trialEndsAtMs = Date.parse(object?.status?.trial?.endsAt ?? '');
  const notReadySinceMs = Date.parse(ready?.lastTransitionTime ?? '');
  const state = object === undefined ? 'local' : stateOf(object);
  const unsettledSinceMs = object && unsettledSince(object, state);
  const previous = claim !== undefined && claim.set === set && !claim.released ? claim.previous : assigned;
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    createdAtMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isReady,
    ...(!isReady && !Number.isNaN(notReadySinceMs) && { notReadySinceMs }),
    isCordoned: spec.unschedulable === true,
    isControlPlane: controlPlaneLabels.some((label) => Object.hasOwn(metadata.labels ?? {}, label)),
    isPicked: metadata.labels?.[updateLabel] === set,
    ...(blocked && { blocked }),
    ...(own && { claim }),
    previous,
    state,
    ...(unsettledSinceMs !== undefined && { unsettledSinceMs }),
    ...(!Number.isNaN(trialEndsAtMs) && { trialEndsAtMs }),
    ...(failure && { failure }),
    ...(drain?.set === set && { drain }),
  };
}

const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** NAMESPACE/NAME/KEY, or `local`: as claims have it. */
export const sourceText = (object: NodeConfig | undefined): string =>
  formatRef(refOf(object?.spec?.configSource), 'short');

/** A report about an earlier spec is not about this one. */
function stateOf(object: NodeConfig): ConfigState {
  const { metadata, spec, status } = object;
  const unset = isUnset(object);
  if (!unset && (status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return 'waiting';
  const condition = status?.conditions?.find(({ type }) => type === 'ConfigOK');
  return configState({ configSource: spec?.configSource, status: status?.config, unset, condition });
}

/** As it reports. Undefined while it has not seen the assignment. */
function unsettledSince({ metadata, status }: NodeConfig, state: ConfigState): number | undefined {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return undefined;
  if (state !== 'trial' && state !== 'waiting') return undefined;
  const [sign, value] = state === 'trial' ? ['OnTrial', 'True'] : ['ConfigOK', 'False'];
  const found = status?.conditions?.find((one) => one.type === sign && one.status === value);
  const sinceMs = Date.parse(found?.lastTransitionTime ?? '');
  return Number.isNaN(sinceMs) ? undefined : sinceMs;
}

function exclusion(
  { set, node, object, olderSets, claimant }: NodeFacts,
  { claim, assigned, own }: { claim: Claim | undefined; assigned: string; own: boolean },
): Exclusion | undefined {
  const because = (key: keyof typeof exclusionReasons, detail: string): Exclusion => ({
    reason: exclusionReasons[key].reason,
    message: oneLine(shorten(detail, 200)),
  });
  const held = object?.status?.held;
  if (held !== undefined) return because('held', `held on its host${held.why ? `: ${held.why}` : ''}`);
  const hold = object?.metadata.annotations?.[holdAnnotation] ?? node.metadata.annotations?.[holdAnnotation];
  if (hold !== undefined) return because('held', `held by relet.dev/hold${hold ? `: ${hold}` : ''}`);
  if (claimant !== undefined) return because('claimed', claimant);
  const isAdopted = object?.metadata.annotations?.[adoptAnnotation] === set;
  const other = claim !== undefined && claim.set !== set && !claim.released && claim.source === assigned;
  if (other && !isAdopted) return because('otherSet', `it belongs to set ${claim.set}`);
  if (!own && !isAdopted) {
    if (claim !== undefined && !claim.released && claim.source !== assigned)
      return because('repointed', `somebody assigned ${assigned} after set ${claim.set}`);
    if (claim?.source !== assigned && assigned !== 'local')
      return because('byHand', `${assigned} was assigned by hand`);
    if (olderSets.length > 0) return because('otherSet', `set ${olderSets[0]} selects it too, and is older`);
  }
  if (object?.status?.config === undefined) return because('noAgent', 'no agent of relet has reported from it');
  return undefined;
}

function failureOf({ status }: NodeConfig): Exclusion | undefined {
  const error = status?.config?.error;
  if (error === undefined) return undefined;
  const reason = errorReason(
    error,
    status?.conditions?.find(({ type }) => type === 'ConfigOK'),
  );
  const cause = status?.cause === undefined ? '' : `: ${status.cause}`;
  const message = reason === undefined ? error : configErrors[reason].message.slice(0, -1);
  return {
    reason: reason ?? failureReasons.rejected.reason,
    message: oneLine(shorten(`${message}${cause}`, 300)),
  };
}
