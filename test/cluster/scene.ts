/** Shared parts of the cluster suite: its users, how a node begins, and how objects are read. */
import { nodeConfigs, unsetAnnotations } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import { isNotFound } from '../../src/api/status.js';
import { boundNodes, grantName, type RoleBinding } from '../../src/controller/grant-plan.js';
import type { KubeClient } from '../../src/kube/client.js';
import { configMaps, roleBindings } from '../../src/kube/resource-type.js';
import { eventually } from '../eventually.js';
import type { Cluster } from './cluster.js';
import { type ClusterNode, configMapObject, point, startNode, write } from './cluster-node.js';

/** Clients of the suite's users, from the moment the cluster runs. */
export class Scene {
  cluster!: Cluster;
  admin!: KubeClient;
  operator!: KubeClient;
  author!: KubeClient;

  begin(cluster: Cluster): void {
    this.cluster = cluster;
    this.admin = cluster.client('admin');
    this.operator = cluster.client('operator');
    this.author = cluster.client('author');
  }

  /** A node that runs its local config and reported it. */
  readonly freshNode = async (name: 'node-a' | 'node-b' = 'node-a'): Promise<ClusterNode> => {
    const { admin, cluster, operator } = this;
    await until('NodeConfig made', () => exists(admin.get(nodeConfigs, { name })));
    await point(operator, name, undefined);
    const set = { metadata: { annotations: unsetAnnotations(null) } };
    await admin.patch(nodeConfigs, { name }, set, { as: 'merge' });
    const node = await startNode(cluster, name);
    await node.rig.until('reports', () => node.rig.status() !== undefined);
    await node.active();
    return node;
  };

  readonly newConfig = async (name: string, text: string): Promise<void> => {
    await this.admin.delete(configMaps, { namespace: 'relet-system', name }).catch(() => {});
    await write(this.author, configMapObject(name, text));
  };

  /** The nodes that may read a ConfigMap. */
  readonly granted = async (name: string): Promise<string[]> => {
    const place = { namespace: 'relet-system', name: grantName(name) };
    const binding = await this.admin.get<RoleBinding>(roleBindings, place).catch(() => undefined);
    return [...boundNodes(binding)];
  };
}

export async function condition(admin: KubeClient, node: string, type: string) {
  const object = await admin.get<KubeObject>(nodeConfigs, { name: node });
  const { conditions = [] } = (object.status ?? {}) as {
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
  return conditions.find((one) => one.type === type);
}

export async function exists(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

export const until = (what: string, isSo: () => Promise<boolean>): Promise<boolean> => eventually(what, isSo);
