/**
 * The controller: informers enqueue keys, one queue runs the reconciler of each key.
 *
 *     node      NodeConfig of one Node: created, with the conditions Granted and Guarded     node-configs.ts
 *     grant     Role and RoleBinding of one ConfigMap                                         grants.ts
 *     new-node  taint of a node that registered with it                                       new-nodes.ts
 *     guards    which guards are in force, and whether all nodes may write status             guards.ts
 *     set       the next step of one NodeConfigSet                                            sets.ts
 *
 * It grants only what it may read itself, holds neither `escalate` nor `bind`, and deletes only its own binding and the ConfigMaps
 * that sets made.
 */
import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { aborted } from '../aborted.js';
import { drainMarkOf, isCordoned } from '../api/drain.js';
import { type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { madeBySetLabel } from '../api/node-config-set.js';
import { type KubeClient, serves } from '../kube/client.js';
import { parseKey } from '../kube/resource-type.js';
import { type ReconcileResult, WorkQueue } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import { type ClusterView, watchCluster } from './cluster-view.js';
import { defaultNamespaces } from './config-namespaces.js';
import { boundNodes, configMapOf, type GrantFacts, grantedConfigMap, referencedConfigMaps } from './grant-plan.js';
import { GrantReconciler, grantFacts } from './grants.js';
import type { GuardChoice } from './guard-plan.js';
import { GuardReconciler } from './guards.js';
import type { ControllerCounters } from './metrics.js';
import { hasTaint, NewNodeReconciler } from './new-nodes.js';
import { NodeConfigReconciler } from './node-configs.js';
import { Notifier, type SendNotice } from './notifier.js';
import type { QueryNodes } from './prometheus.js';
import { SetReconciler } from './sets.js';

export interface ControllerOptions {
  client: KubeClient;
  /** Only ConfigMaps in these are granted. Default: see config-namespaces.ts. */
  namespaces?: readonly string[] | undefined;
  guards: GuardChoice;
  /** How long an API server may take to enforce new policies; they are not relied on before. Default 5 s. */
  settleMs?: number;
  /** Changes of nodes are gathered for so long before their sets are reconciled: one pass reads all nodes of a set. Default 1 s. */
  gatherMs?: number;
  /** Delivers notices of sets to a webhook. */
  sendNotice?: SendNotice | undefined;
  /** For analyses that query Prometheus. */
  queryNodes?: QueryNodes | undefined;
  log: Log;
  counters: ControllerCounters;
}

type Key =
  | { kind: 'node'; name: string }
  | { kind: 'new-node'; name: string }
  /** `configMap` is NAMESPACE/NAME. */
  | { kind: 'grant'; configMap: string }
  | { kind: 'guards' }
  | { kind: 'set'; name: string };

const pollMs = 10_000;
const retryMs = 1000;
const defaultGatherMs = 1000;
/** The same for the grant of a ConfigMap that a set made: a batch is written within this time, and its grants once for each shard. */
const gatherGrantsMs = 200;

/** Until the signal fires. Waits for as long as the API does not serve NodeConfigs. */
export async function runController(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { client, log } = options;
  let logged = '';
  const logOnce = (text: string, fields?: object) => {
    if (text !== logged) log.info(text, { ...fields });
    logged = text;
  };
  while (!signal.aborted) {
    const prepare = async () => {
      if (!(await serves(client, nodeConfigs, { signal }))) return false;
      return options.namespaces ?? defaultNamespaces({ client, log, signal });
    };
    const namespaces = await prepare().catch((error: unknown) => {
      if (!signal.aborted) logOnce('waiting for the API server', { error });
      return undefined;
    });
    if (namespaces) return new Controller({ ...options, namespaces }, signal).run();
    if (namespaces === false)
      logOnce('waiting for the API server to serve NodeConfigs, install the chart relet-crds or apply deploy/');
    const wait = namespaces === false ? client.clock.sleep(pollMs, signal) : client.waitBeforeRetry(retryMs, signal);
    await wait.catch(() => {});
  }
}

class Controller {
  readonly #signal: AbortSignal;
  readonly #view: ClusterView;
  readonly #queue: WorkQueue<Key>;
  readonly #counters: ControllerCounters;
  readonly #nodeConfigs: NodeConfigReconciler;
  readonly #newNodes: NewNodeReconciler;
  readonly #grants: GrantReconciler;
  readonly #guards: GuardReconciler;
  readonly #sets: SetReconciler;
  /** Parts of each Node that sets read, as last seen: most changes of a Node are heartbeats. */
  readonly #seenBySets = new Map<string, string>();
  /** NodeConfigs as they were last seen: most changes of one at rest are renewals of its lease. */
  readonly #seenConfigs = new Map<string, NodeConfig>();
  readonly #now: () => number;
  readonly #gatherMs: number;
  /** ConfigMaps that each NodeConfig referred to when it was last seen: one that it no longer refers to may lose its grant. */
  readonly #referenced = new Map<string, { assigned: string | undefined; all: Set<string> }>();
  /** The nodes of each RoleBinding when it was last seen. */
  readonly #bound = new Map<string, ReadonlySet<string>>();
  /** When a NodeConfig was first seen without its Node. */
  readonly #absentSinceMs = new Map<string, number>();
  #isSynced = false;

  constructor(options: ControllerOptions & { namespaces: readonly string[] }, signal: AbortSignal) {
    const { client, namespaces, counters, log, gatherMs = defaultGatherMs } = options;
    this.#signal = signal;
    this.#gatherMs = gatherMs;
    this.#counters = counters;
    this.#now = () => client.clock.monotonic();
    // A dozen watches listen to this signal; Node.js would warn of a leak.
    setMaxListeners(0, signal);
    this.#queue = new WorkQueue<Key>({
      clock: client.clock,
      random: client.random,
      signal,
      workers: 8,
      idOf: describeKey,
      waitBeforeRetry: (ms, until) => client.waitBeforeRetry(ms, until),
      reconcile: (key) => this.#reconcile(key),
      onRetry: (key, error, failures) => {
        counters.reconcileErrors++;
        const level = failures % 5 === 1 ? 'warn' : 'debug';
        log[level]('reconcile failed, will retry', { key: describeKey(key), error, failures });
      },
    });
    this.#view = watchCluster({
      client,
      namespaces,
      log,
      signal,
      onNode: (name) => this.#nodeChanged(name),
      onNodeConfig: (name) => this.#nodeConfigChanged(name),
      onSet: (name) => this.#addSet(name),
      onFieldPolicy: () => this.#gatherForSets(),
      onConfigMap: (key) => this.#configMapChanged(key),
      onGrant: (configMap, binding) => this.#grantChanged(configMap, binding),
      onGuard: () => this.#add({ kind: 'guards' }),
      onClaim: () => this.#gatherForSets(),
    });
    const facts: GrantFacts = grantFacts(this.#view, namespaces, (name) => this.#absentMs(name));
    const parts = { ...options, view: this.#view, facts, signal };
    this.#grants = new GrantReconciler(parts);
    this.#newNodes = new NewNodeReconciler(parts);
    this.#guards = new GuardReconciler({ ...parts, choice: options.guards, onChange: () => this.#addNodes() });
    this.#nodeConfigs = new NodeConfigReconciler({ ...parts, guards: () => this.#guards.state });
    this.#sets = new SetReconciler({ ...parts, guards: () => this.#guards.state, notifier: this.#notifierOf(parts) });
  }

  #notifierOf({ sendNotice: send, client, log, counters, signal }: ControllerOptions & { signal: AbortSignal }) {
    if (send === undefined) return undefined;
    const { clock, random } = client;
    return new Notifier({ send, clock, random, log, counters, signal, onDelivered: (set) => this.#addSet(set) });
  }

  async run(): Promise<void> {
    await Promise.race([this.#view.synced, aborted(this.#signal)]);
    this.#isSynced = true;
    this.#add({ kind: 'guards' });
    for (const { metadata } of this.#view.sets.values()) this.#addSet(metadata.name);
    // Cordons of a set that was deleted while no controller ran.
    for (const node of this.#view.nodes.values()) this.#addSet(drainMarkOf(node)?.set ?? '');
    for (const { metadata } of this.#view.nodes.values()) this.#nodeChanged(metadata.name);
    for (const { metadata } of this.#view.nodeConfigs.values()) this.#nodeConfigChanged(metadata.name);
    for (const informer of this.#view.configMaps.values())
      for (const { metadata } of informer.values()) this.#addGrant(`${metadata.namespace}/${metadata.name}`);
    // Grants of earlier leaders may have become void while there was no leader.
    for (const informer of this.#view.bindings.values())
      for (const { metadata } of informer.values()) {
        const configMap = grantedConfigMap(metadata.name);
        if (configMap !== undefined) this.#addGrant(`${metadata.namespace}/${configMap}`);
      }
    await this.#queue.stopped;
  }

  #reconcile(key: Key): Promise<ReconcileResult> {
    this.#counters.reconciles++;
    switch (key.kind) {
      case 'node':
        return this.#nodeConfigs.reconcile(key.name);
      case 'new-node':
        return this.#newNodes.reconcile(key.name);
      case 'grant':
        return this.#grants.reconcile(key.configMap);
      case 'guards':
        return this.#guards.reconcile();
      case 'set':
        return this.#sets.reconcile(key.name);
    }
  }

  /** Waits until all caches are synced: an object that is not listed yet would look deleted. */
  #add(key: Key): void {
    if (this.#isSynced) this.#queue.add(key);
  }

  #addGrant(configMap: string): void {
    if (!this.#isSynced) return;
    const isOfSet = this.#madeBySet(configMap) !== '';
    if (isOfSet) this.#queue.addAfter({ kind: 'grant', configMap }, gatherGrantsMs);
    else this.#add({ kind: 'grant', configMap });
  }

  #addSet(name: string): void {
    if (name !== '') this.#add({ kind: 'set', name });
  }

  #gatherForSets(): void {
    if (!this.#isSynced) return;
    for (const { metadata } of this.#view.sets.values())
      this.#queue.addAfter({ kind: 'set', name: metadata.name }, this.#gatherMs);
  }

  #addNodes(): void {
    for (const { metadata } of this.#view.nodes.values()) this.#add({ kind: 'node', name: metadata.name });
  }

  #nodeChanged(name: string): void {
    if (!this.#isSynced) return;
    this.#add({ kind: 'node', name });
    this.#countCordon(name);
    this.#showToSets(name);
    const [node, object] = [this.#view.nodes.get(name), this.#view.nodeConfigs.get(name)];
    if (node === undefined || hasTaint(node)) this.#add({ kind: 'new-node', name });
    const isAbsent = object !== undefined && node === undefined;
    if (isAbsent === this.#absentSinceMs.has(name)) return;
    if (isAbsent) this.#absentSinceMs.set(name, this.#now());
    else this.#absentSinceMs.delete(name);
    if (object !== undefined) for (const key of referencedConfigMaps(object)) this.#addGrant(key);
  }

  #countCordon(name: string): void {
    const node = this.#view.nodes.get(name);
    const mark = node && drainMarkOf(node);
    if (mark?.state !== 'Draining' || !isCordoned(node!)) return void this.#counters.cordoned.delete(name);
    this.#counters.cordoned.set(name, { set: mark.set, sinceSeconds: Date.parse(mark.at) / 1000 });
  }

  #showToSets(name: string): void {
    const node = this.#view.nodes.get(name);
    const { resourceVersion: _, ...metadata } = node?.metadata ?? {};
    const text = node === undefined ? '' : JSON.stringify([metadata, node.spec, node.status]);
    if (this.#seenBySets.get(name) === text) return;
    if (node === undefined) this.#seenBySets.delete(name);
    else this.#seenBySets.set(name, text);
    this.#gatherForSets();
  }

  #nodeConfigChanged(name: string): void {
    if (!this.#isSynced) return;
    if (this.#isRenewal(name)) {
      this.#add({ kind: 'node', name });
      return;
    }
    this.#gatherForSets();
    this.#nodeChanged(name);
    const before = this.#referenced.get(name) ?? { assigned: undefined, all: new Set() };
    const object = this.#view.nodeConfigs.get(name);
    const all = object === undefined ? new Set<string>() : referencedConfigMaps(object);
    const now = { assigned: configMapOf(object?.spec?.configSource), all };
    // Most changes are of the status, and name the same: the grants of all nodes are not planned again for each of them.
    if (isDeepStrictEqual(before, now)) return;
    if (all.size > 0) this.#referenced.set(name, now);
    else this.#referenced.delete(name);
    for (const key of new Set([...before.all, ...all])) this.#addGrant(key);
    // A ConfigMap of a set that is gone may be garbage-collected now.
    for (const key of before.all) if (!all.has(key)) this.#addSet(this.#madeBySet(key));
  }

  /** Nothing but the lease of its agent has changed: sets and grants do not depend on it. */
  #isRenewal(name: string): boolean {
    const [before, now] = [this.#seenConfigs.get(name), this.#view.nodeConfigs.get(name)];
    if (now === undefined) this.#seenConfigs.delete(name);
    else this.#seenConfigs.set(name, now);
    if (before === undefined || now === undefined || before.status?.lease?.renewTime === now.status?.lease?.renewTime)
      return false;
    return isDeepStrictEqual(withoutLease(before), withoutLease(now));
  }

  #madeBySet(key: string): string {
    const configMap = this.#view.configMaps.get(parseKey(key).namespace)?.get(key);
    return configMap?.metadata.labels?.[madeBySetLabel] ?? '';
  }

  #configMapChanged(key: string): void {
    if (!this.#isSynced) return;
    this.#addGrant(key);
    this.#addSet(this.#madeBySet(key));
    for (const { metadata, spec } of this.#view.sets.values()) {
      const { namespace, name } = spec.config.configMap ?? {};
      if (`${namespace}/${name}` === key) this.#addSet(metadata.name);
    }
    for (const { metadata, spec } of this.#view.nodeConfigs.values())
      if (configMapOf(spec?.configSource) === key) this.#add({ kind: 'node', name: metadata.name });
  }

  /** A RoleBinding has hundreds of nodes, and each batch of a rollout adds some: only those are looked at again. */
  #grantChanged(configMap: string, binding: string | undefined): void {
    if (!this.#isSynced) return;
    this.#addGrant(configMap);
    if (binding === undefined) return;
    const before = this.#bound.get(binding) ?? new Set();
    const now = boundNodes(this.#view.bindings.get(parseKey(binding).namespace)?.get(binding));
    this.#bound.set(binding, now);
    for (const name of now) if (!before.has(name)) this.#add({ kind: 'node', name });
    for (const name of before) if (!now.has(name)) this.#add({ kind: 'node', name });
  }

  #absentMs(name: string): number | undefined {
    const sinceMs = this.#absentSinceMs.get(name);
    return sinceMs === undefined ? undefined : this.#now() - sinceMs;
  }
}

function withoutLease({ metadata, spec, status }: NodeConfig) {
  const { resourceVersion: _, ...kept } = metadata;
  const { lease: __, ...others } = status ?? {};
  return { metadata: kept, spec, status: others };
}

function describeKey(key: Key): string {
  switch (key.kind) {
    case 'node':
      return `node/${key.name}`;
    case 'new-node':
      return `new-node/${key.name}`;
    case 'grant':
      return `grant/${key.configMap}`;
    case 'guards':
      return 'guards';
    case 'set':
      return `set/${key.name}`;
  }
}
