/**
 * The controller, whole: reads the present, does one step for one object, comes back later. Three kinds of work:
 *
 *     node/NAME           a NodeConfig for each Node; where roles guard, the node's own role; the conditions Granted and Guarded
 *     grant/NS/NAME       the Role and the RoleBinding of one ConfigMap
 *     guards              which guards are in force, and with them whether all nodes may write status
 *
 * It only ever grants what it may read itself, holds neither `escalate` nor `bind`, and deletes nothing but its own binding.
 */

import { setMaxListeners } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { type NodeConfig, nodeConfigs, withConditions } from '../api/node-config.js';
import type { Clock } from '../clock.js';
import { isNotFound } from '../kube/api-error.js';
import type { KubeClient } from '../kube/client.js';
import { serves } from '../kube/discovery.js';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../kube/resource-type.js';
import { type ReconcileResult, WorkQueue } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import { rfc3339 } from '../time.js';
import { type ClusterView, followCluster } from './cluster-view.js';
import { boundNodes, grantBinding, grantedConfigMap, grantName, grantRole } from './grant-objects.js';
import { configMapKey, type GrantFacts, grantedCondition, namedBy, nodeGraceMs, nodesToGrant } from './grants.js';
import {
  decideGuards,
  type GuardChoice,
  type GuardState,
  guardedCondition,
  nodeRoleName,
  nodeRoleObjects,
  nodeStatusBinding,
  nodeStatusRole,
} from './guards.js';
import { guardsCheckedEveryMs, renewGuardsLease } from './guards-lease.js';
import type { ControllerCounters } from './metrics.js';
import { nodeConfigFor } from './node-config-object.js';
import { ObjectWriter } from './object-writer.js';

export interface ControllerOptions {
  client: KubeClient;
  /** Only ConfigMaps in these are granted. */
  namespaces: readonly string[];
  guards: GuardChoice;
  /** A server needs a moment until it enforces new policies: so long nothing is trusted to them. Default 5 s. */
  settleMs?: number;
  clock: Clock;
  log: Log;
  counters: ControllerCounters;
}

const askAgainMs = 10_000;
const retryMs = 1000;

/** Until the signal fires. Waits for as long as the API does not serve NodeConfigs. */
export async function runController(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, log } = options;
  let said = '';
  const say = (text: string, fields?: object) => {
    if (text !== said) log.info(text, { ...fields });
    said = text;
  };
  while (!signal.aborted) {
    const served = await serves(client, nodeConfigs, { signal }).catch((error: unknown) => {
      if (!signal.aborted) say('waiting for the API server', { error });
      return undefined;
    });
    if (served) return new Controller(options, signal).run();
    if (served === false) say('waiting for NodeConfigs to be served, they are installed with deploy/');
    const wait = served === false ? clock.sleep(askAgainMs, signal) : client.waitBeforeRetry(retryMs, signal);
    await wait.catch(() => {});
  }
}

class Controller {
  readonly #options: ControllerOptions;
  readonly #signal: AbortSignal;
  readonly #view: ClusterView;
  readonly #queue: WorkQueue;
  readonly #writer: ObjectWriter;
  /** What each NodeConfig named when it was last looked at: what it names no longer may be taken away. */
  readonly #named = new Map<string, Set<string>>();
  /** NodeConfigs without a Node, and since when as far as we know. */
  readonly #goneSinceMs = new Map<string, number>();
  #guards: GuardState | undefined;
  #wholeSinceMs: number | undefined;
  #checkedMs = Number.NEGATIVE_INFINITY;
  #isReady = false;

