/**
 * A model of a cluster around the reconciler of sets: an API with resourceVersions, caches that lag behind it, nodes that work, fail or
 * are silent, and a controller that crashes between any two writes. Everything is in memory and moved by hand.
 */
import { isDeepStrictEqual } from 'node:util';
import { refOf, sameConfig } from '../src/api/config-ref.js';
import { drainMarkOf, drainTaint } from '../src/api/drain.js';
import { applyMergePatch } from '../src/api/merge-patch.js';
import { claimAnnotation, readClaim } from '../src/api/node-annotations.js';
import type { NodeConfig } from '../src/api/node-config.js';
import type { NodeConfigSet } from '../src/api/node-config-set.js';
import type { KubeObject } from '../src/api/object.js';
import { ApiError } from '../src/api/status.js';
import { rfc3339 } from '../src/clock.js';
import type { ClusterView } from '../src/controller/cluster-view.js';
import { newControllerCounters } from '../src/controller/metrics.js';
import { SetReconciler } from '../src/controller/sets.js';
import type { KubeClient } from '../src/kube/client.js';
import type { ReconcileResult } from '../src/kube/work-queue.js';
import { silentLog } from '../src/log.js';
import { seededRandom } from '../src/rehearsal/simulation/seeded-random.js';
import type { ClusterNode } from '../src/rollout/cluster-node.js';
import { type SetNode, setNode } from '../src/rollout/members.js';
import { isWritten } from '../src/rollout/plan.js';
import { stateIn } from '../src/rollout/state.js';
import { type Behaviour, reportOf } from './rig/modelled-agent.js';

/** The process is gone; nothing that it had in mind happens. */
class Crash extends Error {}

const copy = <T>(value: T): T => structuredClone(value);

export class SetModel {
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  readonly kinds = {
    nodeconfigsets: new Map(),
    nodeconfigs: new Map(),
    nodes: new Map(),
    configmaps: new Map(),
    pods: new Map(),
    poddisruptionbudgets: new Map(),
  } as Record<string, Map<string, KubeObject>>;
  readonly behaviours = new Map<string, Behaviour>();
  /** Writes that broke a rule. */
  readonly broken: string[] = [];
  /** Actions of the controller on nodes and pods, in order: `cordon node-1`, `evict pod-2`, `assign node-1`, `uncordon node-1`. */
  readonly acts: string[] = [];
  /** Whether the controller has the role for it. */
  mayDrain = true;
  /** Nodes that are cordoned, and by whom. */
  readonly cordoned = new Map<string, 'us' | 'others'>();
  /** Nodes whose pods no budget lets go. */
  readonly budgetSpent = new Set<string>();
  /** Writes until the controller crashes. */
  crashAfter: number | undefined;
  readonly #assignedAt = new Map<string, { generation: number; atMs: number; failed?: Behaviour }>();
  #version = 1;
  #caches: Record<string, Map<string, KubeObject>> = {};
  /** Events that the caches have not seen, oldest first. */
  #events: { kind: string; name: string; object: KubeObject | undefined }[] = [];
  #reconciler!: SetReconciler;

  constructor(readonly limits: { maxUnavailable: number; maxInTrial: number }) {
    this.newLeader();
  }

  get set(): NodeConfigSet {
    return this.kinds.nodeconfigsets!.get('gpu') as NodeConfigSet;
  }

  get nodeNames(): string[] {
    return [...this.kinds.nodes!.keys()].sort();
  }

  nodeConfig = (name: string): NodeConfig | undefined => this.kinds.nodeconfigs!.get(name) as NodeConfig | undefined;

  claim = (name: string) => readClaim(this.nodeConfig(name)?.metadata.annotations?.[claimAnnotation]);

  /** Returns the marks that a drain of ours left on a node. The mark of a failed drain has no effect, and stays while its set does. */
  traces(name: string): string[] {
    const node = this.kinds.nodes!.get(name) as ClusterNode;
    const mark = drainMarkOf(node);
    const isLeft = mark !== undefined && (mark.state !== 'Failed' || !this.kinds.nodeconfigsets!.has('gpu'));
    const isOurs = (condition: { reason?: string }) => condition.reason === 'KubeletConfigChange';
    return [
      ...(this.cordoned.get(name) === 'us' ? ['cordon'] : []),
      ...(isLeft ? ['mark'] : []),
      ...(node.spec?.taints?.some(({ key }) => key === drainTaint.key) ? ['taint'] : []),
      ...(node.status?.conditions?.some(isOurs) ? ['condition'] : []),
    ];
  }

