/**
 * The bytes that the kubelet runs with, assigned under another identity: another ConfigMap, key or version. No restart; a trial by the
 * clock, with its events; and the last known good moves when it has passed.
 */
import { describe, expect, test } from 'vitest';
import { bootFlowRig, createFlowRig, type FlowRig, quietUnit } from '../../test/rig/memory-node.js';
import type { KubeObject } from '../api/object.js';
import { configMaps } from '../kube/resource-type.js';
import type { StartedConfig } from './drivers/driver.js';
import { trialRecord } from './trial/trial.js';

const minute = 60_000;
const crashLoop = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';
const point = (rig: FlowRig, name: string) =>
  rig.point({ configMap: { name, namespace: 'kube-system', kubeletConfigKey: 'kubelet' } });

/** It runs `good`, which is last known good. */
async function goodRig(prepare: (rig: FlowRig) => void = () => {}): Promise<FlowRig> {
  const rig = await createFlowRig();
  prepare(rig);
  rig.boot();
  await rig.makeLastKnownGood('good', '# good');
  await rig.untilStatus({ lastKnownGood: 'good' });
  return rig;
}

async function reasons(rig: FlowRig): Promise<string[]> {
  const events = (await rig.events()) as unknown as (KubeObject & { reason: string })[];
  return events
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map(({ reason }) => reason.replace('KubeletConfig', ''));
}

describe('the same bytes under another name', () => {
  test('are on trial for ten minutes without a restart, and become last known good with the events of a change', async () => {
    const rig = await goodRig();
    const before = (await reasons(rig)).length;
    await rig.assign('same', '# good');
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'good' });
    await rig.clock.advance(9 * minute);
    expect((await rig.status()).lastKnownGood).toBe('good');
    await rig.clock.advance(2 * minute);
    expect(await rig.status()).toEqual({ assigned: 'same', active: 'same', lastKnownGood: 'same', error: undefined });
    expect((await reasons(rig)).slice(before)).toEqual(['Changed', 'Unchanged', 'TrialPassed']);
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('as another version of the ConfigMap: the last known good stays the version that passed its trial', async () => {
    const rig = await goodRig();
    const recorded = () =>
      (rig.state.lastKnownGood() as { source: { resourceVersion: string } }).source.resourceVersion;
    const passed = recorded();
    await rig.annotate('good');
    const { metadata } = await rig.client.get<KubeObject>(configMaps, { name: 'good', namespace: 'kube-system' });
    await rig.until('assigned', () => JSON.stringify(rig.state.assigned()).includes(`"${metadata.resourceVersion}"`));
    await rig.clock.advance(minute);
    expect(recorded()).toBe(passed);
    await rig.passTrial();
    expect(recorded()).toBe(metadata.resourceVersion);
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('begin their time again where the config before was on trial itself', async () => {
    const rig = await bootFlowRig();
    await rig.activate('one', '# good');
    await rig.clock.advance(9 * minute);
    await rig.activate('two', '# good');
    await rig.clock.advance(9 * minute);
    expect((await rig.status()).lastKnownGood).toBeUndefined();
    await rig.clock.advance(2 * minute);
    expect((await rig.status()).lastKnownGood).toBe('two');
  });

  test('are not on trial where the identity that passed its trial is assigned again', async () => {
    const rig = await goodRig();
    await rig.activate('same', '# good');
    await point(rig, 'good');
    await rig.untilStatus({ assigned: 'good', active: 'good', lastKnownGood: 'good' });
    await rig.clock.advance(2 * minute);
    expect(rig.state.read(trialRecord)).toBeUndefined();
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('after a config was rejected, the status returns to the last known good, and the bytes under a new name are on trial', async () => {
    const rig = await goodRig();
    await rig.activate('same', '# good');
    await rig.assign('bad', 'kubeAPIQPS: -1');
    await rig.untilStatus({ assigned: 'bad', active: 'good', lastKnownGood: 'good' });
    await point(rig, 'same');
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'good' });
    await rig.passTrial();
    await rig.untilStatus({ lastKnownGood: 'same' });
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('after a rollback: the fallback runs on, and is on trial under its new name', async () => {
    const rig = await goodRig();
    await rig.assign('deadly', '# crashes');
    await rig.untilStatus({ assigned: 'deadly', active: 'good', error: crashLoop });
    const starts = rig.starts.length;
    await rig.assign('same', '# good');
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'good' });
    await rig.passTrial();
    await rig.untilStatus({ lastKnownGood: 'same' });
    expect(rig.starts).toHaveLength(starts);
  });

  test.each([
    [
      'a restart of relet',
      async (rig: FlowRig) => {
        await rig.stop();
        rig.boot();
      },
    ],
    ['a reboot', (rig: FlowRig) => rig.reboot()],
  ])('keep the healthy time of their trial over %s', async (_what, restart) => {
    const rig = await goodRig();
    await rig.activate('same', '# good');
    await rig.clock.advance(8 * minute);
    await restart(rig);
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'good' });
    await rig.clock.advance(4 * minute);
    expect((await rig.status()).lastKnownGood).toBe('same');
  });

  test('that were assigned while no relet ran are on trial from the next start on', async () => {
    const rig = await goodRig();
    await rig.stop();
    await rig.assign('same', '# good');
    rig.boot();
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'good' });
    await rig.passTrial();
    await rig.untilStatus({ lastKnownGood: 'same' });
  });

  test('in a unit of its own: the host keeps the config under the new name when the trial has passed, not before', async () => {
    const kept: (string | undefined)[] = [];
    const keep = async ({ source }: StartedConfig) => void kept.push(source?.name);
    const rig = await goodRig((created) => (created.unit = { ...quietUnit, keep }));
    kept.length = 0;
    await rig.activate('same', '# good');
    await rig.clock.advance(9 * minute);
    expect(kept).toEqual([]);
    await rig.clock.advance(2 * minute);
    expect(kept.at(-1)).toBe('same');
  });

  test('that begin to crash are rolled back, and local runs: the last known good has the same bytes', async () => {
    const rig = await goodRig();
    await rig.activate('same', '# good');
    rig.machine.behaviour = ({ file }) => (file ? { exits: { afterMs: 10, code: 1 } } : {});
    rig.machine.running?.exit({ code: 1, signal: null });
    await rig.untilStatus({ assigned: 'same', active: undefined as never, error: crashLoop });
    expect(rig.starts.at(-1)).toBe('local');
  });
});

