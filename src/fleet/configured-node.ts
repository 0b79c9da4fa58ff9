/**
 * One node with its config as the API shows it, and the state that follows from it. A node writes its own status, so its values are not
 * trusted: they are escaped where they are read, so that no value can forge lines in a message or in the output of `-o json`.
 */
import { type AgentLease, leaseAnnotation, readLeaseText } from '../api/agent-lease.js';
import { okReasons } from '../api/condition-reasons.js';
import {
  type ConfigErrorOutcome,
  type ConfigErrorReason,
  configErrors,
  isConfigErrorReason,
} from '../api/config-error.js';
import { type NodeConfigSource, type NodeConfigStatus, refOf, sameConfig } from '../api/config-ref.js';
import {
  agentVersionAnnotation,
  type Claim,
  causeAnnotation,
  heldAnnotation,
  type Owed,
  type OwedAction,
  owedAnnotation,
  pinnedByFlagsAnnotation,
  readCause,
  readHeld,
  readOwed,
  restartDelayedAnnotation,
  trialEndsAnnotation,
} from '../api/node-annotations.js';
import type { NodeCondition } from '../api/node-condition.js';
import type { HeldState } from '../api/node-config.js';
import { holdAnnotation } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import type { SigningStatus } from '../api/signing.js';
import { outcomeOfBeta, reasonOfBeta } from '../api/upstream-words.js';
import type { CallOptions, ListOptions } from '../kube/client.js';
import { clauseOf, oneLine } from '../visible-text.js';
import { type HistoryEntry, historyAnnotation, type NewEntry, resultAnnotation } from './config-history.js';

/** A node, its reference and what it reports: only what is needed here, since there may be thousands. */
export interface ConfiguredNode {
  name: string;
  labels: Record<string, string>;
  createdAt: string;
  kubeletVersion: string;
  /** The condition Ready: True, False or Unknown. */
  ready: string;
  /** The last sign of life in the Node's own status. */
  heartbeatAt: string | undefined;
  configSource: NodeConfigSource | undefined;
  /** Its NodeConfig has a spec that nobody has written: without a configSource it is not assigned its local config either. */
  unset?: boolean;
  status: NodeConfigStatus;
  /** False: nothing on the node has ever reported about its config. */
  reports: boolean;
  /** The condition ConfigOK, if it is reported. */
  condition: { status: string; reason: string; message: string; since: string } | undefined;
  /** The condition Granted: whether the controller lets the node read its ConfigMap. Undefined if it has not reported that. */
  granted?: boolean | undefined;
  /** When the trial under way is over, if the node reports it. */
  trialEndsAt: string | undefined;
  /** The cause of status.error; undefined also where an older relet runs. */
  cause?: string | undefined;
  /** The last lines of the kubelet that the error is about; a Node has no field for them. */
  kubeletLog?: string[] | undefined;
  /** The node is held: it uses no new assignment until it is released on its host. */
  held?: HeldState | undefined;
  /** Held through the API (relet.dev/hold): no set and no relet command changes it. */
  hold?: Hold | undefined;
  /** Action left to do on its host for a change that was accepted; `left` comes first. */
  owed?: (Owed & { left: OwedAction }) | undefined;
  /** Another kubelet is installed, and would reject its config or take it in another way; a Node has no condition for it. */
  upgradeRisk?: { reason: string; message: string } | undefined;
  /** Signatures that its host requires, and those of its active config; undefined on a host without a trust file. A Node has none. */
  signing?: SigningStatus | undefined;
  /** Conditions about signatures that need a person. A Node has none. */
  signingTroubles?: { type: string; message: string }[] | undefined;
  /** Its last known good config crashed at a boot, and has not survived one since. */
  bootRisk?: { reason: string; message: string } | undefined;
  /** Configs changed in quick succession, so it restarts its kubelet with the newest only at this time. */
  restartDelayedUntil?: string | undefined;
  /** The set that has claimed it, and with which config; membershipOf reads it. A Node has none. */
  claim?: Claim | undefined;
  /** Fields that flags of its kubelet set, if the node reports it. */
  pinnedByFlags: string[] | undefined;
  /** Its warnings about the config that it runs; a Node has no field for them. */
  warnings: string[];
  /** Why the report of its local config cannot be used; it is among the warnings too. A Node has none. */
  unusableReport?: string | undefined;
  /** relet's version on the node, if it reports it. */
  agentVersion: string | undefined;
  /** Renewed by the agent; undefined with one of an earlier relet. */
  lease?: AgentLease | undefined;
  /** Why the controller misses the agent, where it does; a Node has no field for it. */
  missing?: string | undefined;
  /** How its agent drives the kubelet; a Node has no field for it. */
  driver?: string | undefined;
  /** Change of others to the unit of its kubelet; only in attached mode. */
  unitNotice?: { reason: string; message: string } | undefined;
  /** Config of the next kubelet start, if it is not the active one. */
  nextStart?: string | undefined;
  /** The texts of the annotations; config-history.ts reads them. */
  history: string | undefined;
  changeResult?: string | undefined;
  /** Author of the newest history entry, checked by the API server; undefined if no admission policy does that. */
  changedBy?: string | undefined;
  /** The condition Guarded: admission policies are in force. A Node has none. */
  isGuarded?: boolean | undefined;
  /** Generation of the object that holds the reference, and the one that `status` is about; a Node has neither. */
  generation?: number | undefined;
  observedGeneration?: number | undefined;
  /** Version of the object that holds the reference; `assign` does not overwrite a newer one. */
  version: string;
}

