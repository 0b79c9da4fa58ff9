/** `--drain` of a command, on the API server in memory: what it writes on the Node, whom it leaves alone, and that it cleans up. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { drainAnnotation } from '../src/api/drain.js';
import type { KubeObject } from '../src/api/object.js';
import { drainNode, refuseDrains } from '../src/cli/change/drain-node.js';
import type { KubeClient } from '../src/kube/client.js';
import { nodes, podDisruptionBudgets, pods } from '../src/kube/resource-type.js';
import { startInMemoryServer } from './in-memory-server.js';
import type { ManualClock } from './manual-clock.js';

const namespace = 'default';

class Rig {
  readonly lines: string[] = [];
  readonly stop = new AbortController();
  constructor(
    readonly client: KubeClient,
    readonly clock: ManualClock,
  ) {}

  get session() {
    return { client: this.client, signal: this.stop.signal };
  }

  drain(timeoutMs = 60_000) {
    const progress = { at: (_name: string, text: string) => void this.lines.push(text) };
    return drainNode(this.session, 'node-1', { revision: 'a', timeoutMs, progress });
  }

  async pod(name: string, { owner = 'ReplicaSet', node = 'node-1', app = 'web' } = {}) {
    const controller = { apiVersion: 'apps/v1', kind: owner, name: 'x', uid: 'x', controller: true };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app }, ...(owner !== '' && { ownerReferences: [controller] }) },
      spec: { nodeName: node, containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 },
    };
    await this.client.create(pods, { namespace }, pod);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await this.client.patch(pods, { namespace, name, subresource: 'status' }, { status }, { as: 'merge' });
  }

  async untilDraining() {
    for (let turn = 0; turn < 100 && !this.lines.some((line) => line.startsWith('draining')); turn++)
      await this.clock.settle();
  }

  async left(): Promise<string[]> {
    const { items } = await this.client.list<KubeObject>(pods, { fieldSelector: 'spec.nodeName=node-1' });
    return items.map(({ metadata }) => metadata.name).sort();
  }

  async node(): Promise<{ cordoned: boolean; marked: boolean }> {
    const { metadata, spec } = await this.client.get<KubeObject>(nodes, { name: 'node-1' });
    const { unschedulable = false } = (spec ?? {}) as { unschedulable?: boolean };
    return { cordoned: unschedulable, marked: metadata.annotations?.[drainAnnotation] !== undefined };
  }
}

async function createRig(): Promise<Rig> {
  const { clock, plane, transport, clientOver } = await startInMemoryServer('drain');
  const client = clientOver(transport);
  onTestFinished(async () => {
    client.close();
    await plane.close();
  });
  await client.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } });
  return new Rig(client, clock);
}

const clean = { cordoned: false, marked: false };

describe('a command that drains a node', () => {
  test('cordons it with its mark, evicts what is not of a DaemonSet, and uncordons it', async () => {
    const rig = await createRig();
    await rig.pod('web-1');
    await rig.pod('logs-1', { owner: 'DaemonSet', app: 'logs' });
    const draining = rig.drain();
    await rig.untilDraining();
    await rig.clock.advance(1000);
    const drained = await draining;
    expect([await rig.left(), await rig.node()]).toEqual([['logs-1'], { cordoned: true, marked: true }]);
    expect(rig.lines).toEqual(['cordoning', 'draining, waits for pod default/web-1']);
    expect(await drained.lift()).toBe(true);
    expect(await rig.node()).toEqual(clean);
  });

  test('does nothing to a node with a pod that blocks, and names pod and budget', async () => {
    const rig = await createRig();
    await rig.pod('web-1');
    const spec = { maxUnavailable: 0, selector: { matchLabels: { app: 'web' } } };
    const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web' }, spec };
    await rig.client.create(podDisruptionBudgets, { namespace }, budget);
    await expect(rig.drain()).rejects.toThrow(/default\/web-1: PodDisruptionBudget web .*more replicas or a lower/);
    await rig.pod('alone', { owner: '', app: 'other' });
    await expect(rig.drain()).rejects.toThrow('default/alone: it has no controller');
    expect([rig.lines, await rig.node()]).toEqual([[], clean]);
  });

  test('uncordons it when the time is over, and names what was left', async () => {
    const rig = await createRig();
    await rig.pod('web-1');
    const label = { 'cluster.x-k8s.io/drain': 'wait-completed' };
    await rig.client.patch(pods, { namespace, name: 'web-1' }, { metadata: { labels: label } }, { as: 'merge' });
    const ended = expect(rig.drain(3000)).rejects.toThrow(
      /not drained within 3s; it is uncordoned again, and was not changed\. Left: pod default\/web-1/,
    );
    for (let second = 0; second < 6; second++) await rig.clock.advance(1000);
    await ended;
    expect([await rig.left(), await rig.node()]).toEqual([['web-1'], clean]);
  });

  test('uncordons it when it is interrupted', async () => {
    const rig = await createRig();
    await rig.pod('web-1');
    const label = { 'cluster.x-k8s.io/drain': 'wait-completed' };
    await rig.client.patch(pods, { namespace, name: 'web-1' }, { metadata: { labels: label } }, { as: 'merge' });
    const interrupted = new Error('interrupted');
    const ended = expect(rig.drain()).rejects.toThrow();
    await rig.untilDraining();
    expect(await rig.node()).toEqual({ cordoned: true, marked: true });
    rig.stop.abort(interrupted);
    await ended;
    expect(await rig.node()).toEqual(clean);
    expect(interrupted.message).toBe('interrupted; node-1 is uncordoned again');
  });

  test('does not lift the cordon of somebody else', async () => {
    const rig = await createRig();
    const cordon = { spec: { unschedulable: true } };
    await rig.client.patch(nodes, { name: 'node-1' }, cordon, { as: 'merge', fieldManager: 'kubectl' });
    const drained = await rig.drain();
    expect(await drained.lift()).toBe(false);
    expect(await rig.node()).toEqual({ cordoned: true, marked: false });
  });

  test('leaves a node alone that a set drains, or another system has', async () => {
    const rig = await createRig();
    const mark = { set: 'gpu', revision: 'x', state: 'Draining', at: '2026-01-01T00:00:00Z' };
    const annotations = { [drainAnnotation]: JSON.stringify(mark) };
    await rig.client.patch(nodes, { name: 'node-1' }, { metadata: { annotations } }, { as: 'merge' });
    await expect(rig.drain()).rejects.toThrow('the set gpu drains it');
    expect(await rig.node()).toEqual({ cordoned: false, marked: true });
    await refuseDrains(rig.session, ['node-1']);
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    await rig.client.patch(nodes, { name: 'node-1' }, { spec: { taints } }, { as: 'merge' });
    await expect(refuseDrains(rig.session, ['node-1'])).rejects.toThrow('maintenance on node-1: claimed by Karpenter');
  });
});
