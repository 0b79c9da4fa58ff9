/**
 * A node that registers with the taint relet.dev/config-pending, and the controller with its own service account and the roles and
 * guards of deploy/. On the embedded server or, with KUBEBUILDER_ASSETS, on a real one (1.30 and later).
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeConfigs } from '../src/api/node-config.js';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { nodes } from '../src/kube/resource-type.js';
import { type Cluster, embeddedCluster, realCluster } from './cluster/cluster.js';
import { controllerKubeconfig, type RunningController, startController } from './cluster/controller.js';
import { clientFor } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { needs } from './programs.js';

const deploy = join(import.meta.dirname, '../deploy');
const kubectl = needs('kubectl');
const assets = process.env.KUBEBUILDER_ASSETS;
const pending = { key: 'relet.dev/config-pending', effect: 'NoSchedule' };
const other = { key: 'example.com/other', effect: 'NoSchedule', value: 'x' };

describe.skipIf(kubectl.isMissing)(`a node with the taint relet.dev/config-pending${kubectl.note}`, () => {
  let cluster: Cluster;
  let controller: RunningController;
  let admin: KubeClient;

  beforeAll(async () => {
    cluster = assets === undefined ? await embeddedCluster() : await realCluster(assets);
    await cluster.kubectl('apply', '-k', deploy).catch(() => cluster.kubectl('apply', '-k', deploy));
    controller = await startController(cluster, { identity: 'a', guards: 'auto' });
    admin = cluster.client('admin');
  });
  afterAll(async () => {
    await controller?.stop();
    await cluster?.close();
  });

  const register = async (name: string) => {
    await admin.create(
      nodes,
      {},
      { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints: [other, pending] } },
    );
    await eventually('its NodeConfig', () => admin.get(nodeConfigs, { name }));
  };
  const assign = (name: string) => {
    const configSource = { configMap: { namespace: 'relet-system', name: 'a', kubeletConfigKey: 'kubelet' } };
    return admin.patch(nodeConfigs, { name }, { spec: { configSource } }, { as: 'merge' });
  };
  /** As its agent does. */
  const report = async (name: string, status: 'True' | 'False', reason: string) => {
    const present = await admin.get<KubeObject>(nodeConfigs, { name });
    const conditions = [{ type: 'ConfigOK', status, reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }];
    const all = { observedGeneration: present.metadata.generation, conditions };
    await admin.patch(nodeConfigs, { name, subresource: 'status' }, { status: all }, { as: 'merge' });
  };
  // A new Node also has the taint node.kubernetes.io/not-ready.
  const taints = async (name: string) =>
    ((await admin.get<KubeObject>(nodes, { name })).spec as { taints: { key: string }[] }).taints;
  const hasTaint = async (name: string) => (await taints(name)).some(({ key }) => key === pending.key);

  test('keeps it while the controller may not patch Nodes', async () => {
    await register('early');
    await assign('early');
    await report('early', 'True', 'ConfigActive');
    const may = (who: KubeClient) =>
      who.patch(nodes, { name: 'early' }, { metadata: { labels: { a: 'b' } } }, { as: 'merge' });
    await expect(may(clientFor(await controllerKubeconfig(cluster)))).rejects.toThrow('forbidden');
    expect(await hasTaint('early')).toBe(true);
  });

  test('loses it, and no other taint, once it runs what it is assigned', async () => {
    await cluster.kubectl('apply', '-k', join(deploy, 'new-nodes'));
    await register('node-x');
    await assign('node-x');
    await report('node-x', 'False', 'ValidationFailed');
    await report('node-x', 'True', 'ConfigPending');
    expect(await hasTaint('node-x')).toBe(true);
    const others = (await taints('node-x')).filter(({ key }) => key !== pending.key);
    expect(others).toContainEqual(other);
    await report('node-x', 'True', 'ConfigActive');
    await eventually('the taint is gone', async () => expect(await taints('node-x')).toEqual(others));
  });

  test('is all that the controller may change of a Node', async () => {
    await register('guarded');
    const account = clientFor(await controllerKubeconfig(cluster));
    const patch = (body: object) => account.patch(nodes, { name: 'guarded' }, body, { as: 'merge', dryRun: true });
    const refused = (body: object) =>
      eventually('the guard', async () => {
        await expect(patch(body)).rejects.toThrow('the controller of relet may');
      });
    await refused({ metadata: { labels: { pool: 'gpu' } } });
    await refused({ metadata: { annotations: { a: 'b' } } });
    await refused({ spec: { unschedulable: true } });
    await refused({ spec: { taints: [pending] } });
    await refused({ spec: { taints: [other, pending, { key: 'new', effect: 'NoExecute' }] } });
    await refused({ spec: { providerID: 'cloud://other' } });
    await patch({ spec: { taints: (await taints('guarded')).filter(({ key }) => key !== pending.key) } });
  });
});
