/**
 * Nodes that have nothing to do are not run. Before the rollout, nodes of one kind are alike: one of them runs, and the others get its
 * disk, its kubelet and its status. The agent of such a node is started when its NodeConfig is written, and ends a while after the trial.
 */
import { type NodeConfig, nodeConfigs } from '../../api/node-config.js';
import type { SimulatedCluster } from '../simulation/cluster.js';
import type { Fleet } from './fleet.js';

/** By name of a node, the one of its kind that runs; itself, where it runs. */
export type Kinds = ReadonlyMap<string, string>;

/** Two nodes are of one kind where their agents do the same before the rollout. */
export function kindsOf({ nodes, nodeConfigs: present, failing }: Fleet): Kinds {
  const assigned = new Map(present.map(({ metadata, spec }) => [metadata.name, [metadata.annotations, spec]]));
  const first = new Map<string, string>();
  return new Map(
    nodes.map(({ name, local, kubeletVersion, host }) => {
      const key = failing.has(name) ? name : JSON.stringify([local, kubeletVersion, host, assigned.get(name)]);
      if (!first.has(key)) first.set(key, name);
      return [name, first.get(key)!];
    }),
  );
}

/** After the trial, the agent still sends its last status and events. */
const restAfterMs = 30_000;

export class NodesAtRest {
  readonly #cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster;
  }

  /** The nodes that run have settled: the others of their kinds are made like them. */
  async copy(kinds: Kinds): Promise<void> {
    const { client, nodes } = this.#cluster;
    const statusOf = new Map<string, NodeConfig['status']>();
    for (const [name, like] of kinds) {
      const [node, model] = [nodes.get(name), nodes.get(like)];
      if (node === undefined || model === undefined || name === like) continue;
      if (!statusOf.has(like))
        statusOf.set(like, (await client.get<NodeConfig>(nodeConfigs, { name: like })).status ?? {});
      node.becomeLike(model);
      const place = { name, subresource: 'status' };
      await client.patch(nodeConfigs, place, { status: statusOf.get(like) }, { as: 'merge' });
    }
  }

  /** Its NodeConfig was written. */
  wake(name: string): void {
    const node = this.#cluster.nodes.get(name);
    if (node?.isResting) node.boot();
  }

  /** Its trial is over. */
  layDown(name: string): void {
    const { clock, nodes } = this.#cluster;
    const node = nodes.get(name);
    const agent = node?.agent;
    void clock.sleep(restAfterMs).then(() => {
      if (node?.agent === agent) node?.rest();
    });
  }
}
