/** The Node, its Lease and its pods, as the API server shows them. Reads only. */
import type { KubeObject } from '../../api/object.js';
import { isForbidden, isNotFound } from '../../api/status.js';
import type { KubeClient } from '../../kube/client.js';
import { leases, nodes, pods } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import type { NodeView } from '../trial/health.js';

/** A Node that sync has just read is the baseline of the change that sync found. */
const sharedMs = 10_000;

export class ApiNodeView implements NodeView {
  readonly #client: KubeClient;
  readonly #nodeName: string;
  #last: { node: KubeObject; atMs: number } | undefined;

  constructor(client: KubeClient, nodeName: string) {
    this.#client = client;
    this.#nodeName = nodeName;
  }

  /** The Node as somebody else has just read it. */
  saw(node: KubeObject): void {
    this.#last = { node, atMs: this.#client.clock.monotonic() };
  }

  async recentNode(signal: AbortSignal): Promise<KubeObject | undefined> {
    const { clock } = this.#client;
    return this.#last && clock.monotonic() - this.#last.atMs < sharedMs ? this.#last.node : this.node(signal);
  }

  async node(signal: AbortSignal): Promise<KubeObject | undefined> {
    return unlessAbsent(this.#client.get(nodes, { name: this.#nodeName }, { signal }));
  }

  async lease(signal: AbortSignal): Promise<KubeObject | undefined> {
    return unlessAbsent(this.#client.get(leases, { namespace: 'kube-node-lease', name: this.#nodeName }, { signal }));
  }

  async pods(signal: AbortSignal): Promise<KubeObject[]> {
    const fieldSelector = `spec.nodeName=${this.#nodeName}`;
    // From the cache of the API server, as kubelets list their pods: without it, servers before 1.31 read all pods from etcd.
    return (await this.#client.list(pods, { fieldSelector, resourceVersion: '0', signal })).items;
  }

  /** Until the signal fires. `onNode` with undefined: it is not known at present. */
  async watchNode(onNode: (node: KubeObject | undefined) => void, signal: AbortSignal): Promise<void> {
    await watchLoop(this.#client, {
      type: nodes,
      name: this.#nodeName,
      startsWithWatch: true,
      signal,
      onList: ([node]) => onNode(node),
      onChange: (type, node) => onNode(type === 'DELETED' ? undefined : node),
      onFailure: () => onNode(undefined),
    });
  }
}

/** Absent and forbidden are answers too: the API server is there. */
async function unlessAbsent(request: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}
