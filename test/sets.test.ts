/** NodeConfigSets from end to end in memory: the whole controller against the API server, nodes modelled. */
import { describe, expect, test } from 'vitest';
import { nodeConfigs } from '../src/api/node-config.js';
import { adoptAnnotation, type NodeConfigSetSpec, nodeConfigSets, pendingTaint } from '../src/api/node-config-set.js';
import { isNotFound } from '../src/api/status.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { completionText } from '../src/rollout/assessment.js';
import { createSetRig, type SetRig } from './set-rig.js';

const names = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);
const waves = [{ nodes: 1 }, { nodes: '50%' }, { nodes: '100%' }];
const strategy = { waves, maxUnavailable: 2, maxInTrial: 10 };
const overlay = (maxPods: number) => ({ config: { overlay: { maxPods } } });

async function completeSet(rig: SetRig, { count = 6, ...spec }: { count?: number } & Partial<NodeConfigSetSpec> = {}) {
  await rig.addNodes(names(count));
  await rig.apply('gpu', { ...overlay(100), strategy, ...spec });
  await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  return (await rig.set('gpu')).status!.currentRevision!;
}

const distinct = (values: Record<string, string | undefined>) => [...new Set(Object.values(values))];

describe('a NodeConfigSet', () => {
  test('reaches all its nodes in waves, and is Ready when the last has passed its trial', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    const { status } = await rig.set('gpu');
    expect(status).toMatchObject({ selectedNodes: 6, updatedNodes: 6, failedNodes: 0, waveText: '3/3' });
    expect(status?.updateRevision).toBe(current);
    expect(distinct(await rig.revisions())).toEqual([current]);
    const version = (await rig.set('gpu')).metadata.resourceVersion;
    await rig.apply('gpu', { ...overlay(100), strategy });
    await rig.clock.advance(60_000);
    expect((await rig.set('gpu')).metadata.resourceVersion).toBe(version);
  });

  test('a canary that fails halts the rollout, other nodes are untouched, and a correction reaches the failed node first', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    rig.behaviour = (_, text) => (text.includes('maxPods: 666') ? 'rolls back' : 'works');
    await rig.apply('gpu', { ...overlay(666), strategy });
    await rig.untilReason('gpu', 'Halted');
    const { status } = await rig.set('gpu');
    expect(status?.waiting).toContain(
      '1 failed, 0 allowed: node-0 (The kubelet kept crashing with the assigned config)',
    );
    expect(Object.values(await rig.revisions()).filter((one) => one === current)).toHaveLength(5);
    await rig.clock.advance(3_600_000);
    expect(Object.values(await rig.revisions()).filter((one) => one === current)).toHaveLength(5);
    await rig.apply('gpu', { ...overlay(120), strategy });
    await rig.until('node-0 first', async () => (await rig.revisions())['node-0'] !== status?.updateRevision);
    expect(Object.values(await rig.revisions()).filter((one) => one === current)).toHaveLength(5);
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    expect((await rig.set('gpu')).status).toMatchObject({ updatedNodes: 6, failedNodes: 0 });
  });

  test('after the undo of a revision that failed, no node counts as failed, and its entry keeps the names', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    rig.behaviour = (_, text) => (text.includes('maxPods: 666') ? 'rolls back' : 'works');
    await rig.apply('gpu', { ...overlay(666), strategy });
    await rig.untilReason('gpu', 'Halted');
    const revision = (await rig.set('gpu')).status?.updateRevision;
    await rig.rollout('gpu', { request: { action: 'Undo', revision } });
    await rig.untilReason('gpu', 'Undone');
    expect(distinct(await rig.revisions())).toEqual([current]);
    const status = (await rig.set('gpu')).status!;
    expect(status).toMatchObject({ failedNodes: 0, failed: { used: 0 } });
    expect(status.revisions?.[0]).toMatchObject({ revision, outcome: 'Undone', failedNodes: ['node-0'] });
    expect(completionText(status)).toBe('no node has it any more');
  });

  test('with onFailure Rollback all nodes go back, and the revision is not rolled out again before a retry', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    rig.behaviour = (node, text) => (text.includes('maxPods: 666') && node === 'node-3' ? 'rejects' : 'works');
    const rollback = { ...overlay(666), strategy: { ...strategy, onFailure: 'Rollback' as const } };
    await rig.apply('gpu', rollback);
    await rig.untilReason('gpu', 'RolledBack', 5000);
    const { status } = await rig.set('gpu');
    expect(status).toMatchObject({ currentRevision: current, rejectedRevision: status?.updateRevision });
    expect(distinct(await rig.revisions())).toEqual([current]);
    rig.behaviour = () => 'works';
    await rig.rollout('gpu', { request: { action: 'Retry', revision: status?.updateRevision } });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    expect((await rig.set('gpu')).status?.currentRevision).toBe(status?.updateRevision);
    expect((await rig.set('gpu')).status).not.toHaveProperty('rejectedRevision');
  });

  test('a wave waits for its soak and then for approval', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names(3));
    const careful = [{ nodes: 1, soak: '1h', approve: true }, { nodes: '100%' }];
    await rig.apply('gpu', { ...overlay(100), strategy: { ...strategy, waves: careful } });
    await rig.untilReason('gpu', 'Soaking', 10_000);
    await rig.untilReason('gpu', 'AwaitingApproval', 60_000);
    const { status } = await rig.set('gpu');
    expect(status?.waiting).toBe(`wave 1 of revision ${status?.updateRevision} waits for 'relet rollout approve gpu'`);
    await rig.clock.advance(3_600_000);
    expect(status).toMatchObject({ updatedNodes: 1, wave: 1 });
    await rig.rollout('gpu', { approve: { revision: 'another', wave: 1 } });
    await rig.clock.advance(60_000);
    expect(await rig.reason('gpu')).toBe('AwaitingApproval');
    await rig.rollout('gpu', { approve: { revision: status?.updateRevision, wave: 1 } });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
  });

  test('a pause by a person is recorded with the name, which leaves the set free for the next one', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names(1));
    await rig.apply('gpu', { ...overlay(100), strategy });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    const annotations = { 'relet.dev/by': 'system:anonymous', 'relet.dev/why': 'fan noise' };
    await rig.client.patch(
      nodeConfigSets,
      { name: 'gpu' },
      { metadata: { annotations }, spec: { paused: true } },
      { as: 'merge' },
    );
    await rig.until('the annotations are gone', async () => (await rig.set('gpu')).metadata.annotations === undefined);
    expect((await rig.set('gpu')).status).toMatchObject({
      waiting: `system:anonymous (unverified) paused the rollout: "fan noise"; 'relet rollout resume gpu' continues`,
      steps: [{ step: 'Paused', by: 'system:anonymous', why: 'fan noise' }, { step: 'Complete' }, { step: 'Started' }],
    });
  });

  test('a retry asks again for what was approved before', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names(3));
    const careful = [{ nodes: 1, approve: true }, { nodes: '100%' }];
    await rig.apply('gpu', { ...overlay(100), strategy: { ...strategy, waves: careful } });
    await rig.untilReason('gpu', 'AwaitingApproval', 10_000);
    const revision = (await rig.set('gpu')).status?.updateRevision;
    await rig.rollout('gpu', { approve: { revision, wave: 1 } });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    await rig.rollout('gpu', { request: { action: 'Undo', revision } });
    await rig.untilReason('gpu', 'Undone', 10_000);
    await rig.rollout('gpu', { request: { action: 'Retry', revision } });
    await rig.untilReason('gpu', 'AwaitingApproval', 10_000);
  });

  test('abort stops it where it is, and undo takes it back from all nodes', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    await rig.apply('gpu', { ...overlay(120), strategy });
    const update = async () => (await rig.set('gpu')).status?.updateRevision;
    await rig.until('a canary', async () => (await rig.set('gpu')).status?.inTrialNodes === 1);
    await rig.rollout('gpu', { request: { action: 'Abort', revision: await update() } });
    await rig.untilReason('gpu', 'Aborted');
    expect((await rig.revisions())['node-0']).toBe(await update());
    await rig.clock.advance(3_600_000);
    expect(Object.values(await rig.revisions()).filter((one) => one === current)).toHaveLength(5);
    await rig.rollout('gpu', { request: { action: 'Undo', revision: await update() } });
    await rig.untilReason('gpu', 'Undone');
    expect(distinct(await rig.revisions())).toEqual([current]);
    expect((await rig.set('gpu')).status?.rollout).toBeUndefined();
  });

  test('an undo of the first revision gives each node back what it had', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig, { count: 3 });
    await rig.rollout('gpu', { request: { action: 'Undo', revision: current } });
    await rig.untilReason('gpu', 'Undone');
    for (const { spec } of await rig.nodeConfigs()) expect(spec?.configSource).toBeUndefined();
  });

  test('a node that joins gets the current revision while another one is halted, and loses its taint then', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    rig.behaviour = (_, text) => (text.includes('maxPods: 666') ? 'rejects' : 'works');
    await rig.apply('gpu', { ...overlay(666), strategy });
    await rig.untilReason('gpu', 'Halted');
    await rig.addNodes(['node-new']);
    const taints = [
      { key: pendingTaint, effect: 'NoSchedule' },
      { key: 'other', effect: 'NoSchedule' },
    ];
    await rig.client.patch(nodes, { name: 'node-new' }, { spec: { taints } }, { as: 'merge' });
    await rig.until('it has the current revision', async () => (await rig.revisions())['node-new'] === current);
    const left = async () =>
      ((await rig.client.get(nodes, { name: 'node-new' })).spec as { taints: { key: string }[] }).taints;
    expect(await left()).toHaveLength(2);
    await rig.until('the taint is gone', async () => (await left()).length === 1);
    expect((await left())[0]?.key).toBe('other');
  });

  test('a person who re-points a node is respected and reported, and may give it back', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    const place = { namespace: 'relet-system', name: 'by-hand' };
    const metadata = { ...place, labels: { 'relet.dev/kubelet-config': 'true' } };
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: 'by hand' } };
    await rig.client.create(configMaps, { namespace: place.namespace }, configMap);
    const spec = { configSource: { configMap: { ...place, kubeletConfigKey: 'kubelet' } } };
    await rig.client.patch(nodeConfigs, { name: 'node-2' }, { spec }, { as: 'merge' });
    await rig.apply('gpu', { ...overlay(120), strategy });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    const { status } = await rig.set('gpu');
    expect(status?.excluded).toMatchObject([{ name: 'node-2', reason: 'TakenFromSet' }]);
    expect((await rig.nodeConfig('node-2')).spec).toEqual(spec);
    const adopt = { metadata: { annotations: { [adoptAnnotation]: 'gpu' } } };
    await rig.client.patch(nodeConfigs, { name: 'node-2' }, adopt, { as: 'merge' });
    await rig.until('it is back', async () => (await rig.revisions())['node-2'] === status?.updateRevision);
    expect(current).not.toBe(status?.updateRevision);
  });

  test('of two sets that select a node the older has it, and a node that changes pools changes sets', async () => {
    const rig = await createSetRig();
    await completeSet(rig);
    await rig.apply('second', { ...overlay(50), selector: {}, strategy });
    await rig.addNodes(['node-other'], { pool: 'cpu' });
    await rig.untilReason('second', 'RolloutComplete', 10_000);
    const second = (await rig.set('second')).status;
    expect(second).toMatchObject({ selectedNodes: 7, updatedNodes: 1, excludedNodes: 6 });
    expect(second?.excluded?.[0]).toMatchObject({ reason: 'OtherSet', message: 'it belongs to set gpu' });
    await rig.client.patch(nodes, { name: 'node-0' }, { metadata: { labels: { pool: 'cpu' } } }, { as: 'merge' });
    await rig.until('it changes sets', async () => (await rig.revisions())['node-0'] === second?.updateRevision);
  });

  test('a deleted set lets its nodes go with what they have, or resets them within maxUnavailable', async () => {
    const rig = await createSetRig();
    const current = await completeSet(rig);
    const isGone = () =>
      rig.set('gpu').then(
        () => false,
        (error: unknown) => isNotFound(error),
      );
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
    await rig.until('it is gone', isGone);
    for (const { metadata, spec } of await rig.nodeConfigs()) {
      expect(spec?.configSource).toBeDefined();
      expect(metadata.labels?.['relet.dev/set']).toBeUndefined();
    }
    await rig.apply('gpu', { ...overlay(100), strategy, onDelete: 'Reset' });
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    expect(distinct(await rig.revisions())).toEqual([current]);
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
    let most = 0;
    await rig.until('it is gone', async () => {
      const waiting = (await rig.nodeConfigs()).filter(
        ({ metadata, status }) => metadata.generation !== status?.observedGeneration,
      );
      most = Math.max(most, waiting.length);
      return isGone();
    });
    expect(most).toBe(2);
    for (const { spec } of await rig.nodeConfigs()) expect(spec?.configSource).toBeUndefined();
    const made = async () => (await rig.client.list(configMaps, { labelSelector: 'relet.dev/made-by-set' })).items;
    await rig.until('its ConfigMaps are garbage-collected', async () => (await made()).length === 0);
  });

  test.each([
    [
      'a drain is not accepted',
      { overlay: { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' } },
      'ImpactNotAccepted',
      'cpuManagerPolicy',
    ],
    ['a field is unknown', { overlay: { maxPodz: 10 } }, 'InvalidConfig', 'maxPodz'],
    [
      'a ConfigMap does not exist',
      { configMap: { namespace: 'relet-system', name: 'none', kubeletConfigKey: 'k' } },
      'ConfigMapUnusable',
      'relet-system/none',
    ],
  ] as const)('nothing is assigned where %s, and it says why', async (_, config, reason, words) => {
    const rig = await createSetRig();
    await rig.addNodes(names(2));
    await rig.until(
      'agents have reported',
      async () => (await rig.nodeConfigs()).filter(({ status }) => status?.config !== undefined).length === 2,
    );
    await rig.apply('gpu', { config, strategy });
    await rig.untilReason('gpu', reason);
    expect((await rig.set('gpu')).status?.waiting).toContain(words);
    expect(distinct(await rig.revisions())).toEqual([undefined]);
  });

  test('another controller continues after the first was killed in the middle', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names(12));
    await rig.apply('gpu', { ...overlay(100), strategy });
    for (let round = 0; (await rig.reason('gpu')) !== 'RolloutComplete'; round++) {
      expect(round).toBeLessThan(200);
      await rig.stopController();
      rig.startController();
      for (let step = 0; step < 12; step++) {
        await rig.clock.advance(5000);
        await rig.answer();
      }
    }
    expect((await rig.set('gpu')).status).toMatchObject({ updatedNodes: 12 });
  });
});
