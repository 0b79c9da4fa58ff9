/**
 * NodeConfigSet: a config for the nodes that a selector matches, with a strategy for rolling out its changes.
 * deploy/base/nodeconfigsets.relet.dev.yaml has the schema with the same defaults; docs/sets.md explains the fields.
 */
import type { ConfigRef } from './config-ref.js';
import type { LabelSelectorObject } from './label-selector.js';
import type { NodeConfigCondition } from './node-config.js';
import type { KubeObject } from './object.js';
import type { TimeSpan } from './observe.js';
import type { Signal } from './signals.js';

/** Its address in the API. */
export const nodeConfigSets = { group: 'relet.dev', version: 'v1alpha1', resource: 'nodeconfigsets' } as const;

/** On a set, so that its claims and cordons do not outlive it. */
export const setFinalizer = 'relet.dev/nodeconfigset';

/** On a NodeConfig: the set that has claimed the node. For selectors and columns; `claimAnnotation` has the rest. */
export const setLabel = 'relet.dev/set';
/** On a NodeConfig: the set of this name may take the node over, although its reference was written by hand or by another set. */
export const adoptAnnotation = 'relet.dev/adopt';
/**
 * On a NodeConfig: the time of a batch that was given up before this node had it. Written so that a write of the batch that is still on
 * its way, such as that of a controller which no longer leads, has a conflict.
 */
export const givenUpAnnotation = 'relet.dev/given-up';
/** On a Node or a NodeConfig: no set changes the node while it is there. Its value is the reason, for people. */
export const holdAnnotation = 'relet.dev/hold';
/** On a NodeConfigSet: why it was paused or resumed; the controller records it with the step, and removes it. */
export const whyAnnotation = 'relet.dev/why';
/** On a Node: with `updateNodes: Selected`, the set that may update it. */
export const updateLabel = 'relet.dev/update';
/** On a ConfigMap that a set made: the name of the set. Such a ConfigMap is garbage-collected when no NodeConfig refers to it. */
export const madeBySetLabel = 'relet.dev/made-by-set';
/** A taint that a node may register with; the controller removes it once the node runs what its set assigns to new nodes. */
export const pendingTaint = 'relet.dev/config-pending';

/** A number of nodes, or a percentage such as `25%`. */
export type Share = number | string;
export type Day = 'Mon' | 'Tue' | 'Wed' | 'Thu' | 'Fri' | 'Sat' | 'Sun';
/** Impacts beyond a kubelet restart that a set may cause; `--accept` of the command line has the same in its own spelling. */
export type SetImpact = 'Drain' | 'StateFile' | 'Reboot' | 'DaemonReload';

export interface NodeConfigSet extends KubeObject {
  spec: NodeConfigSetSpec;
  status?: NodeConfigSetStatus;
}

/** A payload with signatures: text that was signed, which the controller copies byte for byte. */
export interface SignedConfig {
  /** A KubeletConfiguration or an overlay, as in a ConfigMap. */
  payload: string;
  /** The text that was signed: digests, pools, serial, times (docs/signing.md). */
  statement: string;
  /** SSH signatures of the statement, armoured. */
  signatures: string[];
}

/** Exactly one of `overlay`, `whole`, `configMap` and `signed`. */
export interface SetConfig {
  /** Fields of a KubeletConfiguration, merged into the local config of each node. */
  overlay?: Record<string, unknown>;
  /** Only with `overlay`: fields that go back to the kubelet's default. */
  unset?: string[];
  /** A KubeletConfiguration in place of the local config. */
  whole?: Record<string, unknown>;
  /** A ConfigMap with the label relet.dev/kubelet-config. Its content is copied, so that an edit is a new revision. */
  configMap?: Pick<ConfigRef, 'namespace' | 'name' | 'kubeletConfigKey'>;
  signed?: SignedConfig;
}

export interface Wave {
  /** Cumulative: the nodes of this wave and of all before it. */
  nodes: Share;
  /** How long the next wave waits after the last node of this one has passed its trial. */
  soak?: string;
  /** The next wave waits until a person approves this one. */
  approve?: boolean;
}

