/**
 * Records a rehearsal from the stored objects: the progress of each node, how many are unavailable and in trial at once, the reports of
 * the set. Budgets are counted independently of the controller, so that the record can show a violation.
 */
import { drainMarkOf } from '../api/drain.js';
import type { NodeConfig } from '../api/node-config.js';
import { isEmptyWave, type NodeConfigSet, type NodeConfigSetStatus } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import type { Store } from '../memory-api/store/store.js';
import { assess, isIdle } from '../rollout/assessment.js';
import type { ClusterNode } from '../rollout/cluster-node.js';
import { type SetNode, setNode } from '../rollout/members.js';
import { isUnsettled } from '../rollout/survey.js';

/**
 * Progress of one node: assigned ─► active ─► updated, or failed. `returned`: it got its previous config back.
 */
export interface RecordedNode {
  name: string;
  /** Wave of the rollout; 0: outside of one. */
  wave: number;
  assignedMs: number;
  activeMs?: number;
  /** Passed its trial, or failed. */
  endedMs?: number;
  outcome: 'pending' | 'trial' | 'updated' | 'failed' | 'returned';
  reason?: string;
  message?: string;
}

/** How many nodes at one moment. */
export interface Sample {
  atMs: number;
  updated: number;
  inTrial: number;
  pending: number;
  failed: number;
  unavailable: number;
}

export interface RehearsalEvent {
  atMs: number;
  kind: 'wave' | 'node' | 'drain' | 'fault' | 'approval';
  text: string;
}

export interface RehearsalRecordOptions {
  /** The name of the set. */
  set: string;
  now(): number;
  onSet(set: NodeConfigSet): void;
  /** A NodeConfig was written: its spec, or its status. */
  onNodeConfig(object: NodeConfig, isWritten: boolean): void;
  /** The node has passed the trial. */
  onUpdated(name: string): void;
}

type Counted = { isUnavailable: boolean; isInTrial: boolean; outcome: RecordedNode['outcome'] | undefined };

export class RehearsalRecord {
  /** In the order in which they were assigned. */
  readonly nodes = new Map<string, RecordedNode>();
  readonly events: RehearsalEvent[] = [];
  readonly samples: Sample[] = [];
  readonly most = { unavailable: 0, inTrial: 0, failed: 0 };
  /** How often a node was cordoned to be drained, and how often that was given up. */
  readonly drains = { started: 0, failed: 0 };
  /** Nodes in the order in which the set decided to change them. */
  readonly order: string[] = [];
  set: NodeConfigSet | undefined;
  /** When the set was complete or had stopped. */
  endedMs: number | undefined;
  /** Since when no selected node can be changed; undefined while one can. */
  idleSinceMs: number | undefined;
  readonly #name: string;
  readonly #now: () => number;
  readonly #onSet: (set: NodeConfigSet) => void;
  readonly #onNodeConfig: (object: NodeConfig, isWritten: boolean) => void;
  readonly #onUpdated: (name: string) => void;
  readonly #nodes = new Map<string, ClusterNode>();
  readonly #objects = new Map<string, NodeConfig>();
  readonly #counted = new Map<string, Counted>();
  readonly #counts = { updated: 0, inTrial: 0, pending: 0, trial: 0, failed: 0, unavailable: 0 };
  #isStarted = false;

  constructor({ set, now, onSet, onNodeConfig, onUpdated }: RehearsalRecordOptions) {
    this.#name = set;
    this.#now = now;
    this.#onSet = onSet;
    this.#onNodeConfig = onNodeConfig;
    this.#onUpdated = onUpdated;
  }

