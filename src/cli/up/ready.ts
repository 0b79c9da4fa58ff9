/** Tells when nodes become Ready: by the Node's condition, and a Lease renewed since we began, for an old Node says Ready too. */
import type { KubeObject } from '../../api/object.js';
import type { KubeClient } from '../../kube/client.js';
import { createMirror, keyOf } from '../../kube/mirror.js';
import { leases, nodes } from '../../kube/resource-type.js';

export interface Readiness {
  /** Resolves when the node is Ready. */
  ready(name: string): Promise<void>;
}

const leaseNamespace = 'kube-node-lease';

/** `since` is wall-clock time; nodes and this process share one clock. */
export function followReadiness(client: KubeClient, since: number, signal: AbortSignal): Readiness {
  const waiting = new Map<string, () => void>();
  const isReady = (name: string) => says(nodeMirror.get(name)) && renewedAt(leaseMirror.get(name)) >= since;
  const look = (name: string) => {
    const resolve = waiting.get(name);
    if (resolve === undefined || !isReady(name)) return;
    waiting.delete(name);
    resolve();
  };
  // The lists come later than these lines: a look never finds only one of the two.
  const common = { signal, onFailure: () => {}, backoff: { initialMs: 50, maxMs: 1000 } };
  const nodeMirror = createMirror<KubeObject>(client, { ...common, type: nodes, onKey: look });
  const onLease = (key: string) => look(key.slice(leaseNamespace.length + 1));
  const leaseObjects = createMirror<KubeObject>(client, {
    ...common,
    type: leases,
    namespace: leaseNamespace,
    onKey: onLease,
  });
  const leaseMirror = { get: (name: string) => leaseObjects.get(keyOf(leaseNamed(name))) };
  return {
    ready: (name) =>
      new Promise((resolve) => {
        waiting.set(name, resolve);
        look(name);
      }),
  };
}

const leaseNamed = (name: string): KubeObject => ({ metadata: { name, namespace: leaseNamespace } }) as KubeObject;

function says(node: KubeObject | undefined): boolean {
  const { conditions = [] } = (node?.status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

function renewedAt(lease: KubeObject | undefined): number {
  return Date.parse((lease?.spec as { renewTime?: string } | undefined)?.renewTime ?? '') || 0;
}
