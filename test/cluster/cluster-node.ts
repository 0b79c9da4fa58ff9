/** One node of a cluster of the suite: an agent in this process with the node's own token, and its NodeConfig as others see it. */

import type { NodeConnection } from '../../src/agent/sync/connect.js';
import { configLabel, type NodeConfig, nodeConfigs } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import type { KubeClient } from '../../src/kube/client.js';
import { configMaps } from '../../src/kube/resource-type.js';
import { eventually } from '../eventually.js';
import { connectionOf, createRig, type Rig } from '../rig/process-node.js';
import type { Cluster, UserName } from './cluster.js';

export type NodeName = 'node-a' | 'node-b';

export class ClusterNode {
  readonly name: NodeName;
  readonly rig: Rig;
  readonly #admin: KubeClient;

  constructor(name: NodeName, rig: Rig, admin: KubeClient) {
    this.name = name;
    this.rig = rig;
    this.#admin = admin;
  }

  nodeConfig(): Promise<NodeConfig> {
    return this.#admin.get<NodeConfig>(nodeConfigs, { name: this.name });
  }

  until(what: string, isSo: (status: NonNullable<NodeConfig['status']>, object: NodeConfig) => boolean) {
    let seen: NodeConfig | undefined;
    const ask = async () => {
      seen = await this.nodeConfig();
      return isSo(seen.status ?? {}, seen) ? (seen.status ?? {}) : false;
    };
    return eventually(`${this.name}: ${what}`, ask, {
      seen: () => `${JSON.stringify(seen, null, 1)}\n${this.rig.log()}`,
    });
  }

  /** Resolves with the status when this ConfigMap is active, or, with nothing, the local config. */
  active(name?: string) {
    const wanted = name === undefined ? 'local' : name;
    return this.until(`runs ${wanted}`, ({ config }) => {
      return (
        config !== undefined && (config.active?.configMap?.name ?? 'local') === wanted && config.error === undefined
      );
    });
  }
}

export async function startNode(cluster: Cluster, name: NodeName): Promise<ClusterNode> {
  let connection: NodeConnection;
  const rig = await createRig({ connect: (signal) => connection.connect(signal) });
  const kubeconfig = cluster.kubeconfig(`system:node:${name}` as UserName);
  connection = connectionOf(rig, { kubeconfig, hostnameOverride: name, hostname: 'localhost' });
  rig.boot();
  return new ClusterNode(name, rig, cluster.client('admin'));
}

export const configMapObject = (name: string, text: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'relet-system', labels: { [configLabel]: 'true' } },
  data: { kubelet: text },
  ...more,
});

export const write = (client: KubeClient, object: KubeObject) =>
  client.create(configMaps, { namespace: object.metadata.namespace! }, object);

/** Points the node at a ConfigMap; undefined: at its local config. */
export function point(client: KubeClient, node: NodeName, name: string | undefined, more: object = {}) {
  const configMap = { namespace: 'relet-system', name, kubeletConfigKey: 'kubelet', ...more };
  const configSource = name === undefined ? null : { configMap };
  return client.patch<NodeConfig>(nodeConfigs, { name: node }, { spec: { configSource } }, { as: 'merge' });
}
