/** State after a set returns to another revision, expires or ends: every node has a config that exists, and no other node was touched. */
import { describe, expect, test } from 'vitest';
import { owedAnnotation } from '../src/api/node-annotations.js';
import { nodeConfigs } from '../src/api/node-config.js';
import { holdAnnotation, type NodeConfigSetSpec, nodeConfigSets } from '../src/api/node-config-set.js';
import { isNotFound } from '../src/api/status.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { createSetRig, type SetRig } from './set-rig.js';

const names = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);
const overlay = (maxPods: number) => ({ config: { overlay: { maxPods } } });
const strategy = { waves: [{ nodes: '100%' }], maxUnavailable: 3, maxInTrial: 10 };

async function complete(rig: SetRig, set: string, spec: Partial<NodeConfigSetSpec> & ReturnType<typeof overlay>) {
  await rig.apply(set, { strategy, ...spec });
  await rig.untilReason(set, 'RolloutComplete', 10_000);
}

async function rigWith(count: number, spec: Partial<NodeConfigSetSpec> = {}): Promise<SetRig> {
  const rig = await createSetRig();
  await rig.addNodes(names(count));
  await complete(rig, 'gpu', { ...spec, ...overlay(100) });
  return rig;
}

const updateOf = async (rig: SetRig, set: string) => (await rig.set(set)).status!.updateRevision!;

async function request(rig: SetRig, set: string, action: 'Abort' | 'Undo' | 'Retry'): Promise<void> {
  await rig.rollout(set, { request: { action, revision: await updateOf(rig, set) } });
}

const annotateNode = (rig: SetRig, name: string, annotations: Record<string, string | null>) =>
  rig.client.patch(nodes, { name }, { metadata: { annotations } }, { as: 'merge' });

const label = (rig: SetRig, name: string, pool: string) =>
  rig.client.patch(nodes, { name }, { metadata: { labels: { pool } } }, { as: 'merge' });

const assignedTo = async (rig: SetRig, name: string) =>
  (await rig.nodeConfig(name)).spec?.configSource?.configMap?.name;

/** Every node is assigned a ConfigMap that is there, or its local config. */
async function expectExisting(rig: SetRig): Promise<void> {
  const made = (await rig.client.list(configMaps)).items.map(({ metadata }) => metadata.name);
  for (const { spec } of await rig.nodeConfigs())
    if (spec?.configSource?.configMap) expect(made).toContain(spec.configSource.configMap.name);
}

describe('an undo or a rollback', () => {
  test('to a revision that was complete after a retry finds its ConfigMap, although no node needed it before', async () => {
    const rig = await createSetRig();
    await rig.addNodes(names(3));
    await rig.apply('gpu', { ...overlay(100), strategy });
    await rig.until('all on trial', async () => (await rig.set('gpu')).status?.inTrialNodes === 3);
    await request(rig, 'gpu', 'Abort');
    await rig.untilReason('gpu', 'Aborted');
    await request(rig, 'gpu', 'Retry');
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    rig.behaviour = (node, text) => (text.includes('maxPods: 666') && node === 'node-2' ? 'rolls back' : 'works');
    await rig.apply('gpu', { ...overlay(666), strategy: { ...strategy, maxUnavailable: 1, onFailure: 'Rollback' } });
    await rig.untilReason('gpu', 'RolledBack', 10_000);
    await expectExisting(rig);
  });

  test('to what the set before had assigned finds its ConfigMap, although that set is gone', async () => {
    const rig = await rigWith(3);
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
    await rig.until('it is gone', () => isGone(rig));
    const before = await assignedTo(rig, 'node-0');
    await complete(rig, 'second', overlay(120));
    await rig.clock.advance(60_000);
    await request(rig, 'second', 'Undo');
    await rig.untilReason('second', 'Undone', 5000);
    expect(await assignedTo(rig, 'node-0')).toBe(before);
    await expectExisting(rig);
  });

  test('reaches a node that was held meanwhile, once it is released', async () => {
    const rig = await rigWith(3);
    await complete(rig, 'gpu', { ...overlay(120), expiresAfter: '30m' });
    await annotateNode(rig, 'node-1', { [holdAnnotation]: 'a disk is replaced' });
    await rig.untilReason('gpu', 'Expired', 10_000);
    const { currentRevision, rejectedRevision } = (await rig.set('gpu')).status!;
    expect((await rig.revisions())['node-1']).toBe(rejectedRevision);
    await annotateNode(rig, 'node-1', { [holdAnnotation]: null });
    await rig.until('it is taken back', async () => (await rig.revisions())['node-1'] === currentRevision);
    await rig.untilReason('gpu', 'Expired', 5000);
  });

  test('gives a node that left the set and came back what it had before the set', async () => {
    const rig = await rigWith(2);
    const isOfSet = async () => (await rig.nodeConfig('node-1')).metadata.labels?.['relet.dev/set'] === 'gpu';
    await label(rig, 'node-1', 'cpu');
    await rig.until('it is released', async () => !(await isOfSet()));
    await label(rig, 'node-1', 'gpu');
    await rig.until('it is claimed again', isOfSet);
    await request(rig, 'gpu', 'Undo');
    await rig.untilReason('gpu', 'Undone', 5000);
    expect(await assignedTo(rig, 'node-1')).toBeUndefined();
  });
});

