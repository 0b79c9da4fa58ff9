/**
 * Rights of the controller on Nodes and pods with the role relet:controller-drain and the guard relet-controller-nodes, and that it has
 * none without the role. On the embedded server or, with KUBEBUILDER_ASSETS, on a real one (1.30 and later).
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { nodes, pods } from '../src/kube/resource-type.js';
import { type Cluster, embeddedCluster, realCluster } from './cluster/cluster.js';
import { controllerKubeconfig } from './cluster/controller.js';
import { clientFor } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { needs } from './programs.js';

const deploy = join(import.meta.dirname, '../deploy');
const kubectl = needs('kubectl');
const assets = process.env.KUBEBUILDER_ASSETS;
const drainAnnotation = 'relet.dev/drain';
const drainTaint = { key: 'relet.dev/drain-pending', effect: 'PreferNoSchedule' };
const maintenanceCondition = 'MaintenanceInProgress';
const ownMaintenanceReason = 'KubeletConfigChange';
const budgets = { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets' };
const mark = { [drainAnnotation]: '{"set":"gpu","revision":"a","state":"Draining","at":"2026-03-01T10:00:00Z"}' };
const cordon = { metadata: { annotations: mark }, spec: { unschedulable: true } };

describe.skipIf(kubectl.isMissing)(`the right to drain${kubectl.note}`, () => {
  let cluster: Cluster;
  let admin: KubeClient;
  let controller: KubeClient;

  beforeAll(async () => {
    cluster = assets === undefined ? await embeddedCluster() : await realCluster(assets);
    await cluster.kubectl('apply', '-k', deploy).catch(() => cluster.kubectl('apply', '-k', deploy));
    admin = cluster.client('admin');
    controller = clientFor(await controllerKubeconfig(cluster));
    for (const name of ['node-a', 'node-b', 'node-c'])
      await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { pool: 'gpu' } } });
  });
  afterAll(() => cluster?.close());

  const patch = (name: string, body: object, dryRun = true) =>
    controller.patch<KubeObject>(nodes, { name }, body, { as: 'merge', dryRun });
  const patchStatus = (name: string, condition: object, dryRun = true) => {
    const place = { name, subresource: 'status' };
    return controller.patch(nodes, place, { status: { conditions: [condition] } }, { as: 'strategic', dryRun });
  };
  const maintenance = (reason: string, status = 'True') => ({ type: maintenanceCondition, status, reason });
  const refused = (write: () => Promise<unknown>) =>
    eventually('the guard', async () => {
      await expect(write()).rejects.toThrow('the controller of relet may');
    });

  test('is not there unless deploy/drain is applied', async () => {
    await expect(patch('node-a', cordon)).rejects.toThrow('forbidden');
    await expect(controller.list(pods)).rejects.toThrow('forbidden');
    await cluster.kubectl('apply', '-k', join(deploy, 'drain'));
    await eventually('the role', async () => expect((await controller.list(pods)).items).toEqual([]));
    expect((await controller.list(budgets)).items).toEqual([]);
  });

  test('lets the controller cordon a node with its mark, and lift that cordon', async () => {
    await refused(() => patch('node-a', { spec: { unschedulable: true } }));
    await patch('node-a', cordon, false);
    await patch(
      'node-a',
      { metadata: { annotations: { [drainAnnotation]: null } }, spec: { unschedulable: null } },
      false,
    );
    expect(
      (await admin.get<KubeObject>(nodes, { name: 'node-a' })).metadata.annotations?.[drainAnnotation],
    ).toBeUndefined();
  });

  test('does not let it lift the cordon of somebody else', async () => {
    await admin.patch(nodes, { name: 'node-b' }, { spec: { unschedulable: true } }, { as: 'merge' });
    await refused(() => patch('node-b', { spec: { unschedulable: null } }));
    await refused(() => patch('node-b', { metadata: { annotations: mark }, spec: { unschedulable: null } }));
  });

  test('lets it change no taint, label or annotation but its own', async () => {
    const { spec } = await admin.get<KubeObject>(nodes, { name: 'node-c' });
    const { taints = [] } = (spec ?? {}) as { taints?: object[] };
    const withTaint = (taint: object) => ({ spec: { taints: [...taints, taint] } });
    await refused(() => patch('node-c', withTaint({ key: 'other', effect: 'NoSchedule' })));
    await refused(() => patch('node-c', withTaint({ ...drainTaint, effect: 'NoExecute' })));
    await refused(() => patch('node-c', withTaint({ key: 'relet.dev/config-pending', effect: 'NoSchedule' })));
    await refused(() => patch('node-c', { metadata: { labels: { pool: 'blue' } } }));
    await refused(() => patch('node-c', { metadata: { annotations: { ...mark, other: 'a' } } }));
    await refused(() => patch('node-c', { metadata: { finalizers: ['example.com/stay'] } }));
    await patch('node-c', { metadata: { annotations: mark }, ...withTaint(drainTaint) }, false);
    await patch(
      'node-c',
      { metadata: { annotations: { [drainAnnotation]: null } }, spec: { taints: taints.length > 0 ? taints : null } },
      false,
    );
  });

  test('lets it write its own condition, and nothing else of the status', async () => {
    await refused(() => patchStatus('node-a', maintenance('KernelPatch')));
    await refused(() => patchStatus('node-a', { type: 'Ready', status: 'False', reason: 'x' }));
    await refused(() => patchStatus('node-a', { type: maintenanceCondition, status: 'True' }));
    const phase = { status: { phase: 'Terminated' } };
    const place = { name: 'node-a', subresource: 'status' };
    await refused(() => controller.patch(nodes, place, phase, { as: 'merge', dryRun: true }));
    const viaStatus = { metadata: { labels: { pool: 'blue' } } };
    await refused(() => controller.patch(nodes, place, viaStatus, { as: 'merge', dryRun: true }));
    await patchStatus('node-a', maintenance(ownMaintenanceReason), false);
    await patchStatus('node-a', { $patch: 'delete', type: maintenanceCondition }, false);
    await admin.patch(
      nodes,
      { name: 'node-b', subresource: 'status' },
      { status: { conditions: [maintenance('KernelPatch')] } },
      { as: 'strategic' },
    );
    await refused(() => patchStatus('node-b', { $patch: 'delete', type: maintenanceCondition }));
    await refused(() => patchStatus('node-b', maintenance('KernelPatch', 'False')));
  });
});