/** The text of the annotation, and the objects that have it. */
export interface Hold {
  why: string;
  /** The API server has checked the name in the text. */
  verified?: boolean;
  on: ('Node' | 'NodeConfig')[];
}

/** The server answered as if it had kept the reference, and dropped it. */
export class ReferenceDropped extends Error {
  override readonly name = 'ReferenceDropped';
}

export interface WatchNodes {
  name?: string;
  labelSelector?: string;
  signal: AbortSignal;
  /** All there is now; again whenever a new list was needed. */
  onList(present: ConfiguredNode[]): void;
  onChange(node: ConfiguredNode, gone: boolean): void;
  onFailure(error: unknown): void;
  /** Changes arrive at once from here on: at the start, and again after a failure. */
  onWatching?(): void;
}

export interface AssignOptions extends CallOptions {
  /** The new text of the history annotation; written together with the reference, or not at all. */
  history: string;
  /** Author. */
  by: string;
  /** Actions left to do on the host after this change; written together with it. */
  owed?: Owed | undefined;
  /** Set if relet is to leave the host: the time of the request. */
  detach?: string | undefined;
  dryRun?: boolean;
}

export interface NodeMark {
  hold?: string | null;
  adopt?: string;
  entry: MarkEntry;
}

/** The person, for the history. */
export type MarkEntry = Pick<NewEntry, 'at' | 'by' | 'verb'> & { why?: string | undefined };

/** The local config and the flags of the kubelet; absent where they are not reported. */
export interface ReportedLocal {
  localConfig?: unknown;
  kubeletFlags?: unknown;
}

export interface ConfigReferences {
  /** The kind of object that holds the reference. */
  readonly kind: 'Node' | 'NodeConfig';
  get(name: string, options?: CallOptions): Promise<ConfiguredNode>;
  pages(
    options?: Pick<ListOptions, 'labelSelector' | 'limit' | 'signal'>,
  ): AsyncGenerator<ConfiguredNode[], void, void>;
  /** Report of this node's agent about its host, unchecked. Not in `get` and `pages`: it is large. */
  reportedLocal(name: string, options?: CallOptions): Promise<ReportedLocal>;
  /** Returns only when the signal fires. */
  watch(options: WatchNodes): Promise<void>;
  /** Undefined means local. Throws a conflict when the object is no longer as `node` has it. */
  assign(node: ConfiguredNode, source: NodeConfigSource | undefined, options: AssignOptions): Promise<ConfiguredNode>;
  /**
   * A hold, a release or an adoption, with its entry in the history. Throws a conflict when the object is no longer as `node` has it.
   * `hold`: the text of the hold, or null, which ends it on all objects of the node. `adopt`: the set that may take the node over;
   * only NodeConfigs have sets.
   */
  mark(node: ConfiguredNode, mark: NodeMark, options?: CallOptions & { dryRun?: boolean }): Promise<void>;
  /** Clears the owed actions of the node. */
  dismiss(node: ConfiguredNode, options?: CallOptions): Promise<void>;
}

export interface Node extends KubeObject {
  spec?: { configSource?: NodeConfigSource };
  status?: { config?: NodeConfigStatus; conditions?: NodeCondition[]; nodeInfo?: { kubeletVersion?: string } };
}

/** A page is read whole before the next; of real Nodes so many are some 2 MB. What is left out is most of a Node. */
export const nodeLists = { limit: 200, omitLists: ['images', 'managedFields'] };

/** From the Node alone. */
export function fromNode(node: Node): ConfiguredNode {
  const { metadata, spec, status } = node;
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type);
  const [ready, ok] = [condition('Ready'), condition('ConfigOK')];
  const annotations = metadata.annotations ?? {};
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    createdAt: metadata.creationTimestamp ?? '',
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    ready: ready?.status ?? 'Unknown',
    heartbeatAt: ready?.lastHeartbeatTime,
    configSource: spec?.configSource,
    status: status?.config ?? {},
    reports: status?.config !== undefined || ok !== undefined,
    condition: ok && {
      status: ok.status,
      reason: ok.reason ?? '',
      message: ok.message ?? '',
      since: ok.lastTransitionTime ?? '',
    },
    trialEndsAt: annotations[trialEndsAnnotation],
    restartDelayedUntil: annotations[restartDelayedAnnotation],
    cause: readCause(annotations[causeAnnotation], status?.config ?? {}),
    held: readHeld(annotations[heldAnnotation]),
    hold: holdOf('Node', node),
    // The node removes the annotation when it is done. A change that did not stay owes nothing.
    owed: status?.config?.error === undefined ? withLeft(readOwed(annotations[owedAnnotation])) : undefined,
    pinnedByFlags: annotations[pinnedByFlagsAnnotation]?.split(','),
    warnings: [],
    agentVersion: annotations[agentVersionAnnotation],
    lease: readLeaseText(annotations[leaseAnnotation]),
    history: annotations[historyAnnotation],
    changeResult: annotations[resultAnnotation],
    version: metadata.resourceVersion ?? '',
  };
}

