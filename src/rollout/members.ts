/** Builds the nodes of a set as plan() gets them: each from its Node, its NodeConfig and the claims on it. Pure. */
import { exclusionReasons, failureReasons } from '../api/condition-reasons.js';
import { configErrors } from '../api/config-error.js';
import { type ConfigRef, formatRef, refOf, sameConfig } from '../api/config-ref.js';
import { type DrainMark, drainMarkOf } from '../api/drain.js';
import { restartsApiServer } from '../api/driver-name.js';
import { selectsLabels } from '../api/label-selector.js';
import type { MeasuredNodeConfig } from '../api/local-config.js';
import { type Claim, claimOf } from '../api/node-annotations.js';
import type { NodeConfig } from '../api/node-config.js';
import { isUnset } from '../api/node-config.js';
import {
  adoptAnnotation,
  givenUpAnnotation,
  holdAnnotation,
  type NodeConfigSet,
  updateLabel,
} from '../api/node-config-set.js';
import { type Observed, readObserved } from '../api/observe.js';
import { readRejectedPods } from '../api/rejected-pods.js';
import { agentSigns } from '../fleet/agent-presence.js';
import { type ChangeResult, hasFailed } from '../fleet/config-history.js';
import { type ConfigState, configState, errorReason } from '../fleet/configured-node.js';
import { byName } from '../natural-order.js';
import { shorten } from '../shorten.js';
import { clauseOf, oneLine } from '../visible-text.js';
import type { ClusterNode } from './cluster-node.js';
import { claimantOf, type OtherClaims } from './drain/maintenance.js';

export interface Exclusion {
  reason: string;
  message: string;
}

/** The config of the spec cannot be rolled out to one node: it is invalid there, or not allowed, or needs more than is accepted. */
export interface Refusal extends Exclusion {
  revision: string;
  kind: 'invalidConfig' | 'fieldPolicy' | 'impact';
}

export interface SetNode {
  name: string;
  labels: Record<string, string>;
  createdAtMs: number;
  isReady: boolean;
  /** Its agent has reported, and no longer renews its lease. */
  isSilent?: true;
  notReadySinceMs?: number;
  isCordoned: boolean;
  isControlPlane: boolean;
  /** Has the label relet.dev/update with the name of the set. */
  isPicked: boolean;
  /** Why the set does not change the node in any state. */
  blocked?: Exclusion;
  /** Why it does not get one revision. It may get others. */
  refused?: Refusal;
  /** Claim of this set, if the reference still agrees with it. */
  claim?: Claim;
  /** Source of the node before the set changes it: a rollback without a current revision returns to it. */
  previous: ConfigRef | undefined;
  /** State of the assigned config. */
  state: ConfigState;
  trialEndsAtMs?: number;
  /** Since when it has not settled: later than the assignment where it had, and crashed or is on trial again. */
  unsettledSinceMs?: number;
  /** Why it rejected or rolled back what is assigned. */
  failure?: Exclusion;
  /** The assigned config runs, and pods were rejected because of it: counts as failed, like a rollback. */
  harm?: Exclusion;
  /** The newest answer for an analysis, as far as it can be used. */
  observed?: Observed;
  /** `1.34`: only kubelets of one minor are compared. */
  kubeletMinor?: string;
  /** The time of a batch that was given up before the node had it, once that is written on it. */
  givenUp?: string;
  /** Drain by this set, on the Node. While it is drained, `message` names what that waits for. */
  drain?: DrainMark;
}

export interface MemberInput {
  set: string;
  node: ClusterNode;
  object: MeasuredNodeConfig | undefined;
  /** Sets that select this node and come before this one: they are older. */
  olderSets: readonly string[];
  /** Another system does maintenance on the node (drain/maintenance.ts); undefined: none does. */
  claimant?: string | undefined;
}

