/** Pods that a restarted kubelet no longer admits are reported, also those that ran before the restart. */
import { expect, test } from 'vitest';
import type { NodeConfigObjectStatus } from '../src/api/node-config.js';
import { pods } from '../src/kube/resource-type.js';
import { type ClusterRig, createClusterRig, nodeName } from './cluster-rig.js';

const namespace = 'default';

async function createPod(rig: ClusterRig, name: string): Promise<void> {
  const spec = { nodeName, containers: [{ name: 'web', image: 'web' }] };
  await rig.admin.create(pods, { namespace }, { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec });
  await setStatus(rig, name, { phase: 'Running', startTime: '2020-01-01T00:00:00Z' });
}

const setStatus = ({ admin }: ClusterRig, name: string, status: object) =>
  admin.patch(pods, { namespace, name, subresource: 'status' }, { status }, { as: 'merge' });

const outOfPods = { phase: 'Failed', reason: 'OutOfpods', message: 'Pod was rejected: too many' };

test('a pod that ran and is rejected after the restart is reported while that config runs, one that failed before is not', async () => {
  const rig = await createClusterRig({ through: 'NodeConfig' });
  for (const name of ['ran', 'failed-before']) await createPod(rig, name);
  await setStatus(rig, 'failed-before', outOfPods);
  await rig.activate('fewer', 'maxPods: 1');
  await setStatus(rig, 'ran', outOfPods);
  const status = () => (rig.seen?.status ?? {}) as NodeConfigObjectStatus;
  await rig.node.advanceUntil('a warning', () => status().warnings !== undefined);
  expect(status().warnings).toEqual([
    'pod default/ran was rejected by the kubelet after its restart: OutOfpods: too many',
  ]);
  const { rejectedPods } = status();
  expect(rejectedPods).toMatchObject({ count: 1, names: ['default/ran'] });
  // The next kubelet with this config does not reject it again.
  await rig.node.stop();
  rig.node.boot();
  await rig.node.passTrial();
  await rig.until('passed', () => rig.config?.lastKnownGood !== undefined);
  expect(status().rejectedPods).toEqual(rejectedPods);
  await rig.createConfigMap('more', { kubelet: rig.node.config('maxPods: 100') });
  await rig.point('more');
  await rig.until('the next config', () => rig.config?.active?.configMap?.name === 'more');
  expect(status().rejectedPods).toBeUndefined();
});