  constructor(options: ControllerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    // A dozen watches end with it; node would suspect a leak.
    setMaxListeners(0, signal);
    this.#writer = new ObjectWriter(options.client, signal);
    const { clock, log, counters } = options;
    this.#queue = new WorkQueue({
      clock,
      random: options.client.random,
      signal,
      workers: 8,
      waitBeforeRetry: (ms, until) => options.client.waitBeforeRetry(ms, until),
      reconcile: (key) => this.#reconcile(key),
      onRetry: (key, error, failures) => {
        counters.reconcileErrors++;
        log[failures % 5 === 1 ? 'warn' : 'debug']('will be tried again', { what: key, error, failures });
      },
    });
    this.#view = followCluster({
      ...options,
      signal,
      onNode: (name) => this.#nodeChanged(name),
      onNodeConfig: (name) => this.#nodeConfigChanged(name),
      onConfigMap: (key) => this.#configMapChanged(key),
      onGuard: () => this.#add('guards'),
    });
  }

  async run(): Promise<void> {
    const aborted = new Promise((resolve) => this.#signal.addEventListener('abort', resolve, { once: true }));
    await Promise.race([this.#view.synced, aborted]);
    this.#isReady = true;
    this.#add('guards');
    for (const { metadata } of this.#view.nodes.values()) this.#nodeChanged(metadata.name);
    for (const { metadata } of this.#view.nodeConfigs.values()) this.#nodeConfigChanged(metadata.name);
    for (const informer of this.#view.configMaps.values())
      for (const { metadata } of informer.values()) this.#add(`grant/${metadata.namespace}/${metadata.name}`);
    // What earlier leaders granted may have lost its reason while nobody led.
    for (const informer of this.#view.bindings.values())
      for (const { metadata } of informer.values()) {
        const configMap = grantedConfigMap(metadata.name);
        if (configMap !== undefined) this.#add(`grant/${metadata.namespace}/${configMap}`);
      }
    await this.#queue.stopped;
  }

  /** Half a view decides nothing: what is not listed yet would look as if it were gone. */
  #add(key: string): void {
    if (this.#isReady) this.#queue.add(key);
  }

  #nodeChanged(name: string): void {
    if (!this.#isReady) return;
    this.#add(`node/${name}`);
    const object = this.#view.nodeConfigs.get(name);
    const isGone = object !== undefined && this.#view.nodes.get(name) === undefined;
    if (isGone === this.#goneSinceMs.has(name)) return;
    if (isGone) this.#goneSinceMs.set(name, this.#options.clock.monotonic());
    else this.#goneSinceMs.delete(name);
    if (object !== undefined) for (const key of namedBy(object)) this.#add(`grant/${key}`);
  }

  #nodeConfigChanged(name: string): void {
    if (!this.#isReady) return;
    this.#nodeChanged(name);
    const before = this.#named.get(name) ?? new Set();
    const object = this.#view.nodeConfigs.get(name);
    const now = object === undefined ? new Set<string>() : namedBy(object);
    if (now.size > 0) this.#named.set(name, now);
    else this.#named.delete(name);
    for (const key of new Set([...before, ...now])) this.#add(`grant/${key}`);
  }

  #configMapChanged(key: string): void {
    if (!this.#isReady) return;
    this.#add(`grant/${key}`);
    for (const { metadata, spec } of this.#view.nodeConfigs.values())
      if (configMapKey(spec?.configSource) === key) this.#add(`node/${metadata.name}`);
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    this.#options.counters.reconciles++;
    const [kind, ...rest] = key.split('/');
    if (kind === 'guards') return this.#guard();
    if (kind === 'grant') return this.#grant(rest.join('/'));
    await this.#node(rest.join('/'));
    return { kind: 'done' };
  }

  // ── nodes ──

  async #node(name: string): Promise<void> {
    const { client, counters, log } = this.#options;
    const node = this.#view.nodes.get(name);
    const object = this.#view.nodeConfigs.get(name);
    // A NodeConfig that we made goes with its Node: the garbage collector sees to that. One that somebody made stays.
    if (object === undefined) {
      if (node === undefined) return;
      // The watch may not have brought it yet: then it is there, and was counted.
      if (!(await this.#writer.create(nodeConfigs, undefined, nodeConfigFor(node)))) return;
      counters.nodeConfigsCreated++;
      return log.info('NodeConfig made', { node: name });
    }
    if (this.#guards?.inForce === 'roles' && node) await this.#ensureNodeRole(node.metadata);
    const status = this.#conditions(object);
    if (isDeepStrictEqual(status.conditions, object.status?.conditions)) return;
    await client.update(nodeConfigs, { name, subresource: 'status' }, { ...object, status }, { signal: this.#signal });
  }

  #conditions(object: NodeConfig): NodeConfig['status'] & object {
    const now = rfc3339(this.#options.clock.now());
    const wanted = [
      grantedCondition(object, this.#facts),
      ...(this.#guards === undefined ? [] : [guardedCondition(this.#guards)]),
    ];
    return { ...object.status, conditions: withConditions(object.status?.conditions, wanted, now) };
  }

  async #ensureNodeRole(node: { name: string; uid?: string }): Promise<void> {
    const [role, binding] = nodeRoleObjects(node);
    const name = nodeRoleName(node.name);
    if (this.#view.nodeRoles.get(name) === undefined) await this.#writer.create(clusterRoles, undefined, role);
    if (this.#view.nodeRoleBindings.get(name) === undefined)
      await this.#writer.create(clusterRoleBindings, undefined, binding);
  }

  // ── grants ──

  get #facts(): GrantFacts {
    const { namespaces } = this.#options;
    return {
      namespaces,
      isLabelled: (key) => this.#inNamespace(this.#view.configMaps, key) !== undefined,
      granted: (key) => boundNodes(this.#bindingOf(key)),
      nodeGoneMs: (name) => {
        const sinceMs = this.#goneSinceMs.get(name);
        return sinceMs === undefined ? undefined : this.#options.clock.monotonic() - sinceMs;
      },
    };
  }

  async #grant(key: string): Promise<ReconcileResult> {
    const wanted = nodesToGrant(key, this.#view.nodeConfigs.values(), this.#facts);
    await this.#bind(key, wanted);
    const goneMs = wanted.map((node) => this.#facts.nodeGoneMs(node)).filter((ms) => ms !== undefined);
    return goneMs.length === 0 ? { kind: 'done' } : { kind: 'requeue', afterMs: nodeGraceMs - Math.max(...goneMs) };
  }

  async #bind(key: string, wanted: string[]): Promise<void> {
    const { namespaces, counters, log } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    if (!namespaces.includes(namespace)) return;
    const configMap = this.#inNamespace(this.#view.configMaps, key);
    const binding = this.#bindingOf(key);
    const place = { namespace, name: grantName(name) };
    if (configMap === undefined || wanted.length === 0) {
      if (binding === undefined || (binding.subjects ?? []).length === 0) return;
      await this.#writer.update(roleBindings, place, { ...binding, subjects: [] });
      return log.info('grant taken back', { configMap: key });
    }
    const identity = { namespace, name, uid: configMap.metadata.uid ?? '' };
    const present = this.#inNamespace(this.#view.roles, `${namespace}/${place.name}`);
    await this.#writer.make(roles, place, { present, wanted: grantRole(identity), fields: ['rules'] });
    const next = grantBinding(identity, wanted);
    if (await this.#writer.make(roleBindings, place, { present: binding, wanted: next, fields: ['subjects'] })) {
      counters.grantsWritten++;
      log.info('granted', { configMap: key, nodes: wanted.length });
    }
  }

  #bindingOf(key: string) {
    const [namespace = '', name = ''] = key.split('/');
    return this.#inNamespace(this.#view.bindings, `${namespace}/${grantName(name)}`);
  }

  #inNamespace<T>(informers: Map<string, { get(key: string): T | undefined }>, key: string): T | undefined {
    return informers.get(key.split('/')[0]!)?.get(key);
  }

  // ── guards ──

  async #guard(): Promise<ReconcileResult> {
    const { guards: choice, counters, log, clock, settleMs = 5000 } = this.#options;
    const { policies, policyBindings } = this.#view;
    const state = decideGuards(choice, {
      served: policies.isServed && policyBindings.isServed,
      policy: (name) => policies.get(name),
      binding: (name) => policyBindings.get(name),
    });
    if (state.inForce !== 'policies') this.#wholeSinceMs = undefined;
    else this.#wholeSinceMs ??= clock.monotonic();
    const unsettledMs = settleMs - (clock.monotonic() - (this.#wholeSinceMs ?? Number.NEGATIVE_INFINITY));
    if (unsettledMs > 0) return { kind: 'requeue', afterMs: unsettledMs };
    // First nobody may do more than is guarded, then who may do it is told.
    await this.#letAllNodesWrite(state.inForce === 'policies');
    await this.#guardsChecked();
    // Besides, what only we may have made and somebody took away is made again.
    const again: ReconcileResult = { kind: 'requeue', afterMs: guardsCheckedEveryMs };
    if (isDeepStrictEqual(state, this.#guards)) return again;
    log[state.problems.length === 0 ? 'info' : 'error']('guards', { ...state });
    this.#guards = state;
    counters.guards = state.inForce;
    for (const { metadata } of this.#view.nodes.values()) this.#add(`node/${metadata.name}`);
    return again;
  }

  /** Not with a view that may be old: then nothing was checked. */
  async #guardsChecked(): Promise<void> {
    const { client, clock, log } = this.#options;
    const { policies, policyBindings } = this.#view;
    const sinceMs = clock.monotonic() - this.#checkedMs;
    if (!policies.isCurrent || !policyBindings.isCurrent || sinceMs < guardsCheckedEveryMs / 2) return;
    try {
      await renewGuardsLease(client, this.#signal);
      this.#checkedMs = clock.monotonic();
    } catch (error) {
      log.warn('cannot renew the Lease of the guards', { error });
    }
  }

  async #letAllNodesWrite(may: boolean): Promise<void> {
    const { client } = this.#options;
    if (may) return void (await this.#writer.create(clusterRoleBindings, undefined, nodeStatusBinding()));
    try {
      await client.delete(clusterRoleBindings, { name: nodeStatusRole }, { signal: this.#signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