export interface Window {
  /** On which it begins. Default: every day. */
  days?: Day[];
  /** `22:00`. */
  from: string;
  /** Not later than `from`: on the next day. */
  to: string;
  /** An IANA name. Default UTC. */
  timeZone?: string;
}

export interface DrainStrategy {
  policy?: 'WhenNeeded' | 'Always' | 'Never';
  timeout?: string;
  onUndrainable?: 'Skip' | 'Halt';
  /** Pods without a controller: nothing creates them again. */
  unmanagedPods?: 'Block' | 'Evict';
}

/** A signal by its name, or a query of Prometheus with a name of its own. */
export interface AnalysisSignal {
  name: string;
  /** Smaller effects are not worse: `25%` for levels, workloads a node for counts. */
  worseBy?: number | string;
  /** An instant query that gives one value a node. */
  prometheus?: string;
  /** The label of the result that names the node. Default `node`. */
  label?: string;
}

export interface AnalysisStrategy {
  /** How long nodes are observed, before their change and after it. */
  window?: string;
  /** At most so many nodes without the change are observed. */
  controls?: number;
  /** Report: shown, and decides nothing. */
  onWorse?: 'Halt' | 'Rollback' | 'Report';
  /** Pause: as if the wave had `approve`. */
  onCannotTell?: 'Continue' | 'Pause';
  /** Default: `defaultSignals`, and those that the catalogue names for the changed fields. */
  signals?: AnalysisSignal[];
}

export interface SetStrategy {
  waves?: Wave[];
  maxUnavailable?: Share;
  maxInTrial?: Share;
  maxFailed?: Share;
  onFailure?: 'Halt' | 'Rollback';
  progressDeadline?: string;
  order?: string[];
  drain?: DrainStrategy;
  windows?: Window[];
  analysis?: AnalysisStrategy;
}

export interface NodeConfigSetSpec {
  selector: LabelSelectorObject;
  config: SetConfig;
  accept?: SetImpact[];
  strategy?: SetStrategy;
  updateNodes?: 'All' | 'New' | 'Selected';
  expiresAfter?: string;
  onLeave?: 'Keep' | 'Reset';
  onDelete?: 'Keep' | 'Reset';
  paused?: boolean;
}

/** Up to this many names are in a list of the status: its size does not depend on the fleet. */
export const mostNames = 10;
/** The largest batch: the names are in the status before any of these nodes is written. */
export const mostInBatch = 100;
/** Revisions in `status.revisions`. */
export const mostRevisions = 10;

/** A limit, how much of it is used, and by which nodes: up to `mostNames`. */
export interface Budget {
  allowed: number;
  used: number;
  nodes?: string[];
}

export interface NamedNode {
  name: string;
  reason: string;
  message?: string;
}

/**
 * Transitions: Pending ─► Rolling ─► Soaking ─► Analyzing ─► AwaitingApproval ─► Done. Soaking, Analyzing and AwaitingApproval only where
 * the wave has them and has nodes; back to Rolling when nodes join or the percentages grow.
 */
export type WaveState = 'Pending' | 'Rolling' | 'Soaking' | 'Analyzing' | 'AwaitingApproval' | 'Done';

export interface WaveStatus {
  /** The first is 1. */
  wave: number;
  /** Its target: nodes of this wave and of all before it. */
  nodes: number;
  /** Counts only its own members. */
  assigned: number;
  updated: number;
  failed: number;
  state: WaveState;
  /** When its last member had passed or failed its trial; soak counts from here. */
  endedAt?: string;
}

/** Nodes of this wave alone: its target without the waves before it. */
export const ownNodes = (waves: readonly Pick<WaveStatus, 'nodes'>[], at: number): number =>
  Math.max(0, (waves[at]?.nodes ?? 0) - (waves[at - 1]?.nodes ?? 0));

/** 10% of 8 nodes is 1, which the first wave may have already. Such a wave neither soaks nor asks for approval. */
export const isEmptyWave = (waves: readonly Pick<WaveStatus, 'nodes' | 'assigned'>[], at: number): boolean =>
  waves[at]?.assigned === 0 && ownNodes(waves, at) === 0;

