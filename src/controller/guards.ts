/**
 * Reconciles the guards: checks which are in force, lets all nodes write status only while the admission policies are
 * complete, and renews the Lease that shows when this was last checked.
 */
import { isDeepStrictEqual } from 'node:util';
import { configNamespace, guardsLease } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { isNotFound } from '../api/status.js';
import { rfc3339Micro } from '../clock.js';
import { createIfAbsent, type KubeClient } from '../kube/client.js';
import { clusterRoleBindings, leases } from '../kube/resource-type.js';
import type { ReconcileResult } from '../kube/work-queue.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import { decideGuards, type GuardChoice, type GuardState } from './guard-plan.js';
import { nodeStatusBinding, nodeStatusRole } from './guard-roles.js';
import type { ControllerCounters } from './metrics.js';

export interface GuardReconcilerOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'policies' | 'policyBindings'>;
  choice: GuardChoice;
  /** How long an API server may take to enforce new policies; they are not relied on before. Default 5 s. */
  settleMs?: number;
  /** Other guards are in force. */
  onChange(): void;
  counters: Pick<ControllerCounters, 'guards' | 'guardProblems'>;
  log: Log;
  signal: AbortSignal;
}

const resyncMs = 60_000;
/** Two resyncs may fail before it expires. */
const leaseSeconds = (3 * resyncMs) / 1000;

export class GuardReconciler {
  readonly #options: GuardReconcilerOptions;
  /** Since when all policies are as they should be. */
  #completeSinceMs: number | undefined;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #state: GuardState | undefined;

  constructor(options: GuardReconcilerOptions) {
    this.#options = options;
  }

  /** Undefined before the first check. */
  get state(): GuardState | undefined {
    return this.#state;
  }

  async reconcile(): Promise<ReconcileResult> {
    const { view, choice } = this.#options;
    const state = decideGuards(choice, {
      served: view.policies.isServed && view.policyBindings.isServed,
      policy: (name) => view.policies.get(name),
      binding: (name) => view.policyBindings.get(name),
    });
    const unsettledMs = this.#unsettledMs(state);
    if (unsettledMs > 0) return { kind: 'requeue', afterMs: unsettledMs };
    // Permissions first, the report after: nodes never may do more than is guarded.
    await this.#bindAllNodes(state.inForce === 'policies');
    await this.#renewLease();
    this.#publish(state);
    // The resync also restores the binding when somebody deleted it.
    return { kind: 'requeue', afterMs: resyncMs };
  }

  #unsettledMs({ inForce }: GuardState): number {
    const { client, settleMs = 5000 } = this.#options;
    const nowMs = client.clock.monotonic();
    this.#completeSinceMs = inForce === 'policies' ? (this.#completeSinceMs ?? nowMs) : undefined;
    return this.#completeSinceMs === undefined ? 0 : settleMs - (nowMs - this.#completeSinceMs);
  }

  async #bindAllNodes(mayWrite: boolean): Promise<void> {
    const { client, signal } = this.#options;
    if (mayWrite) return void (await createIfAbsent(client, clusterRoleBindings, {}, nodeStatusBinding(), { signal }));
    try {
      await client.delete(clusterRoleBindings, { name: nodeStatusRole }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Not while the caches may be stale: then nothing was checked. */
  async #renewLease(): Promise<void> {
    const { client, view, log, signal } = this.#options;
    const sinceMs = client.clock.monotonic() - this.#renewedMs;
    if (!view.policies.isCurrent || !view.policyBindings.isCurrent || sinceMs < resyncMs / 2) return;
    try {
      await renewLease(client, signal);
      this.#renewedMs = client.clock.monotonic();
    } catch (error) {
      log.warn('cannot renew the Lease of the guards', { error });
    }
  }

  #publish(state: GuardState): void {
    const { counters, log, onChange } = this.#options;
    if (isDeepStrictEqual(state, this.#state)) return;
    log[state.problems.length === 0 ? 'info' : 'error']('guards', { ...state });
    this.#state = state;
    counters.guards = state.inForce;
    counters.guardProblems = state.problems.length;
    onChange();
  }
}

async function renewLease(client: KubeClient, signal: AbortSignal): Promise<void> {
  const place = { namespace: configNamespace, name: guardsLease };
  const renewTime = rfc3339Micro(client.clock.now());
  const spec = { holderIdentity: 'relet-controller', leaseDurationSeconds: leaseSeconds, renewTime };
  const present = await client.get<KubeObject>(leases, place, { signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (present !== undefined) return void (await client.update(leases, place, { ...present, spec }, { signal }));
  const metadata = { ...place, labels: { 'app.kubernetes.io/managed-by': 'relet' } };
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  await createIfAbsent(client, leases, { namespace: configNamespace }, lease, { signal });
}
