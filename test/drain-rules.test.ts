/**
 * How sets drain, one test for each mistake that other systems made once: k0sctl, draino, MCO, kured, system-upgrade-controller,
 * upgrade-manager and others. On the model of a cluster, in memory.
 */

import { describe, expect, test } from 'vitest';
import { formatRef } from '../src/api/config-ref.js';
import { drainAnnotation, drainMarkOf, drainTaint } from '../src/api/drain.js';
import { type DrainStrategy, holdAnnotation, setFinalizer } from '../src/api/node-config-set.js';
import type { ClusterNode } from '../src/rollout/cluster-node.js';
import { SetModel } from './set-model.js';

const names = ['node-0', 'node-1', 'node-2', 'node-3'];

function drainingSet(drain: DrainStrategy = {}, limits = { maxUnavailable: 2, maxInTrial: 9 }): SetModel {
  const model = new SetModel(limits);
  for (const name of names) {
    model.addNode(name);
    model.schedule(name, { name: `web-${name}` });
  }
  model.put('nodeconfigsets', {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', generation: 1, finalizers: [setFinalizer], creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      selector: { matchLabels: { pool: 'gpu' } },
      config: { overlay: { maxPods: 100 } },
      strategy: { waves: [{ nodes: '100%' }], ...limits, drain: { policy: 'Always', ...drain } },
    },
  });
  return model;
}

/** The caches see everything, nodes and pods answer, and no time passes unless said so. */
async function passes(model: SetModel, count = 1, stepMs = 0): Promise<void> {
  for (let pass = 0; pass < count; pass++) {
    model.deliver(1000, () => 0);
    await model.reconcile();
    model.nowMs += stepMs;
    if (stepMs > 0) model.answer();
  }
}

const undo = (model: SetModel) =>
  model.changeSet((set) => {
    const request = { action: 'Undo' as const, revision: set.status!.updateRevision! };
    set.status = { ...set.status, rollout: { request } };
  }, 'status');

const nodeOf = (model: SetModel, name: string) => model.kinds.nodes!.get(name) as ClusterNode;
const conditionOf = (model: SetModel, name: string) =>
  nodeOf(model, name).status?.conditions?.find(({ type }) => type === 'MaintenanceInProgress')?.reason;
const reasonOf = ({ set }: SetModel) => set.status?.conditions?.find(({ status }) => status === 'True')?.reason;
const cordonedByUs = (model: SetModel) => [...model.cordoned].filter(([, who]) => who === 'us').map(([name]) => name);
const budget = (name: string, labels: Record<string, string>, more: object = {}) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { namespace: 'shop', name, generation: 1 },
  spec: { selector: { matchLabels: labels }, ...more },
});

