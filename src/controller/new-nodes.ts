/**
 * Reconciles a node that registered with the taint relet.dev/config-pending: the taint is removed once the node runs what its
 * NodeConfig assigns, whether a set or a person did. Until then pods that do not tolerate it are not scheduled there.
 */
import { okReasons } from '../api/condition-reasons.js';
import { isUnset, type NodeConfig } from '../api/node-config.js';
import { pendingTaint } from '../api/node-config-set.js';
import type { KubeObject } from '../api/object.js';
import { isForbidden, isNotFound } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { nodes } from '../kube/resource-type.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import type { ControllerCounters } from './metrics.js';

interface Taint {
  key: string;
}

export interface NewNodeReconcilerOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'nodes' | 'nodeConfigs'>;
  counters: Pick<ControllerCounters, 'nodesConfigPending'>;
  log: Log;
  signal: AbortSignal;
}

/** The right to patch Nodes is a role of its own, which an administrator may add at any time. */
const forbiddenMs = 60_000;

export class NewNodeReconciler {
  readonly #options: NewNodeReconcilerOptions;
  /** Why each node that has the taint keeps it, as last logged. */
  readonly #held = new Map<string, string>();

  constructor(options: NewNodeReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { view } = this.#options;
    const plan = planNewNode(view.nodes.get(name), view.nodeConfigs.get(name));
    switch (plan.kind) {
      case 'none':
        this.#note(name, undefined);
        return { kind: 'done' };
      case 'hold':
        this.#note(name, plan.reason);
        return { kind: 'done' };
      case 'remove':
        return this.#remove(name);
    }
  }

  async #remove(name: string): Promise<ReconcileResult> {
    const { client, log, signal } = this.#options;
    try {
      // The list of taints is replaced as a whole, so it is read now, and not written over a change of somebody else.
      const node = await client.get<KubeObject>(nodes, { name }, { signal });
      const taints = withoutTaint(node);
      const { resourceVersion } = node.metadata;
      const patch = { metadata: { resourceVersion }, spec: { taints: taints.length === 0 ? null : taints } };
      if (hasTaint(node)) await client.patch(nodes, { name }, patch, { as: 'merge', signal });
      this.#note(name, undefined);
      log.info('taint removed', { node: name, taint: pendingTaint });
      return { kind: 'done' };
    } catch (error) {
      if (isNotFound(error)) return { kind: 'done' };
      if (!isForbidden(error)) throw error;
      this.#note(name, 'the controller may not patch Nodes, see docs/new-nodes.md', error);
      return { kind: 'requeue', afterMs: forbiddenMs };
    }
  }

  #note(node: string, reason: string | undefined, error?: unknown): void {
    const { counters, log } = this.#options;
    const before = this.#held.get(node);
    if (reason === undefined) this.#held.delete(node);
    else this.#held.set(node, reason);
    counters.nodesConfigPending = this.#held.size;
    if (reason === undefined || reason === before) return;
    log[error === undefined ? 'info' : 'error']('node keeps its taint', { node, taint: pendingTaint, reason, error });
  }
}

const taintsOf = (node: KubeObject): Taint[] => (node.spec as { taints?: Taint[] } | undefined)?.taints ?? [];
export const hasTaint = (node: KubeObject): boolean => taintsOf(node).some(({ key }) => key === pendingTaint);
const withoutTaint = (node: KubeObject): Taint[] => taintsOf(node).filter(({ key }) => key !== pendingTaint);

export type NewNodePlan = { kind: 'none' } | { kind: 'remove' } | { kind: 'hold'; reason: string };

/**
 * Pure. A node to which nothing was assigned keeps the taint: the set that is to have it may not have got to it yet. A node that
 * rejected its config, or rolled it back, keeps it too.
 */
export function planNewNode(node: KubeObject | undefined, object: NodeConfig | undefined): NewNodePlan {
  if (node === undefined || !hasTaint(node)) return { kind: 'none' };
  if (object === undefined || isUnset(object)) return { kind: 'hold', reason: 'nothing is assigned to it' };
  const { metadata, status } = object;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 1))
    return { kind: 'hold', reason: 'its agent has not reported about the assignment' };
  const condition = status?.conditions?.find(({ type }) => type === 'ConfigOK');
  if (condition?.status === 'True' && runs.includes(condition.reason)) return { kind: 'remove' };
  return {
    kind: 'hold',
    reason: `it does not run what it is assigned (${condition?.reason ?? 'no condition ConfigOK'})`,
  };
}

const runs: readonly string[] = [okReasons.active.reason, okReasons.local.reason, okReasons.detached.reason];
