/** relet gc, in a pipe. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../src/api/object.js';
import { configMaps } from '../src/kube/resource-type.js';
import { header, OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;

beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster?.close());

describe('relet gc', () => {
  const gc = (words = '') => cluster.relet(`gc --min-age 0 --history ${words}`.trim());

  test('asks first, leaves what is used, removes the rest', async () => {
    for (const name of ['alpha', 'beta']) {
      await cluster.node(name, { does: 'prove' });
      for (const maxPods of [30, 31]) await cluster.relet(`set ${name} maxPods=${maxPods} --yes`);
    }
    const before = await cluster.configMapNames();
    expect((await gc()).stderr).toContain('use --yes');
    expect((await gc('--dry-run')).stdout).toMatch(/would be removed \(dry run\)/);
    expect(await cluster.configMapNames()).toEqual(before);
    expect((await gc('--yes')).status).toBe(0);
    const after = await cluster.configMapNames();
    expect(after.length).toBeLessThan(before.length);
    const used = await Promise.all(['alpha', 'beta'].map((name) => cluster.sourceOf(name)));
    expect(after).toEqual(expect.arrayContaining(used));
  });

  test('covers kube-system too, where configs were stored before', async () => {
    const labels = { 'relet.dev/kubelet-config': 'true' };
    const old = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'former', labels },
      data: { kubelet: header },
    };
    await cluster.admin.create(configMaps, { namespace: 'kube-system' }, old);
    expect((await gc('-n relet-system --dry-run')).stdout).not.toContain('former');
    expect((await gc('--yes')).stdout).toContain('kube-system/former');
    const { items } = await cluster.admin.list<KubeObject>(configMaps, { namespace: 'kube-system' });
    expect(items.map(({ metadata }) => metadata.name)).not.toContain('former');
  });

  test('leaves young ones, and what undo could want', async () => {
    await cluster.node('used', { does: 'prove' });
    await cluster.relet('set used maxPods=32 --yes');
    await cluster.relet('push - --name young', { stdin: `${header}maxPods: 78\n` });
    const { stdout } = await cluster.relet('gc --yes');
    expect(stdout).toMatch(/^relet-system\/young-\w+ {3}kept: younger than --min-age$/m);
    expect(stdout).toMatch(/^relet-system\/kubelet-config-\w+ {3}kept: in use by /m);
    expect(stdout).toMatch(/^Kept: .*\d younger than 60m \(--min-age\)\.$/m);
  });

  test('-o json says why each is kept or removed', async () => {
    await cluster.node('seen', { does: 'prove' });
    await cluster.relet('set seen maxPods=33 --yes');
    await cluster.relet('push - --name unused', { stdin: `${header}maxPods: 79\n` });
    const { stdout } = await cluster.relet('gc --min-age 0s --dry-run -o json');
    const { kind, configMaps: found } = JSON.parse(stdout);
    expect(kind).toBe('GcResult');
    expect(found).toContainEqual({
      configMap: `relet-system/${await cluster.sourceOf('seen')}`,
      reason: 'InUse',
      nodes: expect.arrayContaining(['seen']),
      removed: false,
    });
    expect(found).toContainEqual(
      expect.objectContaining({ configMap: expect.stringContaining('/unused-'), reason: 'Unused' }),
    );
  });
});