export function setNode({ set, node, object, olderSets, claimant }: MemberInput): SetNode {
  const { metadata, spec = {}, status = {} } = node;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const isReady = ready?.status === 'True';
  const claim = claimOf(object);
  const assigned = refOf(object?.spec?.configSource);
  const own = claim !== undefined && claim.set === set && !claim.released && sameConfig(claim.source, assigned, 'name');
  const blocked = exclusion({ set, node, object, olderSets, claimant }, { claim, assigned, own });
  const failure = object && failureOf(object);
  const signs = object && agentSigns(object);
  const drain = drainMarkOf(node);
  const trialEndsAtMs = Date.parse(object?.status?.trial?.endsAt ?? '');
  const notReadySinceMs = Date.parse(ready?.lastTransitionTime ?? '');
  const state = object === undefined ? 'local' : stateOf(object);
  const unsettledSinceMs = object && unsettledSince(object, state);
  const harm = own ? harmOf(object, claim) : undefined;
  const observed = readObserved(object?.status?.observed);
  const kubeletMinor = /^v?(1\.\d+)/.exec(status.nodeInfo?.kubeletVersion ?? '')?.[1];
  const previous = claim !== undefined && claim.set === set && !claim.released ? claim.previous : assigned;
  const givenUp = object?.metadata.annotations?.[givenUpAnnotation];
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    createdAtMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isReady,
    ...(!isReady && !Number.isNaN(notReadySinceMs) && { notReadySinceMs }),
    ...(signs?.missing === exclusionReasons.silent.reason && { isSilent: true as const }),
    isCordoned: spec.unschedulable === true,
    isControlPlane:
      controlPlaneLabels.some((label) => Object.hasOwn(metadata.labels ?? {}, label)) ||
      restartsApiServer(object?.status?.driver),
    isPicked: metadata.labels?.[updateLabel] === set,
    ...(blocked && { blocked }),
    ...(own && { claim }),
    previous,
    state,
    ...(unsettledSinceMs !== undefined && { unsettledSinceMs }),
    ...(!Number.isNaN(trialEndsAtMs) && { trialEndsAtMs }),
    ...(failure && { failure }),
    ...(harm && { harm }),
    ...(observed && { observed }),
    ...(kubeletMinor && { kubeletMinor }),
    ...(givenUp !== undefined && { givenUp }),
    ...(drain?.set === set && { drain }),
  };
}

/** Whether the set may assign the node this revision. */
export const mayGet = ({ blocked, refused }: SetNode, { revision }: { revision: string }): boolean =>
  blocked === undefined && refused?.revision !== revision;

const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** NAMESPACE/NAME/KEY, or `local`: as histories have it. */
export const sourceText = (object: NodeConfig | undefined): string =>
  formatRef(refOf(object?.spec?.configSource), 'short');

