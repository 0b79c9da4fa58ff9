/** The alpha's profile: references by configMapRef, permission by hand, and the condition ConfigOK (A1–A3 of the conformance list). */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../src/api/object.js';
import { resourcePath } from '../src/kube/resource-type.js';
import { type ClusterRig, createClusterRig, nodeName } from './cluster-rig.js';
import { createFlowRig } from './rig/memory-node.js';

const refer = (rig: ClusterRig, { metadata }: KubeObject) =>
  rig.assign({ configMapRef: { namespace: 'kube-system', name: metadata.name, uid: metadata.uid } });

/** The Role and RoleBinding that the page of DKC alpha lets people create by hand. */
async function grant(rig: ClusterRig, name: string, verbs = ['get']): Promise<void> {
  const rbac = (resource: string) => ({ group: 'rbac.authorization.k8s.io', version: 'v1', resource });
  const metadata = { name: `${name}-reader`, namespace: 'kube-system' };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  await rig.admin.create(
    rbac('roles'),
    { namespace: 'kube-system' },
    {
      apiVersion,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs }],
    },
  );
  await rig.admin.create(
    rbac('rolebindings'),
    { namespace: 'kube-system' },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: `system:node:${nodeName}` }],
    },
  );
}

const manual = { server: { nodeConfigAccess: 'manual' as const } };
const condition = (rig: ClusterRig, expected: object) =>
  rig.until(`condition ${JSON.stringify(expected)}`, () =>
    Object.entries(expected).every(([name, value]) => rig.condition?.[name as 'reason'] === value),
  );

describe('A1 the condition ConfigOK', () => {
  test('walks through every state of DKC alpha', async () => {
    const rig = await createClusterRig({ server: { nodeConfigAccess: 'automatic' } });
    const good = await rig.createConfigMap('good', { kubelet: rig.node.config('eventRecordQPS: 1') });
    const bad = await rig.createConfigMap('bad', { kubelet: '{0xdeadbeef}' });
    const wrong = await rig.createConfigMap('wrong', {
      kubelet: 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nkubeAPIQPS: -1\n',
    });
    const local = {
      status: 'True',
      message: 'using current (default)',
      reason: 'current is set to the local default, and no init config was provided',
    };
    await condition(rig, local);
    await refer(rig, good);
    await condition(rig, {
      status: 'True',
      message: `using current (UID: "${good.metadata.uid}")`,
      reason: 'passing all checks',
    });
    await rig.assign({ configMapRef: { namespace: 'kube-system', name: 'good' } });
    await condition(rig, {
      status: 'False',
      reason: 'failed to sync, reason: invalid ObjectReference, all of UID, Name, and Namespace must be specified',
    });
    await rig.assign({ configMapRef: { namespace: 'kube-system', name: 'good', uid: 'other' } });
    await condition(rig, {
      status: 'False',
      message: `using current (UID: "${good.metadata.uid}")`,
      reason: `failed to sync, reason: invalid ObjectReference, UID "other" does not match UID of downloaded ConfigMap "${good.metadata.uid}"`,
    });
    // Alpha's API server took this one as well; the kubelet's words for it are in upstream-words.test.ts.
    await expect(rig.assign({})).rejects.toThrow('exactly one reference subfield must be non-nil');
    await refer(rig, bad);
    await condition(rig, {
      status: 'False',
      message: 'using last-known-good (default)',
      reason: `failed to parse current (UID: "${bad.metadata.uid}")`,
    });
    await refer(rig, wrong);
    await condition(rig, {
      status: 'False',
      message: 'using last-known-good (default)',
      reason: `failed to validate current (UID: "${wrong.metadata.uid}")`,
    });
    await refer(rig, good);
    await condition(rig, {
      status: 'True',
      message: `using current (UID: "${good.metadata.uid}")`,
      reason: 'passing all checks',
    });
    await rig.assign(null);
    await condition(rig, local);
  });

  test('the local config is called init where an init config was given', async () => {
    const rig = await createClusterRig({ node: { initConfig: true } });
    await condition(rig, {
      status: 'True',
      message: 'using current (init)',
      reason: 'current is set to the local default, and an init config was provided',
    });
    const bad = await rig.createConfigMap('bad', { kubelet: '{0xdeadbeef}' });
    await refer(rig, bad);
    await condition(rig, { status: 'False', message: 'using last-known-good (init)' });
  });

  test('A2 a bad config after a proven one falls back to its UID, and its transition time moves only with its text', async () => {
    const rig = await createClusterRig();
    const good = await rig.createConfigMap('good', { kubelet: rig.node.config() });
    const bad = await rig.createConfigMap('bad', { kubelet: '{0xdeadbeef}' });
    await refer(rig, good);
    await rig.until('active', () => rig.config?.active !== undefined);
    await rig.node.passTrial();
    await refer(rig, bad);
    await condition(rig, { status: 'False', message: `using last-known-good (UID: "${good.metadata.uid}")` });
    const reported = rig.condition!;
    rig.node.clock.advance(600_000);
    await rig.until('the next report', () => rig.condition?.lastHeartbeatTime !== reported.lastHeartbeatTime);
    expect(rig.condition).toEqual({ ...reported, lastHeartbeatTime: rig.condition?.lastHeartbeatTime });
    await refer(rig, good);
    await condition(rig, { status: 'True', reason: 'passing all checks' });
    expect(rig.condition?.lastTransitionTime).not.toBe(reported.lastTransitionTime);
  });

  test('A3 toggling between two configs thirty times leaves none stuck', async () => {
    const rig = await createFlowRig();
    rig.boot({ restartLimit: { burst: 1, intervalMs: 0 } });
    const both = [await rig.createConfigMap('a', '# a'), await rig.createConfigMap('b', '# b')];
    for (let change = 0; change < 30; change++) {
      const { metadata } = both[change % 2]!;
      await rig.point({ configMapRef: { namespace: 'kube-system', name: metadata.name, uid: metadata.uid } });
      await rig.until(`change ${change}`, async () => {
        const condition = await rig.condition();
        return condition?.status === 'True' && condition.message === `using current (UID: "${metadata.uid}")`;
      });
    }
    expect(rig.starts).toHaveLength(31);
  });
});

