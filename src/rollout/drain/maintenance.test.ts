/** Other systems that have claimed a node. */
import { describe, expect, test } from 'vitest';
import { claimantOf, leaseClaim, maintenanceClaim, medik8sLease, nodeMaintenances } from './maintenance.js';

const tainted = (key: string) => ({ spec: { taints: [{ key: 'example.com/gpu', effect: 'NoSchedule' }, { key }] } });
const withCondition = (type: string, status: string, reason?: string) => ({
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type, status, ...(reason && { reason }) },
    ],
  },
});

describe('a Node claims itself for another system', () => {
  test.each([
    ['karpenter.sh/disrupted', 'claimed by Karpenter (taint karpenter.sh/disrupted)'],
    ['karpenter.sh/disruption', 'claimed by Karpenter (taint karpenter.sh/disruption)'],
    ['karpenter.sh/rebooting', 'claimed by Karpenter (taint karpenter.sh/rebooting)'],
    ['karpenter.sh/unregistered', 'claimed by Karpenter (taint karpenter.sh/unregistered)'],
    ['ToBeDeletedByClusterAutoscaler', 'claimed by the cluster autoscaler (taint ToBeDeletedByClusterAutoscaler)'],
    ['node.cluster.x-k8s.io/uninitialized', 'claimed by Cluster API (taint node.cluster.x-k8s.io/uninitialized)'],
    [
      'node.cluster.x-k8s.io/outdated-revision',
      'claimed by Cluster API (taint node.cluster.x-k8s.io/outdated-revision)',
    ],
    ['node.kubernetes.io/out-of-service', 'it is out of service (taint node.kubernetes.io/out-of-service)'],
    ['medik8s.io/drain', 'claimed by medik8s (taint medik8s.io/drain)'],
  ])('by the taint %s', (key, claimant) => {
    expect(claimantOf(tainted(key))).toBe(claimant);
  });

  test.each(['MaintenanceInProgress', 'DrainInProgress', 'GracefulNodeShutdownInProgress'])(
    'by the condition %s of somebody else',
    (type) => {
      expect(claimantOf(withCondition(type, 'True', 'KernelPatch'))).toBe(`${type} is True (KernelPatch)`);
      expect(claimantOf(withCondition(type, 'True'))).toBe(`${type} is True (no reason given)`);
    },
  );

  test.each([
    ['a condition that is over', withCondition('MaintenanceInProgress', 'False', 'KernelPatch')],
    [
      'the condition that relet itself sets while it drains',
      withCondition('MaintenanceInProgress', 'True', 'KubeletConfigChange'),
    ],
    ['another condition', withCondition('MaintenancePlanned', 'True', 'KernelPatch')],
    ['the candidacy of the cluster autoscaler, which may end', tainted('DeletionCandidateOfClusterAutoscaler')],
    ['a taint named like a property of every object', tainted('constructor')],
    ['a cordon', tainted('node.kubernetes.io/unschedulable')],
    ['nothing at all', {}],
  ])('but not by %s', (_name, node) => {
    expect(claimantOf(node)).toBeUndefined();
  });
});

describe('a NodeMaintenance claims its node', () => {
  const [nvidia, medik8s] = nodeMaintenances as [(typeof nodeMaintenances)[0], (typeof nodeMaintenances)[0]];
  const maintenance = (spec: object, namespace?: string) => ({
    apiVersion: 'x/v1',
    kind: 'NodeMaintenance',
    metadata: { name: 'nm', ...(namespace && { namespace }) },
    spec,
  });

  test('of NVIDIA, with its requestor', () => {
    const object = maintenance({ nodeName: 'node-1', requestorID: 'nvidia.network.operator' }, 'gpu');
    const claimant = 'NodeMaintenance gpu/nm (maintenance.nvidia.com) by nvidia.network.operator';
    expect(maintenanceClaim(nvidia, object)).toEqual({ node: 'node-1', claimant });
  });

  test('of medik8s, with its reason', () => {
    const object = maintenance({ nodeName: 'node-1', reason: 'new disk' });
    const claimant = 'NodeMaintenance nm (nodemaintenance.medik8s.io): new disk';
    expect(maintenanceClaim(medik8s, object)).toEqual({ node: 'node-1', claimant });
  });

  test('but none where it names no node', () => {
    expect(maintenanceClaim(medik8s, maintenance({}))).toBeUndefined();
    expect(maintenanceClaim(medik8s, { ...maintenance({}), spec: null as never })).toBeUndefined();
  });
});

describe('a Lease of medik8s claims its node', () => {
  const nowMs = Date.parse('2026-11-17T06:00:00Z');
  const lease = (spec: object) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: medik8sLease('node-1') },
    spec,
  });
  const held = { holderIdentity: 'node-maintenance', leaseDurationSeconds: 3600 };

  test('while it is held', () => {
    expect(leaseClaim(lease({ ...held, renewTime: '2026-11-17T05:00:01.000000Z' }), nowMs)).toBe(
      'node-maintenance of medik8s holds its Lease (medik8s-leases/node-node-1)',
    );
  });

  test.each([
    ['expired', { ...held, renewTime: '2026-11-17T04:59:59.000000Z' }],
    ['has no holder', { ...held, holderIdentity: '', renewTime: '2026-11-17T05:59:00.000000Z' }],
    ['was never renewed', held],
  ])('but not where it %s', (_name, spec) => {
    expect(leaseClaim(lease(spec), nowMs)).toBeUndefined();
  });

  test('but not where there is none', () => {
    expect(leaseClaim(undefined, nowMs)).toBeUndefined();
  });
});