export type RevisionOutcome = 'Complete' | 'Aborted' | 'Undone' | 'RolledBack' | 'Expired' | 'Superseded';

/** Statement and signatures of a revision, as far as the status keeps them. */
export interface RevisionSignatures {
  /** SHA-256 of both, shortened: another one is another attempt, with a ConfigMap of its own. */
  digest: string;
  serial?: number;
  /** Fingerprints of the keys that signed, as in the signatures. Which of them count is decided on each host. */
  keys: string[];
}

export interface SetRevision {
  revision: string;
  /** The ConfigMap, as NAMESPACE/NAME/KEY. */
  source: string;
  signed?: RevisionSignatures;
  /** Summary of the fields that it sets, in a sentence; shortened. */
  summary?: string;
  startedAt: string;
  /** How often it was started; a retry has a ConfigMap of its own, because a node starts what failed only when it is assigned again. */
  attempt?: number;
  endedAt?: string;
  outcome?: RevisionOutcome;
  /** Nodes on which it has failed, also nodes that were taken from the set or removed since: that does not let the rollout continue. */
  failedNodes?: string[];
}

export type SetStepKind =
  | 'Started'
  | 'Approved'
  | 'Paused'
  | 'Resumed'
  /** On one node. */
  | 'Failed'
  | 'Halted'
  | 'Retried'
  | RevisionOutcome;

/** Steps in `status.steps`. */
export const mostSteps = 50;

/** One step of a rollout, recorded by the controller when it takes effect. */
export interface SetStep {
  at: string;
  step: SetStepKind;
  revision: string;
  /** Approved: this one and those before it. */
  wave?: number;
  /** The person, by the name that the request has. */
  by?: string;
  /** The admission policies were in force: `by` is the API server's name of the user. */
  verified?: boolean;
  why?: string;
  /** Failed: where. */
  node?: string;
  reason?: string;
  message?: string;
}

/** The write that the controller is about to make, so that after a crash any replica continues with exactly these nodes. */
export interface Intent {
  revision: string;
  /** The ConfigMap as NAMESPACE/NAME/KEY. `previous`: each node gets its recorded previous source. */
  source: string;
  wave: number;
  names: string[];
  /** The nodes among these that cost no budget. */
  exempt?: string[];
  at: string;
}

/** Entries in `status.analyses`. */
export const mostAnalyses = 12;
/** Nodes of a cohort, of each of the two kinds. */
export const mostObserved = 50;

/** NoControls: not compared, since no node was left that does not get the change. */
export type AnalysisOutcome = 'Worse' | 'NotWorse' | 'CannotTell' | 'NoControls';

/** One cohort of a wave: its first canaries, and controls, observed in the same time. Only the newest entry has names and points. */
export interface WaveAnalysis {
  revision: string;
  attempt: number;
  wave: number;
  /** Transitions: Observing ─► Done. Without controls Done at once. */
  state: 'Observing' | 'Done';
  before?: TimeSpan;
  after?: TimeSpan;
  canaries?: string[];
  controls?: string[];
  /** Nodes of the cohort that are not compared, and why. */
  leftOut?: NamedNode[];
  outcome?: AnalysisOutcome;
  /** Number among the looks of this revision that could tell something. Each may spend half as much alpha as the one before. */
  look?: number;
  /** For people. */
  message?: string;
  signals?: AnalyzedSignal[];
}

export interface AnalyzedSignal {
  name: string;
  kind: Signal['kind'];
  outcome: 'Worse' | 'NotWorse' | 'CannotTell';
  /** Levels: the share by which canaries are worse, 0.5 for 50 %. Counts: workloads a node. */
  effect: number;
  worseBy: number;
  p: number;
  alpha: number;
  /** Standard deviation of the changes of the controls; of logarithms for levels. */
  spread: number;
  canaries: AnalyzedGroup;
  controls: AnalyzedGroup;
  /** Why there are no values, such as a query that failed. */
  error?: string;
}