  podsOn = (name: string): KubeObject[] =>
    [...this.kinds.pods!.values()].filter(({ spec }) => (spec as { nodeName: string }).nodeName === name);

  /** As a scheduler does: not to a node that is cordoned. */
  schedule(name: string, more: Partial<KubeObject['metadata']> = {}): void {
    const node = this.kinds.nodes!.get(name) as ClusterNode | undefined;
    if (node === undefined || node.spec?.unschedulable) return;
    const pod = more.name ?? `pod-${++this.#version}`;
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
    const labels = { app: 'web' };
    const metadata = { namespace: 'shop', name: pod, uid: pod, labels, ownerReferences: [owner], ...more };
    this.put('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { nodeName: name },
      status: { phase: 'Running' },
    });
  }

  /** By somebody else. */
  cordon(name: string, unschedulable: boolean): void {
    this.changeNode(name, (node) => {
      if (unschedulable === (node.spec?.unschedulable === true)) return;
      node.spec = { ...node.spec, unschedulable };
      node.metadata.managedFields = managedBy('kubectl');
      if (unschedulable) this.cordoned.set(name, 'others');
      else this.cordoned.delete(name);
    });
  }

  /** As the controller would see it with a cache that does not lag. */
  node(name: string): SetNode {
    const node = this.kinds.nodes!.get(name) as ClusterNode;
    return setNode({ set: 'gpu', node, object: this.nodeConfig(name), olderSets: [] });
  }

  put(kind: string, object: KubeObject): KubeObject {
    const written = copy({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } });
    this.kinds[kind]!.set(written.metadata.name, written);
    this.#events.push({ kind, name: written.metadata.name, object: written });
    return copy(written);
  }

  remove(kind: string, name: string): void {
    this.kinds[kind]!.delete(name);
    this.#events.push({ kind, name, object: undefined });
  }

  addNode(name: string): void {
    const metadata = { name, labels: { pool: 'gpu' }, creationTimestamp: rfc3339(this.nowMs) };
    this.put('nodes', { apiVersion: 'v1', kind: 'Node', metadata });
    this.setReady(name, true);
    const annotations = { 'relet.dev/unset': 'true' };
    const header = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig' };
    this.put('nodeconfigs', {
      ...header,
      metadata: { name, generation: 1, annotations },
      spec: {},
      status: { config: {} },
    });
  }

  removeNode(name: string): void {
    this.cordoned.delete(name);
    for (const { metadata } of this.podsOn(name)) this.remove('pods', metadata.name);
    for (const kind of ['nodes', 'nodeconfigs']) if (this.kinds[kind]!.has(name)) this.remove(kind, name);
  }

  changeNode(name: string, change: (node: ClusterNode) => void): void {
    const node = copy(this.kinds.nodes!.get(name)) as ClusterNode | undefined;
    if (node === undefined) return;
    change(node);
    this.put('nodes', node);
  }

  setReady(name: string, ready: boolean): void {
    const condition = { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: rfc3339(this.nowMs) };
    this.changeNode(name, (node) => {
      const others = (node.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
      node.status = { conditions: [condition, ...others], nodeInfo: { kubeletVersion: 'v1.32.0' } };
    });
  }

  /** A person writes the reference. */
  repoint(name: string): void {
    const object = this.nodeConfig(name);
    if (object !== undefined) this.#patch('nodeconfigs', name, { spec: { configSource: handmade } });
  }

  changeSet(change: (set: NodeConfigSet) => void, of: 'spec' | 'status'): void {
    const set = copy(this.set);
    change(set);
    if (of === 'spec') set.metadata.generation = (set.metadata.generation ?? 1) + 1;
    this.put('nodeconfigsets', set);
  }

  /** The caches see up to so many events; the oldest of each object first, objects in any order. */
  deliver(count: number, pick: (length: number) => number): void {
    for (let left = count; left > 0 && this.#events.length > 0; left--) {
      const { kind, name } = this.#events[pick(this.#events.length) % this.#events.length]!;
      const index = this.#events.findIndex((event) => event.kind === kind && event.name === name);
      const [event] = this.#events.splice(index, 1);
      if (event!.object === undefined) this.#caches[kind]!.delete(name);
      else this.#caches[kind]!.set(name, event!.object);
    }
  }

  /** The caches see everything of one kind; of the others nothing. */
  deliverKind(kind: string): void {
    const [now, later] = [
      this.#events.filter((event) => event.kind === kind),
      this.#events.filter((event) => event.kind !== kind),
    ];
    this.#events = now;
    this.deliver(now.length, () => 0);
    this.#events = later;
  }

  /** Lists everything by quorum, as a controller that begins to lead. */
  newLeader(): void {
    this.#events = [];
    this.#caches = Object.fromEntries(
      Object.entries(this.kinds).map(([kind, objects]) => [kind, new Map(copy([...objects]))]),
    );
    this.crashAfter = undefined;
    this.#reconciler = new SetReconciler({
      client: this.#client(),
      view: this.#view(),
      namespaces: ['relet-system'],
      counters: newControllerCounters(),
      log: silentLog,
      signal: new AbortController().signal,
    });
  }

  /** Undefined after a crash. */
  async reconcile(): Promise<ReconcileResult | undefined> {
    try {
      return await this.#reconciler.reconcile('gpu');
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.newLeader();
      return undefined;
    }
  }

  /** Each agent acts on its NodeConfig as it is now, and each kubelet removes the pods that are being deleted. */
  answer(): void {
    for (const { metadata } of [...this.kinds.pods!.values()])
      if (metadata.deletionTimestamp !== undefined) this.remove('pods', metadata.name);
    for (const [name, object] of this.kinds.nodeconfigs!) this.#answerOne(name, object as NodeConfig);
  }

  #answerOne(name: string, object: NodeConfig): void {
    const { generation = 1 } = object.metadata;
    if (this.#assignedAt.get(name)?.generation !== generation)
      this.#assignedAt.set(name, { generation, atMs: this.nowMs });
    const assigned = this.#assignedAt.get(name)!;
    // An agent does not start again what has failed, before it is assigned again.
    const behaviour = assigned.failed ?? this.behaviours.get(name) ?? 'works';
    const { atMs } = assigned;
    const status = reportOf(object, { source: object.spec?.configSource, behaviour, atMs, nowMs: this.nowMs });
    if (status?.config?.error !== undefined) assigned.failed = behaviour;
    if (status !== undefined && !isDeepStrictEqual(status, object.status))
      this.put('nodeconfigs', { ...object, status } as KubeObject);
  }

  #view(): Pick<ClusterView, 'sets' | 'nodes' | 'nodeConfigs' | 'configMaps' | 'fieldPolicies'> {
    const cache = (kind: string, prefix = '') => ({
      get: (key: string) => this.#caches[kind]!.get(key.slice(prefix.length)),
      values: () => this.#caches[kind]!.values(),
    });
    return {
      sets: cache('nodeconfigsets'),
      nodes: cache('nodes'),
      nodeConfigs: cache('nodeconfigs'),
      fieldPolicies: { get: () => undefined, values: () => [] },
      configMaps: new Map([['relet-system', cache('configmaps', 'relet-system/')]]),
    } as unknown as ClusterView;
  }

  #client(): KubeClient {
    const clock = { now: () => this.nowMs, monotonic: () => this.nowMs, sleep: async () => {} };
    return {
      clock,
      random: seededRandom('model'),
      get: async (type: { resource: string }, { name }: { name: string }) => {
        const found = this.kinds[type.resource]!.get(name);
        if (found === undefined) throw new ApiError(404, 'NotFound', name);
        return copy(found);
      },
      list: async (type: { resource: string }, { fieldSelector = '' }: { fieldSelector?: string }) => {
        const node = /^spec\.nodeName=(.*)$/.exec(fieldSelector)?.[1];
        return { items: copy(node === undefined ? [...this.kinds[type.resource]!.values()] : this.podsOn(node)) };
      },
      create: async (
        type: { resource: string },
        place: { name?: string; subresource?: string },
        object: KubeObject,
      ) => {
        if (type.resource === 'events') return object;
        if (type.resource === 'selfsubjectaccessreviews') return { ...object, status: { allowed: this.mayDrain } };
        if (place.subresource === 'eviction') return this.#write(() => this.#evict(place.name!, object));
        return this.#write(() => {
          if (this.kinds[type.resource]!.has(object.metadata.name)) throw new ApiError(409, 'AlreadyExists', '');
          return this.put(type.resource, object);
        });
      },
      update: async (type: { resource: string }, { name }: { name: string }, object: KubeObject) =>
        this.#write(() => {
          const present = this.#expect(type.resource, name, object.metadata.resourceVersion);
          if (type.resource === 'nodeconfigsets') this.#checkIntent(present as NodeConfigSet, object as NodeConfigSet);
          return this.put(type.resource, { ...present, status: object.status });
        }),
      patch: async (
        type: { resource: string },
        { name, subresource }: { name: string; subresource?: string },
        patch: { metadata: { resourceVersion?: string } },
      ) =>
        this.#write(() => {
          this.#expect(type.resource, name, patch.metadata.resourceVersion);
          if (type.resource === 'nodes') return this.#patchNode(name, patch, subresource === 'status');
          const before = type.resource === 'nodeconfigs' ? this.node(name) : undefined;
          const written = this.#patch(type.resource, name, patch);
          if (before !== undefined) {
            this.#checkRules(before);
            this.acts.push(`assign ${name}`);
          }
          return written;
        }),
      delete: async (type: { resource: string }, { name }: { name: string }) =>
        this.#write(() => this.remove(type.resource, name)),
    } as unknown as KubeClient;
  }

  #evict(name: string, eviction: KubeObject): KubeObject {
    const pod = this.kinds.pods!.get(name);
    if (pod === undefined) throw new ApiError(404, 'NotFound', name);
    const { deleteOptions } = eviction as unknown as { deleteOptions: { preconditions: { uid: string } } };
    if (deleteOptions.preconditions.uid !== pod.metadata.uid) throw new ApiError(409, 'Conflict', name);
    const { nodeName } = pod.spec as { nodeName: string };
    if (this.cordoned.get(nodeName) === undefined)
      this.broken.push(`${name} is evicted from ${nodeName}, not cordoned`);
    if (this.budgetSpent.has(nodeName)) throw new ApiError(429, 'TooManyRequests', 'budget');
    this.acts.push(`evict ${name}`);
    return this.put('pods', { ...pod, metadata: { ...pod.metadata, deletionTimestamp: rfc3339(this.nowMs) } });
  }

  #patchNode(name: string, patch: object, isStatus: boolean): KubeObject {
    const present = copy(this.kinds.nodes!.get(name)) as ClusterNode;
    if (isStatus) {
      const [condition] = (patch as { status: { conditions: [{ type: string; status: string; $patch?: string }] } })
        .status.conditions;
      const others = (present.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
      const conditions = condition.$patch === 'delete' ? others : [...others, condition];
      return this.put('nodes', { ...present, status: { ...present.status, conditions } });
    }
    const merged = applyMergePatch(present, patch) as ClusterNode;
    const [was, is] = [present, merged].map(({ spec }) => spec?.unschedulable === true);
    if (was && !is && this.cordoned.get(name) !== 'us') this.broken.push(`${name} is uncordoned, and was not by us`);
    if (was !== is) merged.metadata.managedFields = managedBy('relet-controller');
    if (!was && is) this.cordoned.set(name, 'us');
    if (was && !is) this.cordoned.delete(name);
    if (was !== is) this.acts.push(`${is ? 'cordon' : 'uncordon'} ${name}`);
    const written = this.put('nodes', merged);
    const exempt = (this.set as NodeConfigSet | undefined)?.status?.intent?.exempt ?? [];
    const isCounted = (one: string) => !exempt.includes(one) && !this.claim(one)?.exempt;
    const ours = [...this.cordoned].filter(([one, who]) => who === 'us' && isCounted(one));
    if (!was && is && ours.length > this.limits.maxUnavailable)
      this.broken.push(`cordoned: ${ours.map(([one]) => one)}`);
    return written;
  }

  #patch(kind: string, name: string, patch: object): KubeObject {
    const present = this.kinds[kind]!.get(name)!;
    const merged = applyMergePatch(present, patch) as KubeObject;
    if (!isDeepStrictEqual(merged.spec, present.spec))
      merged.metadata.generation = (present.metadata.generation ?? 1) + 1;
    return this.put(kind, merged);
  }

  #expect(kind: string, name: string, resourceVersion: string | undefined): KubeObject {
    const present = this.kinds[kind]!.get(name);
    if (present === undefined) throw new ApiError(404, 'NotFound', name);
    if (resourceVersion !== present.metadata.resourceVersion) throw new ApiError(409, 'Conflict', name);
    return present;
  }

  /** A crash is before the write, or after it and before its answer. */
  #write<T>(write: () => T): T {
    if (this.crashAfter === undefined || this.crashAfter-- > 0) return write();
    if (this.#version % 2 === 0) write();
    throw new Crash();
  }

  /** A batch that was begun is finished before another one, unless the rollout stops or is about another revision. */
  #checkIntent({ status: before, spec }: NodeConfigSet, { status: after }: NodeConfigSet): void {
    const { intent } = before ?? {};
    // A retry starts the same revision again, from another ConfigMap.
    const rolledOut = (status: NodeConfigSet['status']) =>
      JSON.stringify([status?.updateRevision, status?.rejectedRevision, status?.revisions?.[0]?.source]);
    const isOther = rolledOut(before) !== rolledOut(after);
    const isStopped = after?.conditions?.some(({ type, status }) => type === 'Stalled' && status === 'True');
    if (intent === undefined || after?.intent?.at === intent.at || isOther || isStopped || spec.paused) return;
    if (after?.rollingBack || before?.rollingBack) return;
    // The results of a drain are not in the caches.
    const excluded = new Set(after?.excluded?.map(({ name }) => name));
    const open = intent.names.filter((name) => {
      const node = this.#caches.nodes!.get(name) as ClusterNode | undefined;
      const object = this.#caches.nodeconfigs!.get(name) as NodeConfig | undefined;
      if (node === undefined || excluded.has(name)) return false;
      const { blocked, ...seen } = setNode({ set: 'gpu', node, object, olderSets: [] });
      return blocked === undefined && !isWritten(seen, stateIn({ intent }).intent!);
    });
    if (open.length > 0) this.broken.push(`the batch of ${intent.at} is given up: ${open}`);
  }

  /** The rules of the strategy, by what is really so after an assignment of the controller. */
  #checkRules(before: SetNode): void {
    const after = this.node(before.name);
    const { claim } = after;
    if (claim === undefined || claim.released || claim.exempt || before.state === 'waiting') return;
    const isDrained = this.cordoned.has(before.name) && this.podsOn(before.name).length === 0;
    if (this.set.spec.strategy?.drain?.policy === 'Always' && claim.revision !== 'reset' && !isDrained)
      this.broken.push(`${before.name} is changed, and not drained`);
    if (!sameConfig(claim.source, refOf(this.nodeConfig(before.name)?.spec?.configSource), 'name'))
      this.broken.push(`${before.name} is half changed`);
    const ours = this.nodeNames.map((name) => this.node(name)).filter((node) => node.claim && !node.claim.exempt);
    const waiting = ours.filter(({ state }) => state === 'waiting');
    if (after.state === 'waiting' && waiting.length > this.limits.maxUnavailable)
      this.broken.push(`unavailable by us: ${waiting.map(({ name }) => name)}`);
    const trial = ours.filter(({ state }) => state === 'trial' || state === 'waiting');
    const isRollback = this.set.status?.rollingBack === true || claim.revision === 'reset';
    const isSilent = (node: SetNode) => this.nowMs - Date.parse(node.claim!.at) > 15 * 60_000;
    if (
      !isRollback &&
      before.state !== 'trial' &&
      trial.filter((node) => !isSilent(node)).length > this.limits.maxInTrial
    )
      this.broken.push(`in trial: ${trial.map(({ name }) => name)}`);
  }
}

const managedBy = (manager: string) => [{ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } }];

const handmade = { configMap: { namespace: 'relet-system', name: 'by-hand', kubeletConfigKey: 'kubelet' } };
