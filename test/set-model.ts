/**
 * A model of a cluster around the reconciler of sets: an API with resourceVersions, caches that lag behind it, nodes that work, fail or
 * are silent, and a controller that crashes between any two writes. Everything is in memory and moved by hand.
 */
import { isDeepStrictEqual } from 'node:util';
import { applyMergePatch } from '../src/api/merge-patch.js';
import type { NodeConfig } from '../src/api/node-config.js';
import { claimAnnotation, type NodeConfigSet, readClaim } from '../src/api/node-config-set.js';
import type { KubeObject } from '../src/api/object.js';
import type { ClusterView } from '../src/controller/cluster-view.js';
import { newControllerCounters } from '../src/controller/metrics.js';
import { type ClusterNode, type SetNode, setNode, sourceText } from '../src/controller/set-nodes.js';
import { SetReconciler } from '../src/controller/sets.js';
import { ApiError } from '../src/kube/api-error.js';
import type { KubeClient } from '../src/kube/client.js';
import { seededRandom } from '../src/lab/simulation/seeded-random.js';
import { silentLog } from '../src/log.js';
import { rfc3339 } from '../src/time.js';

export type Mode = 'works' | 'rejects' | 'rolls back' | 'silent';
const trialMs = 60_000;

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
  } as Record<string, Map<string, KubeObject>>;
  readonly modes = new Map<string, Mode>();
  /** Assignments that broke a rule. */
  readonly broken: string[] = [];
  /** Writes until the controller crashes. */
  crashAfter: number | undefined;
  readonly #assignedAt = new Map<string, { generation: number; atMs: number }>();
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
      node.status = { conditions: [condition], nodeInfo: { kubeletVersion: 'v1.32.0' } };
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

  async reconcile(): Promise<void> {
    try {
      await this.#reconciler.reconcile('gpu');
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.newLeader();
    }
  }

  /** Each agent acts on its NodeConfig as it is now. */
  answer(): void {
    for (const [name, object] of this.kinds.nodeconfigs!) this.#answerOne(name, object as NodeConfig);
  }

  #answerOne(name: string, object: NodeConfig): void {
    const { generation = 1 } = object.metadata;
    if (this.#assignedAt.get(name)?.generation !== generation)
      this.#assignedAt.set(name, { generation, atMs: this.nowMs });
    const { atMs } = this.#assignedAt.get(name)!;
    const mode = this.modes.get(name) ?? 'works';
    const source = object.spec?.configSource;
    if (mode === 'silent' || this.nowMs - atMs < 2000) return;
    const { lastKnownGood } = object.status?.config ?? {};
    const good = lastKnownGood === undefined ? {} : { lastKnownGood };
    const isBad = source !== undefined && mode !== 'works' && source !== handmade;
    const error = mode === 'rejects' ? 'ValidationFailed' : 'CrashLoop';
    const isPassed = this.nowMs - atMs >= trialMs;
    const config = isBad
      ? { assigned: source, ...(lastKnownGood && { active: lastKnownGood }), ...good, error }
      : source === undefined
        ? {}
        : { assigned: source, active: source, ...(isPassed ? { lastKnownGood: source } : good) };
    const conditions = [{ type: 'ConfigOK', status: isBad ? 'False' : 'True', reason: isBad ? error : 'ConfigActive' }];
    const isTrial = source !== undefined && !isBad && !isPassed;
    const trial = isTrial ? { trial: { endsAt: rfc3339(atMs + trialMs) } } : {};
    const status = { observedGeneration: generation, config, conditions, ...trial };
    if (!isDeepStrictEqual(status, object.status)) this.put('nodeconfigs', { ...object, status } as KubeObject);
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
      create: async (type: { resource: string }, _place: unknown, object: KubeObject) => {
        if (type.resource === 'events') return object;
        return this.#write(() => {
          if (this.kinds[type.resource]!.has(object.metadata.name)) throw new ApiError(409, 'AlreadyExists', '');
          return this.put(type.resource, object);
        });
      },
      update: async (type: { resource: string }, { name }: { name: string }, object: KubeObject) =>
        this.#write(() => {
          const present = this.#expect(type.resource, name, object.metadata.resourceVersion);
          return this.put(type.resource, { ...present, status: object.status });
        }),
      patch: async (
        type: { resource: string },
        { name }: { name: string },
        patch: { metadata: { resourceVersion?: string } },
      ) =>
        this.#write(() => {
          this.#expect(type.resource, name, patch.metadata.resourceVersion);
          const before = type.resource === 'nodeconfigs' ? this.node(name) : undefined;
          const written = this.#patch(type.resource, name, patch);
          if (before !== undefined) this.#checkRules(before);
          return written;
        }),
      delete: async (type: { resource: string }, { name }: { name: string }) =>
        this.#write(() => this.remove(type.resource, name)),
    } as unknown as KubeClient;
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

  /** The rules of the strategy, by what is really so after an assignment of the controller. */
  #checkRules(before: SetNode): void {
    const after = this.node(before.name);
    const { claim } = after;
    if (claim === undefined || claim.released || claim.exempt || before.state === 'waiting') return;
    if (claim.source !== sourceText(this.nodeConfig(before.name))) this.broken.push(`${before.name} is half changed`);
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

const handmade = { configMap: { namespace: 'relet-system', name: 'by-hand', kubeletConfigKey: 'kubelet' } };