export interface AnalyzedGroup {
  nodes: number;
  /** How many of them changed by more than `worseBy`. */
  worse: number;
  /** Levels: the median. Counts: the sum. */
  before: number;
  after: number;
  /** Before and after of each node that answered, rounded. */
  points?: [before: number, after: number][];
}

/** Written by people, through the status subresource (the role relet:approver). The controller removes a request once it is handled. */
export interface RolloutBlock {
  /** All waves up to this one are approved, for this revision. */
  approve?: RolloutApproval;
  /** For `status.updateRevision`; one for another revision is ignored. */
  request?: RolloutRequest;
}

export interface RolloutApproval {
  revision: string;
  wave: number;
  /** The user who writes it; the guard relet-who-steers lets nobody write another name. */
  by?: string;
  why?: string;
  at?: string;
}

/**
 * Abort: stop, and reject the revision; nodes keep what they have. Undo: the same, and all nodes go back. Retry: roll out the rejected
 * revision again, and assign it again to the nodes that failed.
 */
export type RolloutAction = 'Abort' | 'Undo' | 'Retry';

export interface RolloutRequest {
  action: RolloutAction;
  revision: string;
  by?: string;
  why?: string;
  at?: string;
}

export interface NodeConfigSetStatus {
  observedGeneration?: number;
  /** The last revision that completed. */
  currentRevision?: string;
  /** The one that is rolled out, or was last. */
  updateRevision?: string;
  /** Aborted, undone, rolled back or expired: not rolled out again until the config in the spec changes, or a retry. */
  rejectedRevision?: string;
  /** While `rejectedRevision` is taken back from the nodes that have it. */
  rollingBack?: boolean;
  /** Newest first. */
  revisions?: SetRevision[];
  /** Newest first: who did what, why, and how it ended. */
  steps?: SetStep[];

  /** Counts of nodes. */
  selectedNodes?: number;
  /** Selected, and not changed for now; `excluded` names some. */
  excludedNodes?: number;
  /** They run the update revision and have passed its trial. */
  updatedNodes?: number;
  /** They run it and are on trial. */
  inTrialNodes?: number;
  /** Assigned, and not yet active. */
  pendingNodes?: number;
  /** Rejected, rolled back, or silent at the deadline. */
  failedNodes?: number;

  unavailable?: Budget;
  inTrial?: Budget;
  failed?: Budget;
  failedSamples?: NamedNode[];
  /** Being drained before they are assigned the config; `draining` names some, with what each waits for. */
  drainingNodes?: number;
  draining?: NamedNode[];
  excluded?: NamedNode[];

  /** The present one, of which the first is 1; `2/4` for people. */
  wave?: number;
  waveText?: string;
  waves?: WaveStatus[];
  /** Newest first. */
  analyses?: WaveAnalysis[];

  /** Reason why the rollout waits, in a sentence with node names; absent while it waits for nothing. */
  waiting?: string;
  intent?: Intent;
  /** The id of the last notice that the webhook has taken. */
  notified?: string;
  rollout?: RolloutBlock;
  conditions?: NodeConfigCondition[];
}

/** Also in the schema; here for files that no API server has seen. */
export const strategyDefaults = {
  waves: [{ nodes: 1 }, { nodes: '10%' }, { nodes: '100%' }],
  maxUnavailable: '10%',
  maxInTrial: '25%',
  maxFailed: 0,
  onFailure: 'Halt',
  progressDeadline: '15m',
  order: [],
  drain: { policy: 'WhenNeeded', timeout: '10m', onUndrainable: 'Skip', unmanagedPods: 'Block' },
  windows: [],
} satisfies Required<Omit<SetStrategy, 'analysis'>>;

/** Also in the schema. Without `analysis` nothing is compared. */
export const analysisDefaults = {
  window: '10m',
  controls: 50,
  onWorse: 'Halt',
  onCannotTell: 'Continue',
  signals: [],
} satisfies Required<AnalysisStrategy>;

/** Also in the schema. */
export const specDefaults = {
  accept: [],
  updateNodes: 'All',
  onLeave: 'Keep',
  onDelete: 'Keep',
  paused: false,
} satisfies Partial<NodeConfigSetSpec>;