  follow(store: Store): void {
    const on = <T extends KubeObject>(group: string, resource: string, see: (object: T) => void) => {
      const collection = { group, resource };
      for (const { bytes } of store.list(collection).items) see(JSON.parse(bytes.toString('utf8')));
      store.subscribe(collection, (event) => {
        if (event.type !== 'deleted') see(JSON.parse(event.bytes.toString('utf8')));
      });
    };
    on<ClusterNode>('', 'nodes', (node) => {
      this.#seeDrain(this.#nodes.get(node.metadata.name), node);
      this.#nodes.set(node.metadata.name, node);
      this.#look(node.metadata.name);
    });
    on<NodeConfig>('relet.dev', 'nodeconfigs', (object) => {
      const { name, generation } = object.metadata;
      const isWritten = generation !== this.#objects.get(name)?.metadata.generation;
      this.#objects.set(name, object);
      this.#look(name);
      if (this.#isStarted) this.#onNodeConfig(object, isWritten);
    });
    on<NodeConfigSet>('relet.dev', 'nodeconfigsets', (set) => {
      if (set.metadata.name === this.#name) this.#see(set);
    });
  }

  nodeConfig(name: string): NodeConfig | undefined {
    return this.#objects.get(name);
  }

  /** Starts recording. */
  start(): void {
    this.#isStarted = true;
    for (const name of this.#nodes.keys()) this.#look(name);
  }

  add(kind: RehearsalEvent['kind'], text: string): void {
    if (this.#isStarted) this.events.push({ atMs: this.#now(), kind, text });
  }

  /** All agents that run have reported, and what was assigned before is active or has failed. */
  isSettled(running: Iterable<string>): boolean {
    for (const name of running) {
      const node = this.#read(name);
      const isReported = this.#objects.get(name)?.status?.config !== undefined;
      if (!isReported || node === undefined || !node.isReady || isUnsettled(node)) return false;
    }
    return true;
  }

  /** No node has yet to pass or fail what it was assigned. */
  get isQuiet(): boolean {
    return this.#counts.pending + this.#counts.trial === 0;
  }

  #read(name: string): SetNode | undefined {
    const node = this.#nodes.get(name);
    return node && setNode({ set: this.#name, node, object: this.#objects.get(name), olderSets: [] });
  }

  #look(name: string): void {
    if (!this.#isStarted) return;
    const node = this.#read(name);
    if (node === undefined) return;
    const recorded = this.#update(node);
    const isOpen = node.claim !== undefined && isUnsettled(node) && node.claim.exempt !== true;
    const next: Counted = {
      isUnavailable: !node.isReady || node.isCordoned || (isOpen && node.state === 'waiting'),
      isInTrial: isOpen,
      outcome: recorded?.outcome,
    };
    const before = this.#counted.get(name);
    this.#counted.set(name, next);
    this.#count(before, -1);
    this.#count(next, 1);
    const { unavailable, inTrial, failed } = this.#counts;
    this.most.unavailable = Math.max(this.most.unavailable, unavailable);
    this.most.inTrial = Math.max(this.most.inTrial, inTrial);
    this.most.failed = Math.max(this.most.failed, failed);
  }

  #count(one: Counted | undefined, by: 1 | -1): void {
    if (one === undefined) return;
    if (one.isUnavailable) this.#counts.unavailable += by;
    if (one.isInTrial) this.#counts.inTrial += by;
    if (one.outcome !== undefined && one.outcome !== 'returned') this.#counts[one.outcome] += by;
  }

  #update(node: SetNode): RecordedNode | undefined {
    const { name, claim, state } = node;
    const recorded = this.nodes.get(name);
    const revision = this.set?.status?.updateRevision;
    if (claim === undefined || revision === undefined) return recorded;
    if (claim.revision !== revision) {
      if (recorded !== undefined) recorded.outcome = 'returned';
      return recorded;
    }
    const atMs = this.#now();
    const shown: RecordedNode = recorded ?? { name, wave: claim.wave, assignedMs: atMs, outcome: 'pending' };
    this.nodes.set(name, shown);
    if (state === 'waiting') shown.outcome = 'pending';
    else if (state === 'trial') {
      shown.outcome = 'trial';
      shown.activeMs ??= atMs;
    } else if (state === 'rejected' || state === 'rolled back') this.#fail(shown, node.failure);
    else if (shown.outcome !== 'updated') {
      shown.activeMs ??= atMs;
      shown.endedMs = atMs;
      shown.outcome = 'updated';
      this.#onUpdated(name);
    }
    return shown;
  }

  #fail(recorded: RecordedNode, why: SetNode['failure']): void {
    if (recorded.outcome === 'failed') return;
    recorded.outcome = 'failed';
    recorded.endedMs = this.#now();
    if (why !== undefined) Object.assign(recorded, why);
    this.add('node', `${recorded.name} failed${why === undefined ? '' : `, ${why.reason}: ${why.message}`}`);
  }

  #see(set: NodeConfigSet): void {
    const before = this.set?.status;
    this.set = set;
    if (!this.#isStarted) return;
    this.#seeIntent(set.status, before);
    this.#seeWaves(set.status, before);
    const { updated, inTrial, pending, failed, unavailable } = this.#counts;
    const atMs = this.#now();
    const assessment = assess(set);
    if (assessment.kind === 'complete' || assessment.kind === 'stopped') this.endedMs ??= atMs;
    else this.endedMs = undefined;
    if (assessment.kind === 'progressing' && isIdle(assessment.reason)) this.idleSinceMs ??= atMs;
    else this.idleSinceMs = undefined;
    this.samples.push({ atMs, updated, inTrial, pending, failed, unavailable });
    this.#onSet(set);
  }

  #seeDrain(before: ClusterNode | undefined, node: ClusterNode): void {
    const mark = drainMarkOf(node);
    const was = before && drainMarkOf(before);
    if (!this.#isStarted || mark === undefined || mark.state === was?.state) return;
    const { name } = node.metadata;
    if (mark.state === 'Draining') {
      this.drains.started++;
      this.add('drain', `${name} is drained`);
    } else if (mark.state === 'Failed') {
      this.drains.failed++;
      this.add('drain', `${name} could not be drained${mark.message === undefined ? '' : `: ${mark.message}`}`);
    }
  }

  #seeIntent(status: NodeConfigSetStatus = {}, before: NodeConfigSetStatus = {}): void {
    const { intent, updateRevision } = status;
    const isNew = intent !== undefined && JSON.stringify(intent) !== JSON.stringify(before.intent);
    if (isNew && intent.revision === updateRevision) this.order.push(...intent.names);
  }

  #seeWaves({ waves = [] }: NodeConfigSetStatus = {}, before: NodeConfigSetStatus = {}): void {
    for (const [at, { wave, state, assigned }] of waves.entries()) {
      const was = before.waves?.find((one) => one.wave === wave);
      if (was !== undefined && was.state === state && (was.assigned > 0 || assigned === 0)) continue;
      if (state === 'Rolling' && assigned > 0) this.add('wave', `wave ${wave} starts`);
      else if (state === 'Soaking') this.add('wave', `wave ${wave} soaks`);
      else if (state === 'AwaitingApproval') this.add('wave', `wave ${wave} waits for approval`);
      else if (state === 'Done')
        this.add('wave', `wave ${wave} ${isEmptyWave(waves, at) ? 'has no nodes' : 'is done'}`);
    }
  }
}
