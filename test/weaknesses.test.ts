/** Weaknesses of Dynamic Kubelet Configuration that Kubernetes did not test or got wrong (docs/weaknesses.md): X1–X15, each as relet does it, but for those of whole processes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { previousConfigRecord } from '../src/agent/candidates.js';
import { defaultTrialLimits, trialRecord } from '../src/agent/trial/trial.js';
import { nodes } from '../src/kube/resource-type.js';
import { type ClusterRig, clientFor, createClusterRig, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';

const download = 'failed to sync: failed to download config, see Kubelet log for details';

describe('status', () => {
  test('X1 an error of following goes away when the reference does', async () => {
    const rig = await createClusterRig();
    await rig.point('nowhere');
    await rig.until('error', () => rig.config?.error === download);
    await rig.assign(null);
    await rig.until('clean', () => rig.config !== undefined && Object.keys(rig.config).length === 0);
    expect(rig.condition?.status).toBe('True');
  });

  test('an error goes with the assignment it belongs to, and is never shown with the next one', async () => {
    const rig = await createClusterRig();
    await rig.createConfigMap('bad', { kubelet: `${rig.node.config()}eventRecordQPS: -1\n` });
    await rig.createConfigMap('good', { kubelet: rig.node.config() });
    await rig.point('bad');
    await rig.until('rejected', () => rig.config?.error !== undefined);
    await rig.point('good');
    expect(await errorsUntilActive(rig, 'good')).toEqual([]);
  });

  test('X2 a status that the API did not take is written again', async () => {
    const rig = await createClusterRig();
    const { metadata } = await rig.activate('good');
    // Somebody wipes it: as good as a write that was lost.
    await rig.admin.patch(
      nodes,
      { name: nodeName, subresource: 'status' },
      { status: { config: null } },
      { as: 'merge' },
    );
    await rig.until('repaired', () => rig.config?.active?.configMap?.uid === metadata.uid);
  });

  test('a Node that is deleted and registers again gets its status again, and nothing restarts', async () => {
    const rig = await createClusterRig();
    await rig.admin.delete(nodes, { name: nodeName });
    await rig.until('gone', () => rig.seen === undefined);
    await rig.admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } });
    await rig.until('status again', () => rig.config !== undefined);
    expect(rig.node.starts()).toHaveLength(1);
  });
});

describe('equal bytes', () => {
  test('X5 an edit of metadata moves the records, not the kubelet', async () => {
    const rig = await createClusterRig();
    await rig.activate('good');
    const starts = rig.node.starts().length;
    const { metadata } = await rig.patchConfigMap('good', { metadata: { labels: { team: 'a' } } });
    await rig.until('moved', () => rig.config?.active?.configMap?.resourceVersion === metadata.resourceVersion);
    expect(rig.config?.assigned).toEqual(rig.config?.active);
    expect(rig.node.starts()).toHaveLength(starts);
    await eventually('an event shows that nothing was restarted', async () =>
      expect((await rig.events()).at(-1)?.reason).toBe('KubeletConfigUnchanged'),
    );
  });

  test('the last known good follows bytes that passed their trial before, after a trial under their new identity', async () => {
    const rig = await createClusterRig();
    await rig.activate('good');
    await rig.node.passTrial();
    const { metadata } = await rig.patchConfigMap('good', { metadata: { labels: { team: 'a' } } });
    await rig.until('active', () => rig.config?.active?.configMap?.resourceVersion === metadata.resourceVersion);
    expect(rig.config?.lastKnownGood?.configMap?.resourceVersion).not.toBe(metadata.resourceVersion);
    await rig.node.passTrial();
    await rig.until('moved', () => rig.config?.lastKnownGood?.configMap?.resourceVersion === metadata.resourceVersion);
    expect(rig.config?.active).toEqual(rig.config?.lastKnownGood);
  });
});

describe('the reference', () => {
  test('X6 a key that lives only in binaryData is refused before anything is stopped', async () => {
    const rig = await createClusterRig();
    await rig.createConfigMap(
      'binary',
      {},
      { binaryData: { kubelet: Buffer.from(rig.node.config()).toString('base64') } },
    );
    await rig.point('binary');
    await rig.until('error', () => rig.config?.error !== undefined);
    expect(rig.config?.error).toBe('failed to load config, see Kubelet log for details');
    expect(rig.node.log()).toContain('only under binaryData');
    expect(rig.node.starts()).toHaveLength(1);
  });

  // 1.11 to 1.14 find a wrong gate only when they set it, and would die of it at every start.
  test.each(['v1.11.0', 'v1.14.10', 'v1.15.0'])(
    'X7 an unknown gate is refused before anything is stopped: %s',
    async (kubeletVersion) => {
      const rig = await createClusterRig({ node: { kubeletVersion } });
      await rig.createConfigMap('gate', { kubelet: rig.node.config('featureGates: {NoSuchGate: true}') });
      await rig.point('gate');
      await rig.until('error', () => rig.config?.error !== undefined);
      expect(rig.config).toMatchObject({
        assigned: { configMap: { name: 'gate' } },
        error: 'failed to validate config, see Kubelet log for details',
      });
      expect(rig.node.log()).toMatch(/unrecognized (feature gate|key): ?"?NoSuchGate/);
      expect(rig.node.starts()).toHaveLength(1);
    },
  );

  test('X12 a Node created with a malformed reference is reported, and nothing restarts', async () => {
    const rig = await createClusterRig();
    await rig.admin.delete(nodes, { name: nodeName });
    const malformed = { configMap: { namespace: 'kube-system' } };
    await rig.admin.create(
      nodes,
      {},
      { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName }, spec: { configSource: malformed } },
    );
    // The server takes no write to such a Node, not even of its status: the host and the log know nevertheless.
    await rig.node.until('error', () => rig.node.status()?.error === download);
    expect(rig.node.log()).toContain('spec.configSource.configMap.name must be set');
    expect(rig.node.starts()).toHaveLength(1);
  });

  test('X13 a node may clear its own reference, and goes back to local', async () => {
    const rig = await createClusterRig();
    await rig.activate('good');
    await clientFor(rig.nodeKubeconfig).patch(
      nodes,
      { name: nodeName },
      { spec: { configSource: null } },
      { as: 'merge' },
    );
    await rig.until('local', () => rig.config !== undefined && Object.keys(rig.config).length === 0);
    expect(rig.node.starts().at(-1)?.configFile).toBeUndefined();
  });

  test('X15 two references that differ only in their key share a checkpoint and run what they name', async () => {
    const rig = await createClusterRig();
    await rig.createConfigMap('both', { one: rig.node.config('# one'), two: rig.node.config('# two') });
    for (const key of ['one', 'two', 'one']) {
      await rig.point('both', key);
      await rig.until(key, () => rig.config?.active?.configMap?.kubeletConfigKey === key);
      expect(rig.node.starts().at(-1)?.config).toContain(`# ${key}`);
    }
  });

  test('a lost checkpoint is downloaded again and used, without a person', async () => {
    const rig = await createClusterRig();
    const { metadata } = await rig.activate('good');
    await rig.node.stop();
    writeFileSync(join(rig.node.dir, 'checkpoints', metadata.uid!, metadata.resourceVersion!, 'kubelet'), 'rot');
    const before = rig.node.starts().length;
    rig.node.boot();
    await rig.until('used again', () =>
      rig.node
        .starts()
        .slice(before)
        .some(({ config }) => config.includes('KubeletConfiguration')),
    );
    await rig.until(
      'no error',
      () => rig.config?.active?.configMap?.uid === metadata.uid && rig.config?.error === undefined,
    );
  });
});

test('a node whose kubelet keeps crashing follows a new assignment', async () => {
  const trial = { ...defaultTrialLimits, failedStarts: 1000 };
  const rig = await createClusterRig({ node: { options: { trial } } });
  await rig.createConfigMap('killer', { kubelet: rig.node.config('# exit 1') });
  await rig.createConfigMap('good', { kubelet: rig.node.config() });
  await rig.point('killer');
  await rig.node.until('crashing', () => (rig.node.state.read(trialRecord)?.deaths ?? 0) >= 2);
  await rig.point('good');
  await rig.until('active', () => rig.config?.active?.configMap?.name === 'good');
  expect(rig.config?.error).toBeUndefined();
});

describe('a config that was rolled back', () => {
  test('is not tried again for an edit of metadata, and gets a new chance when it is assigned again', async () => {
    const rig = await createClusterRig();
    const deadly = await rig.createConfigMap('deadly', { kubelet: rig.node.config('# exit 1') });
    await rig.createConfigMap('good', { kubelet: rig.node.config() });
    const tries = () => rig.node.starts().filter(({ configFile }) => configFile?.includes(deadly.metadata.uid!)).length;
    const rolledBack = () => rig.config?.error?.startsWith('rolled back') === true;
    await rig.point('deadly');
    await rig.until('rolled back', rolledBack);
    expect(tries()).toBe(3);
    const edited = await rig.patchConfigMap('deadly', { metadata: { labels: { team: 'a' } } });
    const { resourceVersion } = edited.metadata;
    await rig.until('seen', () => rig.config?.assigned?.configMap?.resourceVersion === resourceVersion);
    expect(rolledBack()).toBe(true);

    await rig.point('good');
    expect(await errorsUntilActive(rig, 'good')).toEqual([]);
    expect(tries()).toBe(3);
    expect(rig.node.log()).not.toMatch(/ERROR rolled back .*configmaps\/good/);
    await rig.point('deadly');
    // Nor does it wait for its earlier crashes: the count starts again.
    await rig.until('rolled back again', rolledBack);
    expect(tries()).toBe(6);
  });
});

describe('no instruction', () => {
  test('a Node that is gone changes nothing', async () => {
    const rig = await createClusterRig();
    await rig.activate('good');
    const starts = rig.node.starts().length;
    await rig.admin.delete(nodes, { name: nodeName });
    await rig.node.until('noticed', () => rig.node.log().includes('Node deleted, keeping the current config'));
    await rig.node.stop();
    rig.node.boot();
    await rig.node.until('no assignment', () =>
      rig.node.log().includes('no assignment found, keeping the current config'),
    );
    await rig.node.until('started', () => rig.node.starts().length === starts + 1);
    expect(rig.node.starts().at(-1)?.configFile).toContain('checkpoints');
  });
});

describe('reset', () => {
  test('local is tried while the previous config is kept, and both records are empty once it was healthy', async () => {
    const rig = await createClusterRig();
    await rig.activate('good');
    await rig.node.passTrial();
    await rig.assign(null);
    await rig.until('local', () => rig.config !== undefined && Object.keys(rig.config).length === 0);
    expect(rig.node.state.read(previousConfigRecord)).toBeUndefined();
    expect(rig.node.state.lastKnownGood()).toEqual({ source: undefined });
  });
});

/** Every error that was shown with this assignment on its way to being active. */
async function errorsUntilActive(rig: ClusterRig, name: string): Promise<string[]> {
  const errors: string[] = [];
  await rig.until(`${name} is active`, () => {
    const { assigned, active, error } = rig.config ?? {};
    if (assigned?.configMap?.name === name && error !== undefined) errors.push(error);
    return active?.configMap?.name === name;
  });
  return errors;
}
