/** Restarts are limited, changes are not: only a restart that is needed waits. The whole agent in memory, at default flags. */
import { expect, test } from 'vitest';
import { restartDelayedAnnotation } from '../src/api/node-annotations.js';
import type { KubeObject } from '../src/api/object.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { bootFlowRig, type FlowRig } from './rig/memory-node.js';

const configSource = (name: string) => ({
  configMap: { name, namespace: 'kube-system', kubeletConfigKey: 'kubelet' },
});
const invalid = 'failed to validate config, see Kubelet log for details';

async function delayedUntil(rig: FlowRig): Promise<string | undefined> {
  const { metadata } = await rig.client.get<KubeObject>(nodes, { name: 'node-a' });
  return metadata.annotations?.[restartDelayedAnnotation];
}

/** Waits at most two seconds. */
async function soon(rig: FlowRig, what: string, satisfied: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < 20; step++) {
    if (await satisfied()) return;
    await rig.clock.advance(100);
  }
  throw new Error(`not within two seconds: ${what}\n${JSON.stringify(await rig.status())}\n${rig.logLines.join('')}`);
}

/** A node whose free restarts are used up: it runs the first of the configs a and b. */
async function busyRig(): Promise<FlowRig> {
  const rig = await bootFlowRig();
  for (const name of ['a', 'b']) await rig.createConfigMap(name, `# ${name}`);
  await rig.createConfigMap('bad', 'kubeAPIQPS: -1');
  for (let change = 0; change < 10; change++) {
    const name = change % 2 === 0 ? 'b' : 'a';
    await rig.point(configSource(name));
    await soon(rig, `change ${change}`, async () => (await rig.status()).active === name);
  }
  return rig;
}

const version = async (rig: FlowRig, name: string) =>
  (await rig.client.get<KubeObject>(configMaps, { name, namespace: 'kube-system' })).metadata.resourceVersion;

test('the eleventh restart waits, the status shows until when, and the assignment is validated and recorded at once', async () => {
  const rig = await busyRig();
  const starts = rig.starts.length;
  await rig.point(configSource('b'));
  await soon(rig, 'assigned', async () => (await rig.status()).assigned === 'b');
  expect(await rig.status()).toMatchObject({ assigned: 'b', active: 'a' });
  await soon(rig, 'reported', async () => (await delayedUntil(rig)) !== undefined);
  expect(Date.parse((await delayedUntil(rig))!) - rig.clock.now()).toBeLessThanOrEqual(11_000);
  expect(rig.starts).toHaveLength(starts);
  expect(rig.logLines.join('')).toContain('config keeps changing, kubelet restart delayed');
  await rig.untilStatus({ assigned: 'b', active: 'b' });
  expect(rig.starts).toHaveLength(starts + 1);
  await rig.until('no longer delayed', async () => (await delayedUntil(rig)) === undefined);
});

test('a config that is rejected is reported within two seconds, however many restarts came before', async () => {
  const rig = await busyRig();
  await rig.point(null);
  await soon(rig, 'reset', async () => (await rig.status()).active === undefined);
  const starts = rig.starts.length;
  await rig.point(configSource('bad'));
  await soon(rig, 'rejected', async () => (await rig.status()).error === invalid);
  expect(rig.starts).toHaveLength(starts);
});

test('a second config that is rejected with the same error is reported at once too', async () => {
  const rig = await bootFlowRig();
  await rig.assign('bad-1', 'kubeAPIQPS: -1');
  await rig.untilStatus({ assigned: 'bad-1', error: invalid });
  await rig.assign('bad-2', 'kubeAPIQPS: -2');
  await rig.clock.advance(500);
  expect(await rig.status()).toMatchObject({ assigned: 'bad-2', error: invalid });
});

