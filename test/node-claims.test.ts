/** Nodes that other systems have, from end to end in memory: the whole controller, and CRDs that come and go while it runs. */
import { describe, expect, test } from 'vitest';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { rfc3339Micro } from '../src/clock.js';
import { leases, namespaces, nodes, type ResourceType } from '../src/kube/resource-type.js';
import { nodeMaintenances } from '../src/rollout/drain/maintenance.js';
import { createSetRig, type SetRig } from './set-rig.js';

const [nvidia, medik8s] = nodeMaintenances as [ResourceType, ResourceType];
const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
const strategy = { waves: [{ nodes: '100%' }], maxUnavailable: '100%', maxInTrial: '100%' };

const definitionOf = ({ group, version, resource }: ResourceType, scope: 'Cluster' | 'Namespaced') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${resource}.${group}` },
  spec: {
    group,
    scope,
    names: { kind: 'NodeMaintenance', plural: resource, singular: 'nodemaintenance', listKind: 'NodeMaintenanceList' },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

const maintenance = ({ group, version }: ResourceType, name: string, spec: object) => ({
  apiVersion: `${group}/${version}`,
  kind: 'NodeMaintenance',
  metadata: { name },
  spec,
});

async function applied(rig: SetRig, maxPods = 100) {
  await rig.apply('gpu', { config: { overlay: { maxPods } }, strategy });
}

const excluded = async (rig: SetRig) => (await rig.set('gpu')).status?.excluded ?? [];
const messageOf = async (rig: SetRig, node: string) =>
  (await excluded(rig)).find(({ name, reason }) => name === node && reason === 'Claimed')?.message;

describe('a set leaves a node to another system, names it, and catches up when it is given back', () => {
  test('by a NodeMaintenance of NVIDIA or medik8s, of which the definitions appear while the controller runs', async () => {
    const rig = await createSetRig();
    await rig.addNodes(['node-0', 'node-1', 'node-2']);
    await rig.client.create(definitions, {}, definitionOf(nvidia, 'Namespaced'));
    await rig.client.create(definitions, {}, definitionOf(medik8s, 'Cluster'));
    await rig.client.create(
      nvidia,
      { namespace: 'default' },
      maintenance(nvidia, 'a', { nodeName: 'node-0', requestorID: 'network.nvidia.com' }),
    );
    await rig.client.create(medik8s, {}, maintenance(medik8s, 'b', { nodeName: 'node-1', reason: 'new\ndisk' }));
    // As long as a resource that nobody served is not asked for again.
    await rig.clock.advance(120_000);
    await applied(rig);
    await rig.untilReason('gpu', 'RolloutComplete', 5000);
    expect(await messageOf(rig, 'node-0')).toBe(
      'NodeMaintenance default/a (maintenance.nvidia.com) by network.nvidia.com',
    );
    expect(await messageOf(rig, 'node-1')).toBe('NodeMaintenance b (nodemaintenance.medik8s.io): new\\ndisk');
    const revisions = await rig.revisions();
    expect(revisions).toMatchObject({ 'node-0': undefined, 'node-1': undefined });
    await rig.client.delete(nvidia, { namespace: 'default', name: 'a' });
    await rig.client.delete(definitions, { name: 'nodemaintenances.nodemaintenance.medik8s.io' });
    await rig.until('both nodes are updated', async () => (await rig.set('gpu')).status?.updatedNodes === 3, 5000);
    expect(await excluded(rig)).toEqual([]);
  });

  test('by the Lease of medik8s, until it expires', async () => {
    const rig = await createSetRig();
    await rig.addNodes(['node-0', 'node-1']);
    await rig.client.create(
      namespaces,
      {},
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'medik8s-leases' } },
    );
    const spec = {
      holderIdentity: 'self-node-remediation',
      leaseDurationSeconds: 3600,
      renewTime: rfc3339Micro(rig.clock.now()),
    };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'node-node-0' }, spec };
    await rig.client.create(leases, { namespace: 'medik8s-leases' }, lease);
    await applied(rig);
    await rig.untilReason('gpu', 'RolloutComplete', 5000);
    expect(await messageOf(rig, 'node-0')).toBe(
      'self-node-remediation of medik8s holds its Lease (medik8s-leases/node-node-0)',
    );
    await rig.until('node-0 is updated', async () => (await rig.set('gpu')).status?.updatedNodes === 2, 60_000);
  });

  test('by a taint or a condition of its Node', async () => {
    const rig = await createSetRig();
    await rig.addNodes(['node-0', 'node-1', 'node-2']);
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    await rig.client.patch(nodes, { name: 'node-0' }, { spec: { taints } }, { as: 'merge' });
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'MaintenanceInProgress', status: 'True', reason: 'KernelPatch' },
    ];
    await rig.client.patch(
      nodes,
      { name: 'node-1', subresource: 'status' },
      { status: { conditions } },
      { as: 'merge' },
    );
    await applied(rig);
    await rig.untilReason('gpu', 'RolloutComplete', 5000);
    expect(await messageOf(rig, 'node-0')).toBe('claimed by Karpenter (taint karpenter.sh/disrupted)');
    expect(await messageOf(rig, 'node-1')).toBe('MaintenanceInProgress is True (KernelPatch)');
    await rig.client.patch(nodes, { name: 'node-0' }, { spec: { taints: null } }, { as: 'merge' });
    await rig.setReady('node-1', true);
    await rig.until('all are updated', async () => (await rig.set('gpu')).status?.updatedNodes === 3, 5000);
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
  });
});
