/** FieldPolicies and NodeConfigSets from end to end in memory: the controller assigns nothing that a policy does not allow. */
import { describe, expect, test } from 'vitest';
import { fieldPolicies } from '../src/api/field-policy.js';
import { configLabel } from '../src/api/node-config.js';
import { configMaps } from '../src/kube/resource-type.js';
import { createSetRig, type SetRig } from './set-rig.js';

const names = ['node-0', 'node-1', 'node-2', 'node-3'];
const policy = (rig: SetRig, name: string, fields: object) => {
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'FieldPolicy', metadata: { name }, ...fields };
  return rig.client.patch(fieldPolicies, { name }, object, { as: 'apply', fieldManager: 'git', force: true });
};
const stalled = async (rig: SetRig) =>
  (await rig.set('gpu')).status?.conditions?.find(({ type }) => type === 'Stalled')?.message;
const assigned = async (rig: SetRig) => Object.values(await rig.revisions()).filter((one) => one !== undefined).length;

describe('a set whose config a FieldPolicy does not allow', () => {
  test('assigns nothing, names policy, field and bound, and continues once the policy allows it', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names);
    await policy(rig, 'limits', { selector: { matchLabels: { pool: 'gpu' } }, bounds: { maxPods: { max: 250 } } });
    // A ConfigMap: admission does not see its content.
    const kubelet = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: 400}\n';
    const metadata = { name: 'too-many', namespace: 'relet-system', labels: { [configLabel]: 'true' } };
    const stored = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet } };
    await rig.client.create(configMaps, { namespace: 'relet-system' }, stored);
    await rig.apply('gpu', {
      config: { configMap: { namespace: 'relet-system', name: 'too-many', kubeletConfigKey: 'kubelet' } },
    });
    await rig.untilReason('gpu', 'FieldPolicy');
    expect(await stalled(rig)).toContain(
      "FieldPolicy limits: maxPods is 400, above the field policy's maximum 250 (node-0, node-1, node-2 and 1 more)",
    );
    await rig.clock.advance(600_000);
    expect(await assigned(rig)).toBe(0);
    await policy(rig, 'limits', { selector: { matchLabels: { pool: 'gpu' } }, bounds: { maxPods: { max: 400 } } });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    expect(await assigned(rig)).toBe(4);
  });

  test('rolls out where the policy is for other nodes, and names one of those that joins without changing it', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names.slice(0, 2));
    await policy(rig, 'edge', { selector: { matchLabels: { site: 'edge' } }, deny: ['maxPods'] });
    await rig.apply('gpu', { config: { overlay: { maxPods: 100 } } });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    await rig.addNodes(['edge-1'], { pool: 'gpu', site: 'edge' });
    await rig.until('excluded', async () => (await rig.set('gpu')).status?.excluded?.[0]?.reason === 'FieldPolicyHere');
    expect((await rig.set('gpu')).status?.excluded).toEqual([
      {
        name: 'edge-1',
        reason: 'FieldPolicyHere',
        message: 'FieldPolicy edge: maxPods is set, and the field policy denies changing it',
      },
    ]);
    expect(await rig.reason('gpu')).toBe('RolloutComplete');
    expect(await assigned(rig)).toBe(2);
  });

  test('a policy with a mistake allows nothing, and the message has the mistake', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names);
    await policy(rig, 'typo', { deny: ['maxPodz'] });
    await rig.apply('gpu', { config: { overlay: { podPidsLimit: 1000 } } });
    await rig.untilReason('gpu', 'FieldPolicy');
    expect(await stalled(rig)).toContain('FieldPolicy typo: it cannot be used: deny[0]: "maxPodz" is not a field');
    await rig.client.delete(fieldPolicies, { name: 'typo' });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  });
});
