/**
 * Sets that drain, with real processes: API server, controller and nodes of the lab, with the role and the guards of deploy/. The rules are
 * in drain-rules.test.ts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { drainAnnotation } from '../src/api/drain.js';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, type NodeConfigSetSpec, nodeConfigSets } from '../src/api/node-config-set.js';
import type { KubeObject } from '../src/api/object.js';
import { isNotFound } from '../src/api/status.js';
import type { KubeClient } from '../src/kube/client.js';
import { clusterRoleBindings, clusterRoles, nodes, podDisruptionBudgets, pods } from '../src/kube/resource-type.js';
import { type Lab, startLab } from '../src/lab/index.js';
import type { ClusterNode } from '../src/rollout/cluster-node.js';
import { clientFor } from './cluster-rig.js';
import { eventually } from './eventually.js';

const replicaSets = { group: 'apps', version: 'v1', resource: 'replicasets' };
const namespace = 'default';

let lab: Lab;
let admin: KubeClient;

beforeAll(async () => {
  const kubeletFlags = ['--restart-interval=0s'];
  lab = await startLab({ packageDir: join(import.meta.dirname, '..'), nodes: 4, trialDuration: '300ms', kubeletFlags });
  admin = clientFor(lab.kubeconfig);
  const role = readFileSync(join(import.meta.dirname, '../deploy/drain/controller-drain.yaml'), 'utf8');
  for (const document of parseAllDocuments(role)) {
    const object = document.toJS() as KubeObject;
    await admin.create(object.kind === 'ClusterRole' ? clusterRoles : clusterRoleBindings, {}, object);
  }
});
afterAll(async () => {
  admin?.close();
  await lab?.stop();
});

/** A pod of a ReplicaSet on that node, Ready, with the label app=APP. */
async function run(app: string, name: string, node: string): Promise<void> {
  const labels = { app };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'pause' }] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const owner = await admin
    .create<KubeObject>(
      replicaSets,
      { namespace },
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name: app }, spec },
    )
    .catch(() => admin.get<KubeObject>(replicaSets, { namespace, name: app }));
  const ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: owner.metadata.uid, controller: true },
  ];
  const metadata = { name, labels, ownerReferences };
  await admin.create(
    pods,
    { namespace },
    { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...template.spec, nodeName: node } },
  );
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await admin.patch(pods, { namespace, name, subresource: 'status' }, { status }, { as: 'merge' });
}

const keepOne = (app: string) =>
  admin.create(
    podDisruptionBudgets,
    { namespace },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: app },
      spec: { minAvailable: 1, selector: { matchLabels: { app } } },
    },
  );

/** A set of one node, with a budget that keeps its only pod. */
async function drainBlocked(name: string, node: string, spec: Pick<NodeConfigSetSpec, 'config' | 'accept'>) {
  await admin.patch(nodes, { name: node }, { metadata: { labels: { pool: name } } }, { as: 'merge' });
  await run(name, `${name}-1`, node);
  await keepOne(name);
  await admin.create(
    nodeConfigSets,
    {},
    {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfigSet',
      metadata: { name },
      spec: { selector: { matchLabels: { pool: name } }, ...spec },
    },
  );
  await eventually(`${node} is drained`, async () => {
    const [first] = (await setOf(name)).status?.draining ?? [];
    return first?.message?.includes(`disruption budget ${name} `) === true;
  });
}

const setOf = (name: string) => admin.get<NodeConfigSet>(nodeConfigSets, { name });
const reasonOf = async (name: string) =>
  (await setOf(name)).status?.conditions?.find(({ status }) => status === 'True')?.reason;
const podsOf = async (node: string) =>
  (await admin.list(pods, { fieldSelector: `spec.nodeName=${node}` })).items.map(({ metadata }) => metadata.name);
const sourceOf = async (node: string) =>
  (await admin.get<NodeConfig>(nodeConfigs, { name: node })).spec?.configSource?.configMap?.name;

/** Returns the marks of a drain on the Node. */
async function marks(name: string): Promise<string[]> {
  const { metadata, spec, status } = await admin.get<ClusterNode>(nodes, { name });
  return [
    ...(spec?.unschedulable ? ['cordon'] : []),
    ...(metadata.annotations?.[drainAnnotation] === undefined ? [] : ['annotation']),
    ...(status?.conditions?.some(({ reason }) => reason === 'KubeletConfigChange') ? ['condition'] : []),
  ];
}

describe.concurrent('a set that drains real nodes', () => {
  test('waits for a PodDisruptionBudget, and continues when it lets the pod go', async () => {
    await drainBlocked('web', 'node-1', {
      config: { overlay: { topologyManagerPolicy: 'restricted' } },
      accept: ['Drain'],
    });
    expect([await reasonOf('web'), await marks('node-1'), await podsOf('node-1'), await sourceOf('node-1')]).toEqual([
      'Draining',
      ['cordon', 'annotation', 'condition'],
      ['web-1'],
      undefined,
    ]);
    // A second replica is Ready on a node that nobody drains.
    await run('web', 'web-2', 'node-4');
    await eventually('the rollout is complete', async () => (await reasonOf('web')) === 'RolloutComplete');
    await eventually('the cordon is lifted', async () => (await marks('node-1')).length === 0);
    expect(await podsOf('node-1')).toEqual([]);
    const { status } = await admin.get<NodeConfig>(nodeConfigs, { name: 'node-1' });
    expect(status?.conditions?.find(({ type }) => type === 'ActionOwed')?.status ?? 'False').toBe('False');
  });

  test('has the state file of a drained node removed where the change needs it, and again when the change is taken back', async () => {
    const policy = () =>
      JSON.parse(readFileSync(join(lab.dataDir, 'nodes/node-3/root/cpu_manager_state'), 'utf8')).policyName;
    const overlay = { cpuManagerPolicy: 'static', kubeReserved: { cpu: '100m' } };
    await drainBlocked('numa', 'node-3', { config: { overlay }, accept: ['StateFile'] });
    expect(policy()).toBe('none');
    await admin.delete(podDisruptionBudgets, { namespace, name: 'numa' });
    await eventually('the rollout is complete', async () => (await reasonOf('numa')) === 'RolloutComplete');
    await eventually('the cordon is lifted', async () => (await marks('node-3')).length === 0);
    expect([policy(), await podsOf('node-3')]).toEqual(['static', []]);
    expect(policy()).toBe('static');
    await run('numa', 'numa-2', 'node-3');
    await admin.patch(
      nodeConfigSets,
      { name: 'numa' },
      { spec: { config: { overlay: { cpuManagerPolicy: 'none' } } } },
      { as: 'merge' },
    );
    await eventually('the policy is none again', async () => {
      const { status, metadata } = await setOf('numa');
      return status?.observedGeneration === metadata.generation && (await reasonOf('numa')) === 'RolloutComplete';
    });
    expect(policy()).toBe('none');
    expect(await podsOf('node-3')).toEqual([]);
  });

  test('that is deleted in the middle leaves its node as it was', async () => {
    await drainBlocked('gone', 'node-2', {
      config: { overlay: { topologyManagerPolicy: 'restricted' } },
      accept: ['Drain'],
    });
    await admin.delete(nodeConfigSets, { name: 'gone' });
    await eventually('the set is gone', () => setOf('gone').then(() => false, isNotFound));
    expect([await marks('node-2'), await sourceOf('node-2')]).toEqual([[], undefined]);
    expect(await podsOf('node-2')).toContain('gone-1');
  });
});
