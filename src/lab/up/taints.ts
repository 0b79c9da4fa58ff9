/**
 * Does what a cluster's node controller does about taints: an API server makes every Node with one that keeps pods away until
 * it is Ready, and takes it away no more than it brings it back.
 */
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import type { KubeClient } from '../../kube/client.js';
import { createInformer } from '../../kube/informer.js';
import { nodes } from '../../kube/resource-type.js';
import { WorkQueue } from '../../kube/work-queue.js';

interface Taint {
  key: string;
  effect: string;
  value?: string;
}

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** Works until the signal fires. */
export function keepTaints(client: KubeClient, clock: Clock, signal: AbortSignal): void {
  const backoff = { initialMs: 50, maxMs: 5000 };
  const queue = new WorkQueue({
    clock,
    random: client.random,
    signal,
    backoff,
    async reconcile(name) {
      const node = informer.get(name);
      const wanted = node && taintsFor(node);
      if (node === undefined || wanted === undefined) return { kind: 'done' };
      const patch = [
        { op: 'test', path: '/metadata/resourceVersion', value: node.metadata.resourceVersion },
        { op: 'add', path: '/spec/taints', value: wanted },
      ];
      await client.patch(nodes, { name }, patch, { as: 'json', signal });
      return { kind: 'done' };
    },
  });
  const onFailure = () => {};
  const informer = createInformer(client, {
    type: nodes,
    signal,
    backoff,
    onFailure,
    onKey: (name) => queue.add(name),
  });
}

/** Undefined when they are as they should be. Exported for its test. */
export function taintsFor({ spec, status }: KubeObject): Taint[] | undefined {
  const { taints = [] } = (spec ?? {}) as { taints?: Taint[] };
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  const isReady = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  const others = taints.filter(({ key, effect }) => key !== notReady.key || effect !== notReady.effect);
  if (isReady) return others.length < taints.length ? others : undefined;
  return others.length === taints.length ? [...taints, notReady] : undefined;
}