describe('events where the reference is the Node', () => {
  test('KubeletConfigChanged names each assigned config, also one that is rejected; the next event says that it was not started', async () => {
    const rig = await goodRig();
    await rig.assign('bad', 'kubeAPIQPS: -1');
    await rig.untilStatus({ assigned: 'bad', active: 'good' });
    await point(rig, 'good');
    await rig.untilStatus({ assigned: 'good', active: 'good' });
    await rig.clock.advance(1000);
    const events = (await rig.events()) as (KubeObject & { reason: string; message: string })[];
    const all = events.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const named = all.map(({ reason, message }) => [reason, /configmaps\/([a-z]+)/.exec(message)?.[1]]);
    expect(named).toEqual([
      ['KubeletConfigChanged', 'good'],
      ['KubeletConfigTrialPassed', 'good'],
      ['KubeletConfigChanged', 'bad'],
      ['KubeletConfigRejected', 'bad'],
      ['KubeletConfigChanged', 'good'],
      ['KubeletConfigUnchanged', 'good'],
    ]);
    expect(all[3]?.message).toMatch(
      /^Kubelet not started with \/api\/v1\/namespaces\/kube-system\/configmaps\/bad, UID: /,
    );
    expect(all[5]?.message).toMatch(/^Kubelet not restarted: it already runs with the document of \/api/);
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('a config on trial that is replaced by a bad one: the kubelet restarts with local, and the newest KubeletConfigChanged names the bad one', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good', '# good');
    await rig.assign('bad', 'kubeAPIQPS: -1');
    await rig.until('local', () => rig.starts.at(-1) === 'local');
    await rig.clock.advance(5000);
    const changed = (await rig.events()).filter(({ reason }) => reason === 'KubeletConfigChanged');
    expect(changed.map(({ message }) => /configmaps\/([a-z]+)/.exec(message)?.[1])).toEqual(['good', 'bad']);
  });

  test('no two KubeletConfigChanged have the same time: the newest can be found', async () => {
    const rig = await bootFlowRig();
    for (const name of ['a', 'b', 'c', 'd']) {
      await rig.assign(name, `# ${name}`);
      await rig.until(name, () => rig.starts.at(-1) === name, 10);
    }
    await rig.clock.advance(1000);
    const events = (await rig.events()) as { reason: string; message: string; firstTimestamp: string }[];
    const changed = events.filter(({ reason }) => reason === 'KubeletConfigChanged');
    const newest = changed.toSorted((a, b) => (a.firstTimestamp < b.firstTimestamp ? 1 : -1))[0];
    expect(new Set(changed.map(({ firstTimestamp }) => firstTimestamp)).size).toBe(4);
    expect(newest?.message).toContain('configmaps/d,');
  });
});
