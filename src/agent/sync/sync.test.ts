/** Following the reference, with a real API server: the end-to-end part of the conformance list, one state after the other. */
import { describe, expect, test } from 'vitest';
import { createClusterRig } from '../../../test/cluster-rig.js';

const load = 'failed to load config, see Kubelet log for details';
const validate = 'failed to validate config, see Kubelet log for details';

describe('E1 the Node is edited', () => {
  test('E1.1 nothing assigned is an empty object', async () => {
    const rig = await createClusterRig();
    expect(rig.config).toEqual({});
    expect(rig.condition).toMatchObject({ status: 'True', message: 'using current (default)' });
  });

  test('E1.11 a good ConfigMap becomes assigned and active', async () => {
    const rig = await createClusterRig();
    const { metadata } = await rig.activate('good', 'eventRecordQPS: 7');
    const configMap = {
      namespace: 'kube-system',
      name: 'good',
      kubeletConfigKey: 'kubelet',
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    };
    expect(rig.config).toEqual({ assigned: { configMap }, active: { configMap } });
    expect(rig.condition).toMatchObject({
      status: 'True',
      reason: 'passing all checks',
      message: `using current (UID: "${metadata.uid}")`,
    });
    expect(rig.node.starts().at(-1)?.config).toContain('eventRecordQPS: 7');
    const events = await rig.events();
    expect(events.map(({ reason, message }) => ({ reason, message }))).toEqual([
      {
        reason: 'KubeletConfigChanged',
        message: `Kubelet restarting to use /api/v1/namespaces/kube-system/configmaps/good, UID: ${metadata.uid}, ResourceVersion: ${metadata.resourceVersion}, KubeletConfigKey: kubelet`,
      },
    ]);
  });

  test.each([
    ['E1.12', 'does not parse', '{0xdeadbeef}', load, 'failed to parse current'],
    [
      'E1.13',
      'is invalid',
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nkubeAPIQPS: -1\n',
      validate,
      'failed to validate current',
    ],
  ])('%s a ConfigMap that %s is assigned, reported and never started', async (_id, _what, text, error, reason) => {
    const rig = await createClusterRig();
    const { metadata } = await rig.createConfigMap('bad', { kubelet: text });
    await rig.point('bad');
    await rig.until('error', () => rig.config?.error !== undefined);
    expect(rig.config).toMatchObject({ assigned: { configMap: { name: 'bad', uid: metadata.uid } }, error });
    expect(rig.config?.active).toBeUndefined();
    expect(rig.condition).toMatchObject({
      status: 'False',
      message: 'using last-known-good (default)',
      reason: `${reason} (UID: "${metadata.uid}")`,
    });
    expect(rig.node.starts()).toHaveLength(1);
    expect(rig.node.log()).toContain(error);
    expect((await rig.events()).map(({ reason }) => reason)).toEqual(['KubeletConfigChanged', 'KubeletConfigRejected']);
  });
});
