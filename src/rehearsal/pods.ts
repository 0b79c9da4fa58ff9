/**
 * The pods of a rehearsal: evicted pods end after a while, and their controllers create them again on another node, where they are
 * Ready some seconds later. There is no real scheduling: drains only need somewhere for pods to go.
 */
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import type { KubeClient } from '../kube/client.js';
import { namespaces, nodes, podDisruptionBudgets, pods } from '../kube/resource-type.js';
import type { ClusterNode } from '../rollout/cluster-node.js';
import type { DrainPod } from '../rollout/drain/pods.js';
import type { SimulatedCluster } from './simulation/cluster.js';
import type { SeededRandom } from './simulation/seeded-random.js';

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** The fields of a Pod that drains read. */
export function copyOfPod({ metadata, spec, status }: DrainPod): DrainPod {
  const { name, namespace = 'default', labels, annotations, ownerReferences } = metadata;
  const mirror = annotations?.[mirrorAnnotation];
  const grace = (spec as { terminationGracePeriodSeconds?: number } | undefined)?.terminationGracePeriodSeconds;
  const conditions = status?.conditions?.filter(({ type }) => type === 'Ready');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels && { labels }),
      ...(mirror !== undefined && { annotations: { [mirrorAnnotation]: mirror } }),
      // The owner of a static pod is its Node, which is another one here.
      ...(ownerReferences && mirror === undefined && { ownerReferences }),
    },
    spec: {
      ...(spec?.nodeName && { nodeName: spec.nodeName }),
      containers: [{ name: 'main', image: 'copy' }],
      ...(grace !== undefined && { terminationGracePeriodSeconds: grace }),
    } as NonNullable<DrainPod['spec']>,
    status: { phase: status?.phase ?? 'Running', ...(conditions && { conditions }) },
  };
}

/** With the namespaces that they need. The status of a budget is left out: what may be evicted changes all the time. */
export async function createPods(client: KubeClient, copies: readonly KubeObject[]): Promise<void> {
  const needed = new Set(copies.map(({ metadata }) => metadata.namespace ?? 'default'));
  const present = new Set((await client.list(namespaces)).items.map(({ metadata }) => metadata.name));
  for (const name of needed)
    if (!present.has(name))
      await client.create(namespaces, {}, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const object of copies) {
    const place = { namespace: object.metadata.namespace ?? 'default' };
    if (object.kind !== 'Pod') await client.create(podDisruptionBudgets, place, object);
    else await createPod(client, object as DrainPod);
  }
}

async function createPod(client: KubeClient, pod: DrainPod): Promise<void> {
  const { name, namespace = 'default' } = pod.metadata;
  await client.create(pods, { namespace }, pod);
  await client.patch(pods, { namespace, name, subresource: 'status' }, { status: pod.status }, { as: 'merge' });
}

export class PodMover {
  readonly #cluster: SimulatedCluster;
  readonly #random: SeededRandom;
  readonly #ending = new Set<string>();
  /** Pods that were evicted and have ended. */
  moved = 0;

  constructor(cluster: SimulatedCluster, random: SeededRandom) {
    this.#cluster = cluster;
    this.#random = random;
    cluster.server.store.subscribe({ group: '', resource: 'pods' }, ({ type, bytes }) => {
      if (type === 'deleted') return;
      const pod: DrainPod = JSON.parse(bytes.toString('utf8'));
      const { uid = '', deletionTimestamp } = pod.metadata;
      if (deletionTimestamp === undefined || this.#ending.has(uid)) return;
      this.#ending.add(uid);
      void this.#end(pod);
    });
  }

  async #end(pod: DrainPod): Promise<void> {
    const { clock, client } = this.#cluster;
    const { name, namespace = 'default', deletionGracePeriodSeconds = 30 } = pod.metadata;
    await clock.sleep(1000 + this.#random.below(1000 * Math.min(30, deletionGracePeriodSeconds) + 1));
    try {
      await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 });
      this.moved++;
      await this.#replace(pod);
    } catch (error) {
      // Gone already.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** A pod without a controller is not created again. */
  async #replace({ metadata, spec }: DrainPod): Promise<void> {
    const { clock, client } = this.#cluster;
    const nodeName = await this.#nodeFor();
    if (nodeName === undefined || !metadata.ownerReferences?.some(({ controller }) => controller)) return;
    const { labels, namespace = 'default', ownerReferences } = metadata;
    const name = `${metadata.name.slice(0, 200)}-${this.moved}`;
    const again = copyOfPod({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, ...(labels && { labels }), ownerReferences },
      spec: { ...spec, nodeName },
      status: { phase: 'Pending' },
    });
    await createPod(client, again);
    await clock.sleep(5000 + this.#random.below(15_000));
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await client.patch(pods, { namespace, name, subresource: 'status' }, { status }, { as: 'merge' });
  }

  /** Returns a node that takes pods; undefined if none does: the pod is not created again. */
  async #nodeFor(): Promise<string | undefined> {
    const { items } = await this.#cluster.client.list<ClusterNode>(nodes);
    const open = items.filter(
      ({ spec, status }) =>
        !spec?.unschedulable && status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'),
    );
    const preferred = open.filter(({ spec }) => (spec?.taints ?? []).length === 0);
    const [some] = [preferred, open].filter((list) => list.length > 0);
    return some && this.#random.pick(some).metadata.name;
  }
}