test('an edit that changes no byte of the config is reported within two seconds, however many restarts came before', async () => {
  const rig = await busyRig();
  const starts = rig.starts.length;
  await rig.annotate('a');
  const wanted = await version(rig, 'a');
  const reported = async () => {
    const node = await rig.client.get<KubeObject & { status: { config: object } }>(nodes, { name: 'node-a' });
    return JSON.stringify(node.status.config).split(`"resourceVersion":"${wanted}"`).length === 3;
  };
  await soon(rig, 'assigned and active', reported);
  expect(rig.starts).toHaveLength(starts);
});

test('a reset does not wait, also while the restart with another config does', async () => {
  const rig = await busyRig();
  await rig.point(configSource('b'));
  await soon(rig, 'it waits', async () => (await delayedUntil(rig)) !== undefined);
  await rig.point(null);
  await soon(rig, 'local', async () => rig.machine.running?.config.source === undefined);
  await soon(rig, 'reported', async () => (await delayedUntil(rig)) === undefined);
  expect(rig.starts.at(-1)).toBe('local');
});

test('a return to the last known good does not wait', async () => {
  const rig = await busyRig();
  await rig.passTrial();
  await rig.untilStatus({ lastKnownGood: 'a' });
  for (let change = 0; change < 5; change++)
    for (const name of ['b', 'a']) {
      await rig.point(configSource(name));
      await rig.untilStatus({ active: name });
    }
  await rig.point(configSource('b'));
  await rig.untilStatus({ active: 'b' });
  await rig.point(configSource('bad'));
  await soon(
    rig,
    'fallback',
    async () => (await rig.status()).active === 'a' && (await rig.status()).error === invalid,
  );
});

test('a config that was assigned while a restart waits takes its place, and what runs again is not restarted', async () => {
  const rig = await busyRig();
  await rig.point(configSource('b'));
  await soon(rig, 'it waits', async () => (await delayedUntil(rig)) !== undefined);
  const starts = rig.starts.length;
  await rig.point(configSource('a'));
  await soon(rig, 'a again', async () => (await rig.status()).assigned === 'a' && !(await delayedUntil(rig)));
  await rig.clock.advance(60_000);
  expect(rig.starts).toHaveLength(starts);
  expect(await rig.status()).toMatchObject({ assigned: 'a', active: 'a' });
});

test('a config that replaces one that was rolled back does not wait', async () => {
  const rig = await busyRig();
  await rig.assign('deadly', '# crashes');
  await rig.until('rolled back', async () => (await rig.status()).error?.startsWith('rolled back') === true);
  await rig.assign('good', '# good');
  await soon(rig, 'good', async () => (await rig.status()).active === 'good');
});

test('the error of the config before is not reported while the restart with another one waits', async () => {
  const rig = await busyRig();
  await rig.point(configSource('bad'));
  await soon(rig, 'rejected', async () => (await rig.status()).error === invalid);
  await rig.point(configSource('b'));
  await soon(rig, 'b', async () => (await rig.status()).assigned === 'b');
  expect(await rig.status()).toEqual({ assigned: 'b', active: undefined, lastKnownGood: undefined, error: undefined });
});

test('a thousand edits in a minute are read once a second and restart the kubelet sixteen times', async () => {
  const rig = await bootFlowRig();
  await rig.activate('disputed', '# edit 0');
  const place = { name: 'disputed', namespace: 'kube-system' };
  const config = (edit: number) =>
    `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n# edit ${edit}\n`;
  for (let edit = 1; edit <= 1000; edit++) {
    await rig.client.patch(configMaps, place, { data: { kubelet: config(edit) } }, { as: 'merge' });
    await rig.clock.advance(60);
  }
  expect(rig.starts.length - 2).toBeLessThanOrEqual(16);
  expect(rig.logLines.filter((line) => line.includes('config assigned')).length).toBeLessThanOrEqual(72);
  await rig.clock.advance(15_000);
  expect(rig.startedDocuments.at(-1)).toContain('# edit 1000\n');
});
