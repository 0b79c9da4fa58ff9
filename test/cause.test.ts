/** The cause behind an error is in the status that has the error, also when no event of it is left. */
import { describe, expect, test } from 'vitest';
import type { Validator } from '../src/agent/validate/validate.js';
import { causeAnnotation, readCause } from '../src/api/node-annotations.js';
import type { NodeConfigObjectStatus } from '../src/api/node-config.js';
import { type ClusterRig, createClusterRig } from './cluster-rig.js';
import { eventually } from './eventually.js';

const cause = ({ seen, config }: ClusterRig): string | undefined =>
  seen?.kind === 'NodeConfig'
    ? (seen.status as NodeConfigObjectStatus).cause
    : readCause(seen?.metadata.annotations?.[causeAnnotation], config ?? {});

describe.each(['Node', 'NodeConfig'] as const)('through a %s', (through) => {
  test('a rejected config has its cause in the status, and a corrected one has none', async () => {
    const rig = await createClusterRig({ through });
    await rig.createConfigMap('bad', { kubelet: rig.node.config('kubeAPIQPS: -1') });
    await rig.point('bad');
    await rig.until('rejected', () => rig.config?.error !== undefined);
    expect(cause(rig)).toContain('kubeAPIQPS');
    await rig.patchConfigMap('bad', { data: { kubelet: rig.node.config('# good') } });
    await rig.until('active', () => rig.config?.active !== undefined && rig.config.error === undefined);
    expect(cause(rig)).toBeUndefined();
    if (through === 'Node') expect(rig.seen?.metadata.annotations).not.toHaveProperty([causeAnnotation]);
  });

  test('a ConfigMap that is missing is the cause of the error about it', async () => {
    const rig = await createClusterRig({ through });
    const point = () => rig.point('missing');
    await (through === 'Node' ? point() : rig.node.denied(point));
    await rig.until('an error', () => rig.config?.error !== undefined);
    expect(cause(rig)).toContain('missing');
  });
});

test('a config that is refused at the start of relet has its cause in the status, and an event of its own', async () => {
  const rig = await createClusterRig({ through: 'NodeConfig' });
  await rig.activate('gated', '# gated');
  await rig.node.stop();
  const refusing: Validator = {
    async validate({ checkpoint }) {
      if (checkpoint !== undefined)
        return {
          kind: 'rejected',
          reason: 'ValidationFailed',
          cause: new Error('unrecognized feature gate: X'),
          warnings: [],
        };
      const healthz = { host: '127.0.0.1', port: rig.node.healthzPort };
      return { kind: 'accepted', warnings: [], healthz, staticPodPath: undefined };
    },
  };
  rig.node.boot({ validator: refusing });
  await rig.until('rejected', () => rig.config?.error !== undefined);
  expect(cause(rig)).toBe('unrecognized feature gate: X');
  const refusals = async () => (await rig.events()).filter(({ reason }) => reason === 'KubeletConfigRejected');
  await eventually('one event', async () =>
    expect((await refusals()).map(({ message }) => message)).toEqual([
      expect.stringContaining('unrecognized feature gate: X'),
    ]),
  );
});

test('a cause of any length fits into the status', async () => {
  const rig = await createClusterRig({ through: 'NodeConfig' });
  await rig.createConfigMap('long', {
    kubelet: `${rig.node.config()}cpuManagerPolicy: ${'x'.repeat(40_000)}\nkubeAPIQPS: -1\n`,
  });
  await rig.point('long');
  await rig.until('rejected', () => rig.config?.error !== undefined);
  expect(cause(rig)!.length).toBeLessThanOrEqual(2000);
});