/** `waiting` while the report is about an earlier spec. */
function stateOf(object: NodeConfig): ConfigState {
  const { metadata, spec, status } = object;
  const unset = isUnset(object);
  if (!unset && (status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return 'waiting';
  const condition = status?.conditions?.find(({ type }) => type === 'ConfigOK');
  return configState({ configSource: spec?.configSource, status: status?.config, unset, condition });
}

/** From the report of the node. Undefined until it has seen the assignment. */
function unsettledSince({ metadata, status }: NodeConfig, state: ConfigState): number | undefined {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return undefined;
  if (state !== 'trial' && state !== 'waiting') return undefined;
  const [sign, value] = state === 'trial' ? ['OnTrial', 'True'] : ['ConfigOK', 'False'];
  const found = status?.conditions?.find((one) => one.type === sign && one.status === value);
  const sinceMs = Date.parse(found?.lastTransitionTime ?? '');
  return Number.isNaN(sinceMs) ? undefined : sinceMs;
}

function exclusion(
  { set, node, object, olderSets, claimant }: MemberInput,
  { claim, assigned, own }: { claim: Claim | undefined; assigned: ConfigRef | undefined; own: boolean },
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
  const isSame = claim !== undefined && sameConfig(claim.source, assigned, 'name');
  const other = isSame && claim.set !== set && !claim.released;
  if (other && !isAdopted) return because('otherSet', `it belongs to set ${claim.set}`);
  if (!own && !isAdopted) {
    const text = formatRef(assigned, 'short');
    if (claim !== undefined && !claim.released && !isSame)
      return because('repointed', `somebody assigned ${text} after set ${claim.set}`);
    if (!isSame && assigned !== undefined) return because('byHand', `${text} was assigned by hand`);
    if (olderSets.length > 0) return because('otherSet', `set ${olderSets[0]} selects it too, and is older`);
  }
  if (object?.unusable !== undefined) return because('unusable', object.unusable);
  if (object === undefined || !agentSigns(object).reports)
    return because('noAgent', 'no agent of relet has reported from it');
  return undefined;
}

/** Result of the assigned config, from the report of the node; `waiting` while that is about an earlier spec. */
export function resultOf(object: NodeConfig): ChangeResult {
  const outcome = stateOf(object);
  const failure = hasFailed({ outcome }) ? failureOf(object) : undefined;
  return { outcome, ...failure };
}

function failureOf({ status }: NodeConfig): Exclusion | undefined {
  const error = status?.config?.error;
  if (error === undefined) return undefined;
  const reason = errorReason(
    error,
    status?.conditions?.find(({ type }) => type === 'ConfigOK'),
  );
  const cause = status?.cause === undefined ? '' : `: ${status.cause}`;
  const message = reason === undefined ? error : clauseOf(configErrors[reason].message);
  return {
    reason: reason ?? failureReasons.rejected.reason,
    message: oneLine(shorten(`${message}${cause}`, 300)),
  };
}

/** A clock of a node may be behind by so much. */
const clockSkewMs = 60_000;

/** Ignores rejected pods of an earlier assignment of the same config: a person has retried it since. */
function harmOf(object: NodeConfig | undefined, { at }: Claim): Exclusion | undefined {
  const rejected = readRejectedPods(object?.status?.rejectedPods);
  if (rejected === undefined || !(Date.parse(rejected.since) + clockSkewMs >= Date.parse(at))) return undefined;
  const { count, names } = rejected;
  const named = names.length > 0 ? `: ${names.join(', ')}${count > names.length ? ', …' : ''}` : '';
  const message = `${count} ${count === 1 ? 'pod that ran was' : 'pods that ran were'} rejected by the restarted kubelet${named}`;
  return { reason: failureReasons.podsRejected.reason, message: oneLine(shorten(message, 300)) };
}

/** A selected node: as plan() sees it, and the objects it was read from. */
export interface SetMember {
  node: SetNode;
  cluster: ClusterNode;
  object: MeasuredNodeConfig | undefined;
}

export interface ClusterObjects {
  sets: { values(): Iterable<NodeConfigSet> };
  nodes: { values(): Iterable<ClusterNode> };
  nodeConfigs: { get(name: string): MeasuredNodeConfig | undefined };
  /** Claims of other systems, in objects beside the Node. */
  claims?: OtherClaims;
}

/** By name. */
export function membersOf(
  set: NodeConfigSet,
  { sets, nodes, nodeConfigs, claims }: ClusterObjects,
  read: (facts: MemberInput) => SetNode = setNode,
): SetMember[] {
  const { name } = set.metadata;
  const older = [...sets.values()].filter((other) => isOlder(other, set));
  const members: SetMember[] = [];
  for (const node of nodes.values()) {
    const { labels } = node.metadata;
    if (!selectsLabels(set.spec.selector, labels)) continue;
    const object = nodeConfigs.get(node.metadata.name);
    const olderSets = older.filter(({ spec }) => selectsLabels(spec.selector, labels)).map((one) => one.metadata.name);
    const claimant = claimantOf(node) ?? claims?.of(node.metadata.name);
    const facts = { set: name, node, object, olderSets, claimant };
    members.push({ node: read(facts), cluster: node, object });
  }
  return members.sort((a, b) => byName(a.node, b.node));
}

/** By creation time, then by name. A set that is being deleted does not count. */
function isOlder({ metadata: other }: NodeConfigSet, { metadata: set }: NodeConfigSet): boolean {
  if (other.name === set.name || other.deletionTimestamp !== undefined) return false;
  // A set that is not created yet is the youngest.
  const [a, b] = [other.creationTimestamp ?? '', set.creationTimestamp ?? '~'];
  return a === b ? other.name < set.name : a < b;
}

/** For objects of informers, which replace what changes: a node is read again only then. For one set. */
export function nodeReader(): (facts: MemberInput) => SetNode {
  const known = new WeakMap<ClusterNode, { object: MeasuredNodeConfig | undefined; others: string; read: SetNode }>();
  return (facts) => {
    const { node, object, olderSets, claimant = '' } = facts;
    const before = known.get(node);
    const others = olderSets.length === 0 ? claimant : `${olderSets.join('/')}/${claimant}`;
    if (before !== undefined && before.object === object && before.others === others) return before.read;
    const read = setNode(facts);
    known.set(node, { object, others, read });
    return read;
  };
}
