/** Reconciles one node: its NodeConfig, its own role where roles are the guards, and the conditions Granted, Guarded and AgentMissing. */
import { isDeepStrictEqual } from 'node:util';
import { agentReasons } from '../api/condition-reasons.js';
import type { NodeConfigSource } from '../api/config-ref.js';
import {
  agentMissingCondition,
  type NodeConfig,
  type NodeConfigCondition,
  nodeConfigs,
  unsetAnnotations,
  withConditions,
} from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { isConflict, isNotFound } from '../api/status.js';
import { rfc3339 } from '../clock.js';
import { type AgentPresence, agentPresence, agentSigns, leaseEndMs } from '../fleet/agent-presence.js';
import { historyTexts } from '../fleet/config-history.js';
import { createIfAbsent, type KubeClient } from '../kube/client.js';
import { clusterRoleBindings, clusterRoles } from '../kube/resource-type.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import { type GrantFacts, grantedCondition } from './grant-plan.js';
import { type GuardState, guardedCondition } from './guard-plan.js';
import { nodeRoleName, nodeRoleObjects } from './guard-roles.js';
import type { ControllerCounters } from './metrics.js';
import { failurePatch, markEvents } from './node-results.js';
import { recordEvent } from './record-event.js';

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
  /** By node: its lease, and when this process first saw that renewal. So the clocks of hosts do not matter. */
  readonly #leases = new Map<string, { renewTime: string; seenMs: number }>();

  /** The history of each node when it was last seen. */
  readonly #histories = new Map<string, string | undefined>();

  constructor(options: NodeConfigReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { client, view, facts, guards } = this.#options;
    const node = view.nodes.get(name);
    const object = view.nodeConfigs.get(name);
    if (guards()?.inForce === 'roles' && node && object) await this.#ensureRole(node);
    if (object === undefined) this.#histories.delete(name);
    else await this.#recordHistory(node, object);
    const pendingMs = this.#pendingMs(name, object);
    const { presence, afterMs } = this.#presence(name, object);
    const now = rfc3339(client.clock.now());
    const plan = planNode({ node, object, facts, guards: guards(), now, pendingMs, presence });
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
    if (pendingMs === 0) return { kind: 'requeue', afterMs: pendingPatienceMs };
    return afterMs === undefined ? { kind: 'done' } : { kind: 'requeue', afterMs };
  }

  /** With the time after which it may change without an event. After an outage of the API server, leases count from its end. */
  #presence(name: string, object: NodeConfig | undefined): { presence?: AgentPresence; afterMs?: number } {
    const { client } = this.#options;
    const signs = object && agentSigns(object);
    const { lease } = signs ?? {};
    if (signs === undefined || lease === undefined) this.#leases.delete(name);
    if (signs === undefined) return {};
    const nowMs = client.clock.monotonic();
    if (lease === undefined) return { presence: agentPresence(signs, nowMs) };
    const before = this.#leases.get(name);
    const seenMs = before?.renewTime === lease.renewTime ? before.seenMs : nowMs;
    this.#leases.set(name, { renewTime: lease.renewTime, seenMs });
    const heardMs = Math.max(seenMs, client.answersSinceMs());
    const presence = agentPresence(signs, nowMs, heardMs);
    if (presence.kind === 'Silent') return { presence };
    return { presence, afterMs: Math.max(0, leaseEndMs(lease, heardMs) - nowMs) + 1000 };
  }

  /** A failure in the history when it happens, and an Event of the Node for each hold, release and adoption that was seen to be new. */
  async #recordHistory(node: KubeObject | undefined, object: NodeConfig): Promise<void> {
    const { client, signal, log, guards } = this.#options;
    const { name } = object.metadata;
    const patch = failurePatch(object);
    if (patch !== undefined) {
      const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
      await client.patch(nodeConfigs, { name }, patch, options).catch(ignoringChanges);
    }
    const { history } = historyTexts(object);
    const isKnown = this.#histories.has(name);
    const before = this.#histories.get(name);
    if (isKnown && before === history) return;
    this.#histories.set(name, history);
    if (!isKnown || node === undefined) return;
    const { uid } = node.metadata;
    const about = { apiVersion: 'v1', kind: 'Node', name, ...(uid && { uid }) };
    const areNamesChecked = guards()?.inForce === 'policies';
    for (const { reason, message } of markEvents(before, object, { areNamesChecked }))
      await recordEvent({ client, signal, log }, about, { type: 'Normal', reason, message });
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

/** Changed or gone since it was read: the watch brings it, and with it the next pass. */
function ignoringChanges(error: unknown): void {
  if (!isConflict(error) && !isNotFound(error)) throw error;
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
  /** Presence of its agent; undefined if it is not needed. */
  presence?: AgentPresence | undefined;
}

export type NodePlan =
  | { kind: 'none' }
  | { kind: 'create'; object: NodeConfig }
  | { kind: 'update-status'; object: NodeConfig };

/**
 * The step to take for one node. Pure. A NodeConfig is never deleted: one that the controller created is owned by its Node
 * and garbage-collected with it, any other stays.
 */
export function planNode(observed: ObservedNode): NodePlan {
  const { node, object, facts, guards, now, pendingMs = pendingPatienceMs, presence } = observed;
  if (object === undefined)
    return node === undefined ? { kind: 'none' } : { kind: 'create', object: nodeConfigFor(node) };
  const present: NodeConfigCondition[] | undefined = object.status?.conditions;
  const { generation: observedGeneration } = object.metadata;
  const about = observedGeneration === undefined ? {} : { observedGeneration };
  const granted = pendingMs < pendingPatienceMs ? [] : [{ ...grantedCondition(object, facts), ...about }];
  const missing = presence === undefined ? [] : missingConditions(presence, present);
  const wanted = [...granted, ...(guards === undefined ? [] : [guardedCondition(guards)]), ...missing];
  const conditions = withConditions(present, wanted, now);
  if (isDeepStrictEqual(conditions, present)) return { kind: 'none' };
  return { kind: 'update-status', object: { ...object, status: { ...object.status, conditions } } };
}

/** An agent of this relet removes it with its next report; for one of an earlier relet the controller does. */
function missingConditions({ kind }: AgentPresence, present: readonly NodeConfigCondition[] = []) {
  const type = agentMissingCondition;
  if (kind === 'NoAgent') return [{ type, status: 'True' as const, ...agentReasons.noAgent }];
  if (kind === 'Silent') return [{ type, status: 'True' as const, ...agentReasons.silent }];
  const isMissed = present.some((one) => one.type === type && one.status === 'True');
  return isMissed ? [{ type, status: 'False' as const, ...agentReasons.present }] : [];
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
