/**
 * NodeConfigSets with real processes: API server, controller and nodes of the lab, and the command line of a person. What needs no
 * process is in sets.test.ts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, type NodeConfigSetSpec, nodeConfigSets } from '../src/api/node-config-set.js';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { events } from '../src/kube/resource-type.js';
import { type Lab, startLab } from '../src/lab/index.js';
import { clientFor } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { runRelet, sendSignal } from './program.js';
import type { Outcome } from './run-relet.js';

let lab: Lab;
let admin: KubeClient;

beforeAll(async () => {
  // A config with maxPods 66 passes every check and crashes the kubelet.
  const kubeletFlags = [
    '--restart-interval=0s',
    '--trial-failed-starts=1',
    '--hollow-fail-if=maxPods=66:exit-at-start',
  ];
  lab = await startLab({ packageDir: join(import.meta.dirname, '..'), nodes: 3, trialDuration: '300ms', kubeletFlags });
  admin = clientFor(lab.kubeconfig);
});
afterAll(async () => {
  admin?.close();
  await lab?.stop();
});

const relet = (line: string): Promise<Outcome> =>
  runRelet(line.split(' '), { env: { PATH: process.env.PATH, KUBECONFIG: lab.kubeconfig } });

/** Follows the rollout to its end. */
const end = async (name = 'pool'): Promise<{ status: number | null; reason: string }> => {
  const { status, stdout } = await relet(`rollout status ${name} -w --timeout 60s -o json`);
  return { status, reason: JSON.parse(stdout).reason };
};
const complete = { status: 0, reason: 'RolloutComplete' };

const setOf = (name = 'pool') => admin.get<NodeConfigSet>(nodeConfigSets, { name });
const reasonOf = async (name = 'pool') => {
  const { status } = await setOf(name);
  return status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
};

/** The ConfigMap that each node is assigned. */
async function assigned(): Promise<string[]> {
  const { items } = await admin.list<NodeConfig>(nodeConfigs);
  return items.map(({ spec }) => spec?.configSource?.configMap?.name ?? 'local');
}

const waves = [{ nodes: 1 }, { nodes: '100%' }];
const careful = [{ nodes: 1, approve: true }, { nodes: '100%' }];
const strategy = { waves, maxUnavailable: '100%', maxInTrial: '100%' };

/** As Git would: the same manifest, whatever else is on the object. */
const apply = (spec: Partial<NodeConfigSetSpec>, name = 'pool') =>
  admin.patch<NodeConfigSet>(
    nodeConfigSets,
    { name },
    {
      apiVersion: 'relet.dev/v1alpha1',
      kind: 'NodeConfigSet',
      metadata: { name },
      spec: { selector: {}, strategy, ...spec },
    },
    { as: 'apply', force: true, fieldManager: 'git' },
  );

const overlay = (maxPods: number) => ({ config: { overlay: { maxPods } } });

describe('a set, with real nodes', () => {
  test('leaves a node alone that an earlier relet has set up, until it is adopted', async () => {
    expect((await relet('set node-3 podPidsLimit=2000 --yes')).status).toBe(0);
    await apply(overlay(120));
    expect(await end()).toEqual(complete);
    expect((await setOf()).status?.excluded).toMatchObject([{ name: 'node-3', reason: 'AssignedByHand' }]);
    expect((await relet('rollout adopt pool --yes')).stdout).toContain('adopted node-3');
    await eventually('all nodes have it', async () => new Set(await assigned()).size === 1);
    await eventually('and the set counts them', async () => (await setOf()).status?.updatedNodes === 3);
  });

  test('that is applied again as it is changes nothing', async () => {
    const versions = async () => {
      const { items } = await admin.list<NodeConfig>(nodeConfigs);
      return [...items.map(({ spec }) => spec), (await setOf()).metadata.generation, (await setOf()).status];
    };
    const before = await versions();
    await apply(overlay(120));
    expect(await end()).toEqual(complete);
    expect(await versions()).toEqual(before);
  });

  test('whose config changes nothing on its nodes restarts no kubelet, and their trials count for the waves', async () => {
    const count = async (reason: string) => {
      const { items } = await admin.list<KubeObject & { reason: string }>(events, { namespace: 'default' });
      return items.filter((event) => event.reason === reason).length;
    };
    const before = await setOf();
    const [restarts, passed] = [await count('KubeletConfigChanged'), await count('KubeletConfigTrialPassed')];
    // The local configs do not have this field.
    await apply({ config: { overlay: { maxPods: 120 }, unset: ['clusterDomain'] } });
    await eventually('another revision', async () => {
      expect((await setOf()).status?.updateRevision).not.toBe(before.status?.updateRevision);
    });
    expect(await end()).toEqual(complete);
    expect((await setOf()).status).toMatchObject({ updatedNodes: 3, failedNodes: 0, waveText: '2/2' });
    await eventually('the events of three trials', async () => {
      expect(await count('KubeletConfigUnchanged')).toBe(3);
      expect(await count('KubeletConfigTrialPassed')).toBe(passed + 3);
    });
    expect(await count('KubeletConfigChanged')).toBe(restarts);
  });

  test('whose canary crashes halts, others are untouched, and a corrected config reaches the failed node first', async () => {
    const before = await assigned();
    const planned = await relet('set --as-set pool maxPods=66 --yes');
    expect(planned.stdout).toMatch(/Wave 1: 1 node\n +node-1\n/);
    const { status, stdout } = await relet('rollout status pool -w --timeout 60s');
    expect(status).toBe(1);
    expect(stdout).toContain('stopped (Halted)');
    expect((await relet('rollout status pool')).stdout).toMatch(/1 +1 +1 +0 +1 +Stopped\n└─ node-1, CrashLoop: /);
    expect((await assigned()).slice(1)).toEqual(before.slice(1));
    expect((await relet('set --as-set pool maxPods=130 --yes')).status).toBe(0);
    expect(await end()).toEqual(complete);
    expect((await setOf()).status).toMatchObject({ updatedNodes: 3, failedNodes: 0 });
  });

  test('waits for approval and through a pause, and continues after its controller was killed', async () => {
    await apply({ ...overlay(140), strategy: { ...strategy, waves: careful } });
    await eventually('approval is asked for', async () => (await reasonOf()) === 'AwaitingApproval');
    expect(new Set(await assigned()).size).toBe(2);
    expect((await relet('rollout pause pool')).status).toBe(0);
    expect((await relet('rollout approve pool --wave 1 --yes')).status).toBe(0);
    sendSignal(Number(readFileSync(join(lab.dataDir, 'controller.pid'), 'utf8')), 'SIGKILL');
    await eventually('the new controller keeps the pause', async () => (await reasonOf()) === 'Paused');
    expect(new Set(await assigned()).size).toBe(2);
    expect((await relet('rollout resume pool')).status).toBe(0);
    expect(await end()).toEqual(complete);
    expect(new Set(await assigned()).size).toBe(1);
  });

  test('changes nodes only in its windows', async () => {
    const hour = new Date().getUTCHours();
    const at = (hours: number) => `${String((hour + hours) % 24).padStart(2, '0')}:00`;
    const windows = [{ from: at(2), to: at(4) }];
    const before = await assigned();
    await apply({ ...overlay(150), strategy: { ...strategy, windows } });
    await eventually('it waits for the window', async () => (await reasonOf()) === 'WindowClosed');
    expect(await assigned()).toEqual(before);
    await apply({ ...overlay(150), strategy: { ...strategy, windows: [{ from: at(23), to: at(2) }] } });
    expect(await end()).toEqual(complete);
  });
});
