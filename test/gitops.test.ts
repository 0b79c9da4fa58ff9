/**
 * Sets from Git: examples/sets applied with kubectl, again after the controller has worked, client-side and server-side. Nothing
 * changes, and nothing shows as a difference. On the embedded server or, with KUBEBUILDER_ASSETS, on a real one.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refOf } from '../src/api/config-ref.js';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { configMaps, nodes } from '../src/kube/resource-type.js';
import { type Cluster, embeddedCluster, realCluster } from './cluster/cluster.js';
import { type RunningController, startController } from './cluster/controller.js';
import { eventually } from './eventually.js';
import { needs } from './programs.js';

const root = join(import.meta.dirname, '..');
const examples = join(root, 'examples/sets');
const kubectl = needs('kubectl', 'diff');
const assets = process.env.KUBEBUILDER_ASSETS;

describe.skipIf(kubectl.isMissing)(`examples/sets from Git${kubectl.note}`, () => {
  let cluster: Cluster;
  let controller: RunningController;
  let admin: KubeClient;

  beforeAll(async () => {
    cluster = assets === undefined ? await embeddedCluster() : await realCluster(assets);
    admin = cluster.client('admin');
    // On a real server the definitions take a moment.
    await eventually('deploy/', () => cluster.kubectl('apply', '-k', join(root, 'deploy')));
    controller = await startController(cluster, { identity: 'a', guards: 'auto' });
    // As many as it takes for 10 % to be a wave of its own after the first node.
    for (let at = 1; at <= 11; at++) {
      const name = `gpu-${at}`;
      const metadata = { name, labels: { pool: 'gpu' } };
      await admin.create(nodes, {}, { apiVersion: 'v1', kind: 'Node', metadata });
      const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' }];
      await admin.patch(nodes, { name, subresource: 'status' }, { status: { conditions } }, { as: 'merge' });
    }
  });
  afterAll(async () => {
    await controller?.stop();
    await cluster?.close();
  });

  /** As the agents do: each runs what it is assigned, and has passed its trial. */
  async function answer(): Promise<void> {
    for (const object of (await admin.list<NodeConfig>(nodeConfigs)).items) {
      const { name, generation } = object.metadata;
      if (object.status?.observedGeneration === generation) continue;
      const ref = refOf(object.spec?.configSource);
      const found = ref && (await admin.get<KubeObject>(configMaps, { namespace: ref.namespace, name: ref.name }));
      const exact = found && {
        configMap: { ...ref, uid: found.metadata.uid, resourceVersion: found.metadata.resourceVersion },
      };
      const config = exact === undefined ? {} : { assigned: exact, active: exact, lastKnownGood: exact };
      const reason = exact === undefined ? 'LocalConfigActive' : 'ConfigActive';
      const condition = {
        type: 'ConfigOK',
        status: 'True',
        reason,
        message: 'm',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      };
      const conditions = [...(object.status?.conditions ?? []).filter(({ type }) => type !== 'ConfigOK'), condition];
      const status = { observedGeneration: generation, config, conditions };
      await admin.patch(nodeConfigs, { name, subresource: 'status' }, { status }, { as: 'merge' });
    }
  }

  const get = () => admin.get<NodeConfigSet>(nodeConfigSets, { name: 'gpu' });
  const untilReason = (reason: string) =>
    eventually(
      reason,
      async () => {
        await answer();
        return (await get()).status?.conditions?.some((one) => one.status === 'True' && one.reason === reason) ?? false;
      },
      { seen: get },
    );

  async function sameAfter(apply: string[], diff: string[]): Promise<void> {
    const before = await get();
    await cluster.kubectl(...apply, '-k', examples);
    const after = await get();
    expect(after.metadata.generation).toBe(before.metadata.generation);
    expect(after.spec).toEqual(before.spec);
    // kubectl exits with 1 where there is a difference.
    expect(await cluster.kubectl(...diff, '-k', examples)).toBe('');
  }

  test('the controller changes no spec, and a second apply changes nothing', async () => {
    await cluster.kubectl('apply', '-k', examples);
    const { spec, metadata } = await get();
    await untilReason('AwaitingApproval');
    expect((await get()).spec).toEqual(spec);
    expect((await get()).metadata).toMatchObject({ generation: metadata.generation, finalizers: [expect.any(String)] });
    const lines = (await cluster.kubectl('apply', '-k', examples)).trim().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
    await sameAfter(['apply'], ['diff']);
  });

  test('nor does what a person approves, or a server-side apply by another manager', async () => {
    const { status } = await get();
    const rollout = { approve: { revision: status?.updateRevision, wave: 1, by: 'admin' } };
    await admin.patch(nodeConfigSets, { name: 'gpu', subresource: 'status' }, { status: { rollout } }, { as: 'merge' });
    await untilReason('Soaking');
    await sameAfter(['apply'], ['diff']);
    const serverSide = ['--server-side', '--force-conflicts', '--field-manager=kustomize-controller'];
    await sameAfter(['apply', ...serverSide], ['diff', ...serverSide]);
    await sameAfter(['apply', ...serverSide], ['diff', ...serverSide]);
  });
});