test('a correction is compared with what the node runs, not with what it rolled back', async () => {
  const rig = await rigWith(2);
  rig.behaviour = (_, text) => (text.includes('port: 10269') ? 'rolls back' : 'works');
  const config = { overlay: { cpuManagerPolicy: 'static', reservedSystemCPUs: '0', port: 10269 } };
  await rig.apply('gpu', { config, accept: ['StateFile'], strategy: { ...strategy, drain: { policy: 'Never' } } });
  await rig.untilReason('gpu', 'Halted');
  await complete(rig, 'gpu', overlay(130));
});

test.each(['gpu', 'other'])('nodes of a deleted set that were reset by hand are free for set %s', async (name) => {
  const rig = await rigWith(2);
  await rig.client.delete(nodeConfigSets, { name: 'gpu' });
  await rig.until('it is gone', () => isGone(rig));
  for (const { metadata } of await rig.nodeConfigs())
    await rig.client.patch(nodeConfigs, { name: metadata.name }, { spec: { configSource: null } }, { as: 'merge' });
  await complete(rig, name, overlay(100));
  expect((await rig.set(name)).status).toMatchObject({ updatedNodes: 2, excludedNodes: 0 });
});

test('a set that was created again gives its nodes back what they had, all of them alike', async () => {
  const rig = await rigWith(4);
  await rig.client.delete(nodeConfigSets, { name: 'gpu' });
  await rig.until('it is gone', () => isGone(rig));
  await rig.clock.advance(2000);
  await complete(rig, 'gpu', { ...overlay(100), strategy: { ...strategy, maxUnavailable: 1 } });
  await request(rig, 'gpu', 'Undo');
  await rig.untilReason('gpu', 'Undone', 5000);
  const assigned = await Promise.all(names(4).map((name) => assignedTo(rig, name)));
  expect(new Set(assigned).size).toBe(1);
});