describe('permission by hand', () => {
  test('a node that may not read its ConfigMap waits, reports it after a while, and continues when it may', async () => {
    const rig = await createClusterRig(manual);
    const good = await rig.createConfigMap('good', { kubelet: rig.node.config() });
    await refer(rig, good);
    await rig.node.until(
      'rejected',
      () => rig.node.log().includes('no relationship found') || rig.node.log().includes('is forbidden'),
    );
    expect(rig.config).toEqual({});
    rig.node.clock.advance(6000);
    await condition(rig, {
      status: 'False',
      reason: 'failed to sync, reason: failed to download ConfigMap with name "good" from namespace "kube-system"',
    });
    expect(rig.config?.error).toBe('failed to sync: failed to download config, see Kubelet log for details');
    await grant(rig, 'good');
    rig.node.clock.advance(60_000);
    await condition(rig, { status: 'True', message: `using current (UID: "${good.metadata.uid}")` });
    expect(rig.config?.error).toBeUndefined();
  });

  test('a role that grants only get is enough: edits are found by reading', async () => {
    const rig = await createClusterRig(manual);
    await grant(rig, 'good');
    const good = await rig.createConfigMap('good', { kubelet: rig.node.config() });
    await rig.node.denied(() => refer(rig, good), 'cannot watch ConfigMap');
    await rig.until('active', () => rig.config?.active !== undefined);
    await rig.node.until('reading', () => rig.node.log().includes('watch on ConfigMap forbidden, polling'));
    const { metadata } = await rig.patchConfigMap('good', { data: { kubelet: rig.node.config('# edited') } });
    rig.node.clock.advance(75_000);
    await rig.until('followed', () => rig.config?.active?.configMap?.resourceVersion === metadata.resourceVersion);
  });

  test('permission taken away changes nothing on the node', async () => {
    const rig = await createClusterRig(manual);
    await grant(rig, 'good');
    const good = await rig.createConfigMap('good', { kubelet: rig.node.config() });
    await rig.node.denied(() => refer(rig, good), 'cannot watch ConfigMap');
    await rig.until('active', () => rig.config?.active !== undefined);
    await rig.node.until('reading', () => rig.node.log().includes('watch on ConfigMap forbidden, polling'));
    const starts = rig.node.starts().length;
    const path = resourcePath(
      { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'rolebindings' },
      { namespace: 'kube-system', name: 'good-reader' },
    );
    await rig.admin.raw({ method: 'DELETE', path });
    rig.node.clock.advance(75_000);
    await rig.node.until('rejected', () => rig.node.log().includes('waiting for permission'));
    rig.node.clock.advance(60_000);
    await condition(rig, { status: 'False', message: `using current (UID: "${good.metadata.uid}")` });
    expect(rig.node.starts()).toHaveLength(starts);
    expect(rig.config?.active?.configMap?.uid).toBe(good.metadata.uid);
  });
});