describe('a set that drains', () => {
  test('cordons the whole batch before it evicts the first pod, and not the whole fleet', async () => {
    const model = drainingSet();
    await passes(model, 1);
    expect(model.acts).toEqual(['cordon node-0', 'cordon node-1']);
    await passes(model, 1);
    expect(model.acts.slice(2).sort()).toEqual(['evict web-node-0', 'evict web-node-1']);
    expect(cordonedByUs(model)).toEqual(['node-0', 'node-1']);
  });

  test('cordons the rest of the batch before it evicts a pod, after a crash in between', async () => {
    for (let writes = 0; writes < 6; writes++) {
      const model = drainingSet();
      model.crashAfter = writes;
      while (!model.acts.some((act) => act.startsWith('evict'))) await passes(model);
      const first = model.acts.findIndex((act) => act.startsWith('evict'));
      expect(model.acts.slice(0, first).sort()).toEqual(['cordon node-0', 'cordon node-1']);
    }
  });

  test('gives nodes that wait for their drain the taint PreferNoSchedule, until the rollout ends', async () => {
    const model = drainingSet();
    const tainted = () =>
      names.filter((name) => nodeOf(model, name).spec?.taints?.some(({ key }) => key === drainTaint.key));
    await passes(model, 3);
    expect(tainted()).toEqual(['node-2', 'node-3']);
    expect(nodeOf(model, 'node-2').spec?.taints).toEqual([drainTaint]);
    await passes(model, 40, 20_000);
    expect([reasonOf(model), tainted()]).toEqual(['RolloutComplete', []]);
  });

  test('uncordons at once when a drain fails, leaves the node alone, and tries again later', async () => {
    const model = drainingSet({ timeout: '1m' });
    model.budgetSpent.add('node-0');
    await passes(model, 4, 1000);
    await passes(model, 1, 61_000);
    model.acts.length = 0;
    await passes(model, 1);
    expect(model.acts[0]).toBe('uncordon node-0');
    expect(model.traces('node-0')).toEqual([]);
    await passes(model, 20, 20_000);
    expect([reasonOf(model), model.set.status?.excluded?.map(({ name, reason }) => [name, reason])]).toEqual([
      'RolloutComplete',
      [['node-0', 'Undrainable']],
    ]);
    expect(model.set.status?.excluded?.[0]?.message).toBe('pod shop/web-node-0: budget');
    model.budgetSpent.clear();
    await passes(model, 60, 60_000);
    expect(model.node('node-0').claim?.revision).toBe(model.set.status?.updateRevision);
  });

  test('halts at a node that cannot be drained, where the strategy says so, until a retry', async () => {
    const model = drainingSet({ timeout: '1m', onUndrainable: 'Halt' });
    model.budgetSpent.add('node-0');
    await passes(model, 20, 10_000);
    expect([reasonOf(model), model.set.status?.waiting]).toEqual([
      'Undrainable',
      'node-0 (pod shop/web-node-0: budget)',
    ]);
    expect(cordonedByUs(model)).toEqual([]);
    model.budgetSpent.clear();
    await passes(model, 20, 600_000);
    expect(reasonOf(model)).toBe('Undrainable');
    model.changeSet((set) => {
      const request = { action: 'Retry' as const, revision: set.status!.updateRevision! };
      set.status = { ...set.status, rollout: { request } };
    }, 'status');
    await passes(model, 40, 20_000);
    expect(reasonOf(model)).toBe('RolloutComplete');
  });

  test('writes whose cordon it is, never lifts another, and never takes one over', async () => {
    const model = drainingSet({}, { maxUnavailable: 4, maxInTrial: 9 });
    model.cordon('node-0', true);
    await passes(model, 3);
    expect(drainMarkOf(nodeOf(model, 'node-1'))).toMatchObject({
      set: 'gpu',
      revision: model.set.status?.updateRevision,
      state: 'Draining',
    });
    // A person takes over the cordon of node-1.
    model.cordon('node-1', false);
    model.cordon('node-1', true);
    await passes(model, 60, 20_000);
    expect([reasonOf(model), model.broken]).toEqual(['RolloutComplete', []]);
    expect([...model.cordoned]).toEqual([
      ['node-0', 'others'],
      ['node-1', 'others'],
    ]);
  });

  test('checks cordon and emptiness again right before it assigns the config', async () => {
    const model = drainingSet();
    await passes(model, 4);
    model.answer();
    // The node is empty; then somebody uncordons it, and a pod comes. The cache does not show it.
    model.deliver(1000, () => 0);
    model.cordon('node-0', false);
    model.schedule('node-0', { name: 'late' });
    await model.reconcile();
    expect(model.acts).not.toContain('assign node-0');
    await passes(model, 3);
    expect(model.acts.filter((act) => act.endsWith('node-0') || act.endsWith('late'))).toEqual([
      'cordon node-0',
      'evict web-node-0',
      'cordon node-0',
      'evict late',
    ]);
    await passes(model, 40, 20_000);
    expect([reasonOf(model), model.broken]).toEqual(['RolloutComplete', []]);
  });

  test('follows pods by uid: a new pod of an old name is another pod', async () => {
    const model = drainingSet();
    await passes(model, 3);
    // As a StatefulSet does: the same name, at once, here on the same node.
    model.remove('pods', 'web-node-0');
    const pod = { namespace: 'shop', name: 'web-node-0', uid: 'another', labels: {} };
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true };
    model.put('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...pod, ownerReferences: [owner] },
      spec: { nodeName: 'node-0' },
      status: { phase: 'Running' },
    });
    await passes(model, 1);
    expect(model.acts).not.toContain('assign node-0');
    await passes(model, 40, 20_000);
    expect(model.acts.filter((act) => act === 'evict web-node-0').length).toBe(2);
    expect([reasonOf(model), model.broken]).toEqual(['RolloutComplete', []]);
  });

  test('names nodes that cannot be drained before it touches anything', async () => {
    const model = drainingSet();
    model.schedule('node-0', { name: 'bare', ownerReferences: [] });
    model.put('poddisruptionbudgets', budget('db', { app: 'db' }, { maxUnavailable: 0 }));
    model.schedule('node-1', { name: 'db-0', labels: { app: 'db' } });
    await passes(model, 1);
    expect(model.set.status?.excluded?.map(({ name, message }) => [name, message])).toEqual([
      ['node-0', 'pod shop/bare: it has no controller that would create it again'],
      ['node-1', 'pod shop/db-0: PodDisruptionBudget db never allows an eviction'],
    ]);
    expect(model.acts).toEqual(['cordon node-2', 'cordon node-3']);
  });

  test('looks again at nodes that cannot be drained in a while, and not all the time', async () => {
    const model = drainingSet();
    for (const name of names) model.schedule(name, { ownerReferences: [] });
    const waits: number[] = [];
    for (let pass = 0; pass < 10; pass++) {
      model.deliver(1000, () => 0);
      const result = await model.reconcile();
      if (result?.kind === 'requeue') waits.push(result.afterMs);
      model.nowMs += 15_000;
    }
    expect([model.acts, reasonOf(model), Math.min(...waits)]).toEqual([[], 'NoNodeToChange', 500]);
    expect(waits.filter((ms) => ms <= 500).length).toBeLessThan(4);
    for (const { metadata } of model.kinds.pods!.values())
      if (metadata.ownerReferences?.length === 0) model.remove('pods', metadata.name);
    await passes(model, 4, 15_000);
    expect(model.acts.slice(0, 2)).toEqual(['cordon node-0', 'cordon node-1']);
  });

  test('names a node that cannot be drained to go back, and takes it back once it can', async () => {
    const model = drainingSet();
    await passes(model, 40, 20_000);
    expect(reasonOf(model)).toBe('RolloutComplete');
    model.schedule('node-0', { name: 'bare', ownerReferences: [] });
    undo(model);
    await passes(model, 40, 20_000);
    expect([reasonOf(model), model.set.status?.excluded?.map(({ name, reason }) => [name, reason])]).toEqual([
      'RollingBack',
      [['node-0', 'Undrainable']],
    ]);
    const sources = () => names.map((name) => formatRef(model.claim(name)!.source, 'short'));
    expect(sources()).toEqual([expect.stringContaining('gpu'), 'local', 'local', 'local']);
    model.remove('pods', 'bare');
    await passes(model, 20, 20_000);
    expect([reasonOf(model), sources()]).toEqual(['Undone', ['local', 'local', 'local', 'local']]);
  });

  test('tries a drain again that failed while it goes back, also where the strategy halts', async () => {
    const model = drainingSet({ timeout: '1m', onUndrainable: 'Halt' });
    await passes(model, 40, 20_000);
    expect(reasonOf(model)).toBe('RolloutComplete');
    model.schedule('node-0', { name: 'web' });
    model.budgetSpent.add('node-0');
    undo(model);
    await passes(model, 40, 20_000);
    expect(reasonOf(model)).toBe('RollingBack');
    model.budgetSpent.clear();
    await passes(model, 60, 60_000);
    expect([reasonOf(model), formatRef(model.claim('node-0')!.source, 'short')]).toEqual(['Undone', 'local']);
  });

  test('evicts pods without a controller where the strategy says so', async () => {
    const model = drainingSet({ unmanagedPods: 'Evict' });
    model.schedule('node-0', { name: 'bare', ownerReferences: [] });
    await passes(model, 4);
    expect(model.acts).toContain('evict bare');
  });

  test('evicts pods with a budget first, and nothing else where these cannot go', async () => {
    const model = drainingSet({}, { maxUnavailable: 1, maxInTrial: 9 });
    model.put('poddisruptionbudgets', budget('db', { app: 'db' }, { minAvailable: 1 }));
    model.schedule('node-0', { name: 'db-0', labels: { app: 'db' } });
    model.budgetSpent.add('node-0');
    await passes(model, 6, 1000);
    expect(model.acts).toEqual(['cordon node-0']);
    model.budgetSpent.clear();
    await passes(model, 3, 1000);
    expect(model.acts).toEqual(['cordon node-0', 'evict db-0', 'evict web-node-0', 'assign node-0']);
  });

  test('drains control-plane nodes one at a time, after the others', async () => {
    const model = drainingSet({}, { maxUnavailable: 4, maxInTrial: 9 });
    for (const name of ['node-0', 'node-1'])
      model.changeNode(name, (node) => {
        node.metadata.labels = { ...node.metadata.labels, 'node-role.kubernetes.io/control-plane': '' };
      });
    let most = 0;
    for (let round = 0; round < 60; round++) {
      await passes(model, 1, 10_000);
      most = Math.max(most, cordonedByUs(model).filter((name) => name === 'node-0' || name === 'node-1').length);
    }
    expect([reasonOf(model), most]).toEqual(['RolloutComplete', 1]);
  });

  test('lifts its cordons before a deleted set goes', async () => {
    const model = drainingSet();
    await passes(model, 3);
    model.changeSet((set) => {
      set.metadata.deletionTimestamp = '2026-01-01T01:00:00Z';
    }, 'spec');
    await passes(model, 1);
    expect(model.set.metadata.finalizers).toEqual([setFinalizer]);
    await passes(model, 4);
    expect(names.flatMap((name) => model.traces(name))).toEqual([]);
    expect(model.set.metadata.finalizers).toEqual([]);
  });

  test('lifts its cordons when it is paused, and when a node is held', async () => {
    const model = drainingSet();
    await passes(model, 3);
    model.changeNode('node-0', (node) => {
      node.metadata.annotations = { ...node.metadata.annotations, [holdAnnotation]: '' };
    });
    await passes(model, 2);
    expect(model.traces('node-0')).toEqual([]);
    model.changeSet((set) => {
      set.spec.paused = true;
    }, 'spec');
    await passes(model, 3);
    expect([reasonOf(model), names.flatMap((name) => model.traces(name))]).toEqual(['Paused', []]);
  });

  test('lifts the cordons that it finds when its controller was gone for long', async () => {
    const model = drainingSet();
    model.budgetSpent.add('node-0');
    await passes(model, 4);
    model.nowMs += 5 * 3_600_000;
    model.answer();
    model.newLeader();
    await passes(model, 4, 1000);
    expect(model.traces('node-0')).toEqual([]);
    // node-1 is empty: there was nothing left to wait for.
    expect(model.acts).toContain('assign node-1');
  });

  test('takes the same nodes after a restart of the controller', async () => {
    const model = drainingSet();
    await passes(model, 3);
    const before = cordonedByUs(model);
    const marks = before.map((name) => nodeOf(model, name).metadata.annotations?.[drainAnnotation]);
    // Another node would be first now.
    model.addNode('a-node');
    model.schedule('a-node');
    model.newLeader();
    await passes(model, 3);
    expect(cordonedByUs(model)).toEqual(before);
    expect(before.map((name) => nodeOf(model, name).metadata.annotations?.[drainAnnotation])).toEqual(marks);
  });

  test('leaves pods with the label skip, and waits for those with wait-completed', async () => {
    const model = drainingSet({}, { maxUnavailable: 1, maxInTrial: 9 });
    model.remove('pods', 'web-node-0');
    model.schedule('node-0', { name: 'skipped', labels: { 'cluster.x-k8s.io/drain': 'skip' } });
    model.schedule('node-0', { name: 'job', labels: { 'cluster.x-k8s.io/drain': 'wait-completed' } });
    await passes(model, 6, 1000);
    expect(model.acts).toEqual(['cordon node-0']);
    model.put('pods', { ...model.kinds.pods!.get('job')!, status: { phase: 'Succeeded' } });
    await passes(model, 1);
    expect(model.acts).toEqual(['cordon node-0', 'assign node-0']);
  });

  test('is not blocked by broken pods whose budget says AlwaysAllow', async () => {
    const model = drainingSet({}, { maxUnavailable: 1, maxInTrial: 9 });
    const spent = {
      observedGeneration: 1,
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    const allow = budget('db', { app: 'db' }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    model.put('poddisruptionbudgets', { ...allow, status: spent });
    model.schedule('node-0', { name: 'broken', labels: { app: 'db' } });
    await passes(model, 4);
    expect(model.acts).toContain('evict broken');
  });

  test('shows MaintenanceInProgress while it drains, and removes it afterwards', async () => {
    const model = drainingSet();
    await passes(model, 4);
    expect([conditionOf(model, 'node-0'), conditionOf(model, 'node-2')]).toEqual(['KubeletConfigChange', undefined]);
    expect(reasonOf(model)).toBe('Draining');
    await passes(model, 40, 20_000);
    expect(names.map((name) => conditionOf(model, name))).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('keeps the cordon until the node runs the config, and lifts it where that failed', async () => {
    const model = drainingSet({}, { maxUnavailable: 1, maxInTrial: 9 });
    model.behaviours.set('node-0', 'silent');
    await passes(model, 8, 1000);
    expect([model.acts.at(-1), cordonedByUs(model)]).toEqual(['assign node-0', ['node-0']]);
    model.behaviours.set('node-0', 'rolls back');
    await passes(model, 4, 3000);
    expect([reasonOf(model), cordonedByUs(model)]).toEqual(['Halted', []]);
  });

  test('is stalled and says so while the controller does not have the role, and touches nothing', async () => {
    const model = drainingSet();
    model.mayDrain = false;
    await passes(model, 4);
    expect([reasonOf(model), model.acts]).toEqual(['DrainNotAllowed', []]);
    expect(model.set.status?.waiting).toMatch(/^node-0 and node-1 must be drained; .*relet:controller-drain/);
    model.mayDrain = true;
    await passes(model, 2, 61_000);
    expect(cordonedByUs(model)).toEqual(['node-0', 'node-1']);
  });
});