export function holdOf(kind: Hold['on'][number], object: KubeObject | undefined): Hold | undefined {
  const why = object?.metadata.annotations?.[holdAnnotation];
  return why === undefined ? undefined : { why, on: [kind] };
}

/** `broken fan (ann, 2026-11-17T06:00:00Z)`: the annotation is one text, which people also write with kubectl. */
export function holdNote({ why, by, at }: Pick<HistoryEntry, 'by' | 'at'> & { why?: string | undefined }): string {
  const person = `${oneLine(by)}, ${at}`;
  return why === undefined || why === '' ? `by ${person}` : `${oneLine(why)} (${person})`;
}

export const withLeft = (owed: Owed | undefined, left = owed?.needs.at(-1)): ConfiguredNode['owed'] =>
  owed && left && { ...owed, left };

/** Every text on one line; the history is JSON and is read as such. */
export function readable(node: ConfiguredNode): ConfiguredNode {
  const { history, changeResult, changedBy } = node;
  const read = texts(node);
  return read === node ? node : { ...read, history, changeResult, changedBy };
}

/** The value itself where nothing in it changes, as in almost all: there may be thousands of nodes. */
function texts<T>(value: T): T {
  if (typeof value === 'string') return oneLine(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  const given = value as Record<string, unknown>;
  for (const key in given)
    if (oneLine(key) !== key || texts(given[key]) !== given[key])
      return (Array.isArray(value) ? value.map(texts) : changedTexts(given)) as T;
  return value;
}

const changedTexts = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).map(([key, part]) => [oneLine(key), texts(part)]));

/**
 * The state of a node's config, from its assignment and its report. The words are those that `relet get` prints:
 *
 *   detached: local, and relet has left the host
 *   local ── assigned ──► waiting ── started, healthy ──► trial ── trial over ──► active
 *                            ├── validation failed ──► rejected         (runs its last known good)
 *                            └── crashed, or never healthy ─► rolled back  (runs its last known good)
 */
export const configStates = ['local', 'detached', 'active', 'trial', 'waiting', 'rejected', 'rolled back'] as const;
export type ConfigState = (typeof configStates)[number];

/** The reason for an error in a node's status: that of ConfigOK beside it, or, on a Node, the one its words stand for. */
export function errorReason(error: string, condition?: { reason: string }): ConfigErrorReason | undefined {
  return isConfigErrorReason(condition?.reason) ? condition.reason : reasonOfBeta(error);
}

/** One clause for people about an error in a node's status: what its reason means or, where it has none, its own words. */
export function errorText(error: string, condition?: { reason: string }): string {
  const reason = errorReason(error, condition);
  if (reason === undefined) return error;
  const clause = clauseOf(configErrors[reason].message);
  return `${clause.charAt(0).toLowerCase()}${clause.slice(1)}`;
}

/** Outcome of the assigned config, if the node's status has an error. */
export function errorOutcome(error: string, condition?: { reason: string }): ConfigErrorOutcome {
  return isConfigErrorReason(condition?.reason) ? configErrors[condition.reason].outcome : outcomeOfBeta(error);
}

export interface AskedAndReported {
  configSource?: NodeConfigSource | undefined;
  status?: NodeConfigStatus | undefined;
  /** No config is assigned: the node keeps its config. */
  unset?: boolean;
  /** ConfigOK, from the same status. */
  condition?: { reason: string } | undefined;
}

export function configState({ configSource, status = {}, unset = false, condition }: AskedAndReported): ConfigState {
  const [wanted, assigned, active, good] = [
    refOf(unset ? status.assigned : configSource),
    refOf(status.assigned),
    refOf(status.active),
    refOf(status.lastKnownGood),
  ];
  if (!sameConfig(wanted, assigned, 'name')) return 'waiting';
  const outcome = status.error ? errorOutcome(status.error, condition) : undefined;
  // A node that cannot follow its reference keeps its current config, and reports the error.
  if (outcome === 'rejected' || outcome === 'rolled back') return outcome;
  if (outcome === 'crashing' || !sameConfig(assigned, active, 'version')) return 'waiting';
  if (active === undefined) return condition?.reason === okReasons.detached.reason ? 'detached' : 'local';
  return sameConfig(active, good, 'document') ? 'active' : 'trial';
}

/**
 * Undefined for a node without a set, and for one that its set has let go. `isTaken`: somebody assigned another config since, and the
 * set leaves the node alone until it is released.
 */
export function membershipOf({ claim, configSource }: Pick<ConfiguredNode, 'claim' | 'configSource'>) {
  if (claim === undefined || claim.released) return undefined;
  return { claim, isTaken: !sameConfig(refOf(configSource), claim.source, 'name') };
}