describe('what is left to do on a node', () => {
  const owed = async (rig: SetRig, name: string) => (await rig.nodeConfig(name)).metadata.annotations?.[owedAnnotation];

  /** One node has a config that needs a state file deleted, and the others wait for approval. */
  async function halfway(): Promise<SetRig> {
    const rig = await rigWith(3);
    await rig.apply('gpu', {
      config: { overlay: { maxPods: 100, cpuManagerPolicy: 'static', reservedSystemCPUs: '0' } },
      accept: ['StateFile'],
      strategy: { ...strategy, waves: [{ nodes: 1, approve: true }, { nodes: '100%' }], drain: { policy: 'Never' } },
    });
    await rig.untilReason('gpu', 'AwaitingApproval', 5000);
    expect(await owed(rig, 'node-0')).toContain('state-file');
    return rig;
  }

  test('is nothing where it joins and gets the current revision', async () => {
    const rig = await halfway();
    const { currentRevision } = (await rig.set('gpu')).status!;
    await rig.addNodes(['node-9']);
    await rig.until('it has joined', async () => (await rig.revisions())['node-9'] === currentRevision);
    expect(await owed(rig, 'node-9')).toBeUndefined();
  });

  test('stays after a retry', async () => {
    const rig = await rigWith(2);
    rig.behaviour = () => 'rolls back';
    const config = { overlay: { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' } };
    await rig.apply('gpu', { config, accept: ['StateFile'], strategy: { ...strategy, drain: { policy: 'Never' } } });
    await rig.untilReason('gpu', 'Halted');
    rig.behaviour = () => 'works';
    await request(rig, 'gpu', 'Retry');
    await rig.untilReason('gpu', 'RolloutComplete', 10_000);
    expect(await owed(rig, 'node-0')).toContain('state-file');
  });

  test('is shown also where a revision was taken back without a drain', async () => {
    const rig = await halfway();
    await request(rig, 'gpu', 'Undo');
    await rig.untilReason('gpu', 'Undone');
    expect(await owed(rig, 'node-0')).toContain('state-file');
  });
});

test('a node that leaves is reset although another one has failed', async () => {
  const rig = await rigWith(3, { onLeave: 'Reset' });
  rig.behaviour = (node, text) => (text.includes('maxPods: 120') && node === 'node-0' ? 'silent' : 'works');
  await rig.apply('gpu', { ...overlay(120), strategy: { ...strategy, maxUnavailable: 1 }, onLeave: 'Reset' });
  await rig.untilReason('gpu', 'Halted', 10_000);
  await label(rig, 'node-2', 'cpu');
  await rig.until('it is reset', async () => (await assignedTo(rig, 'node-2')) === undefined);
});

describe('a deleted set with onDelete Reset', () => {
  const notYetActive = async (rig: SetRig) =>
    (await rig.nodeConfigs()).filter(({ metadata, status }) => metadata.generation !== status?.observedGeneration);

  /** The most nodes at once within this time, in which no agent answers. */
  async function mostChanged(rig: SetRig, forMs: number): Promise<number> {
    let most = 0;
    for (let ms = 0; ms < forMs; ms += 250) {
      await rig.clock.advance(250);
      most = Math.max(most, (await notYetActive(rig)).length);
    }
    return most;
  }

  test('resets one node at a time where its spec cannot be read', async () => {
    const rig = await rigWith(4, { onDelete: 'Reset' });
    const windows = [{ from: '22:00', to: '04:00', timeZone: 'Europe/Berln' }];
    await rig.apply('gpu', { ...overlay(100), strategy: { ...strategy, windows }, onDelete: 'Reset' });
    await rig.untilReason('gpu', 'InvalidSpec');
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
    expect(await mostChanged(rig, 20_000)).toBe(1);
    await rig.until('it is gone', () => isGone(rig));
  });

  test('counts nodes that the rollout was just changing', async () => {
    const slow = { strategy: { ...strategy, maxUnavailable: 2 }, onDelete: 'Reset' } as const;
    const rig = await rigWith(6, slow);
    await rig.apply('gpu', { ...overlay(120), ...slow });
    const isLate = async () => (await notYetActive(rig)).some(({ metadata }) => metadata.name === 'node-4');
    await rig.until('the last are changed', isLate, 250);
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
    expect(await mostChanged(rig, 1750)).toBe(2);
  });

  test('leaves a held node what it runs', async () => {
    const rig = await rigWith(2, { onDelete: 'Reset' });
    await annotateNode(rig, 'node-1', { [holdAnnotation]: 'no restart today' });
    await rig.clock.advance(2000);
    const before = await assignedTo(rig, 'node-1');
    await rig.client.delete(nodeConfigSets, { name: 'gpu' });
    await rig.until('it is gone', () => isGone(rig));
    expect(await assignedTo(rig, 'node-0')).toBeUndefined();
    expect(await assignedTo(rig, 'node-1')).toBe(before);
    await expectExisting(rig);
  });
});

const isGone = (rig: SetRig) =>
  rig.set('gpu').then(
    () => false,
    (error: unknown) => isNotFound(error),
  );
