/** Reconciles one node: its NodeConfig, its own role where roles are the guards, and the conditions Granted and Guarded. */
import { isDeepStrictEqual } from 'node:util';
import type { NodeConfigSource } from '../api/config-ref.js';
import {
  type NodeConfig,
  type NodeConfigCondition,
  nodeConfigs,
  unsetAnnotations,
  withConditions,
} from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { rfc3339 } from '../clock.js';
import { createIfAbsent, type KubeClient } from '../kube/client.js';
import { clusterRoleBindings, clusterRoles } from '../kube/resource-type.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import { type GrantFacts, grantedCondition } from './grant-plan.js';
import { type GuardState, guardedCondition } from './guard-plan.js';
import { nodeRoleName, nodeRoleObjects } from './guard-roles.js';
import type { ControllerCounters } from './metrics.js';

export interface NodeConfigReconcilerOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'nodes' | 'nodeConfigs' | 'nodeRoles' | 'nodeRoleBindings'>;
  facts: GrantFacts;
  /** Undefined until they were checked for the first time. */
  guards(): GuardState | undefined;
  counters: Pick<ControllerCounters, 'nodeConfigsCreated'>;
  log: Log;
  signal: AbortSignal;
}

/** A grant is written within a second: that it is about to be is reported only where it takes longer. */
const pendingPatienceMs = 5000;

export class NodeConfigReconciler {
  readonly #options: NodeConfigReconcilerOptions;
  /** By node: since when a grant is about to be written. */
  readonly #pendingSinceMs = new Map<string, number>();

  constructor(options: NodeConfigReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { client, view, facts, guards } = this.#options;
    const node = view.nodes.get(name);
    const object = view.nodeConfigs.get(name);
    if (guards()?.inForce === 'roles' && node && object) await this.#ensureRole(node);
    const pendingMs = this.#pendingMs(name, object);
    const plan = planNode({ node, object, facts, guards: guards(), now: rfc3339(client.clock.now()), pendingMs });
    switch (plan.kind) {
      case 'create':
        await this.#create(plan.object);
        break;
      case 'update-status':
        await this.#writeConditions(plan.object);
        break;
      case 'none':
        break;
    }
    return pendingMs === 0 ? { kind: 'requeue', afterMs: pendingPatienceMs } : { kind: 'done' };
  }

  /** Undefined while nothing is about to be granted. */
  #pendingMs(name: string, object: NodeConfig | undefined): number | undefined {
    const { client, facts } = this.#options;
    if (object === undefined || grantedCondition(object, facts).reason !== 'Pending') {
      this.#pendingSinceMs.delete(name);
      return undefined;
    }
    const sinceMs = this.#pendingSinceMs.get(name) ?? client.clock.monotonic();
    this.#pendingSinceMs.set(name, sinceMs);
    return client.clock.monotonic() - sinceMs;
  }

  /** Nothing else: the cache does not have the whole status. With the resourceVersion, since a list is replaced as a whole. */
  async #writeConditions({ metadata: { name, resourceVersion }, status }: NodeConfig): Promise<void> {
    const { client, signal } = this.#options;
    const patch = { metadata: { resourceVersion }, status: { conditions: status?.conditions } };
    await client.patch(nodeConfigs, { name, subresource: 'status' }, patch, { as: 'merge', signal });
  }

  async #create(object: NodeConfig): Promise<void> {
    const { client, counters, log, signal } = this.#options;
    // False when it exists and the watch has not brought it yet.
    if (!(await createIfAbsent(client, nodeConfigs, {}, object, { signal }))) return;
    counters.nodeConfigsCreated++;
    log.info('NodeConfig created', { node: object.metadata.name });
  }

  async #ensureRole({ metadata }: KubeObject): Promise<void> {
    const { client, view, signal } = this.#options;
    const [role, binding] = nodeRoleObjects(metadata);
    const name = nodeRoleName(metadata.name);
    if (view.nodeRoles.get(name) === undefined) await createIfAbsent(client, clusterRoles, {}, role, { signal });
    if (view.nodeRoleBindings.get(name) === undefined)
      await createIfAbsent(client, clusterRoleBindings, {}, binding, { signal });
  }
}

export interface ObservedNode {
  node: KubeObject | undefined;
  object: NodeConfig | undefined;
  facts: GrantFacts;
  guards: GuardState | undefined;
  /** As the API writes times. */
  now: string;
  /** How long a grant has been about to be written. */
  pendingMs?: number | undefined;
}

export type NodePlan =
  | { kind: 'none' }
  | { kind: 'create'; object: NodeConfig }
  | { kind: 'update-status'; object: NodeConfig };

/**
 * The step to take for one node. Pure. A NodeConfig is never deleted: one that the controller created is owned by its Node
 * and garbage-collected with it, any other stays.
 */
export function planNode({ node, object, facts, guards, now, pendingMs = pendingPatienceMs }: ObservedNode): NodePlan {
  if (object === undefined)
    return node === undefined ? { kind: 'none' } : { kind: 'create', object: nodeConfigFor(node) };
  const present: NodeConfigCondition[] | undefined = object.status?.conditions;
  const granted = pendingMs < pendingPatienceMs ? [] : [grantedCondition(object, facts)];
  const wanted = [...granted, ...(guards === undefined ? [] : [guardedCondition(guards)])];
  const conditions = withConditions(present, wanted, now);
  if (isDeepStrictEqual(conditions, present)) return { kind: 'none' };
  return { kind: 'update-status', object: { ...object, status: { ...object.status, conditions } } };
}

/**
 * The NodeConfig of a Node that has none. The Node's own configSource, on a server that keeps it, is carried over, so that
 * nodes can change to NodeConfigs. Otherwise it is unset: neither a config nor local.
 */
export function nodeConfigFor(node: KubeObject): NodeConfig {
  const { name, uid = '' } = node.metadata;
  const configSource = carriedOver((node.spec as { configSource?: NodeConfigSource } | undefined)?.configSource);
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: {
      name,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
      ...(configSource === undefined && { annotations: unsetAnnotations('true') }),
    },
    spec: configSource === undefined ? {} : { configSource },
  };
}

function carriedOver({ configMap, configMapRef }: NodeConfigSource = {}): NodeConfigSource | undefined {
  const { namespace, name } = configMap ?? configMapRef ?? {};
  if (!namespace || !name) return undefined;
  return { configMap: { namespace, name, kubeletConfigKey: configMap?.kubeletConfigKey ?? 'kubelet' } };
}
