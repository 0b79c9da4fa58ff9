/** An analysis by the real controller and the real agents on virtual time, with made signals below each agent. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { NodeSignals } from '../src/agent/observe/sampler.js';
import { parseHarm, SyntheticSignals } from '../src/agent/observe/synthetic-signals.js';
import { defaultRestartLimit } from '../src/agent/sync/change-pace.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import { silentLog } from '../src/log.js';
import { readManifests } from '../src/rehearsal/manifests.js';
import { startMemoryServer } from '../src/rehearsal/memory-server.js';
import { type SimulatedCluster, startCluster } from '../src/rehearsal/simulation/cluster.js';
import { withoutStacks, withPlainSignals } from '../src/rehearsal/simulation/process-wide.js';

const deploy = join(import.meta.dirname, '../deploy');
const manifests = ['base', 'guards', 'kube-system', 'drain'].flatMap((part) => readManifests(join(deploy, part)));
const names = Array.from({ length: 24 }, (_, at) => `node-${at}`);
const nothing = () => {};

/** maxPods: 60 is rolled out, and makes pods start slower. */
async function harmedCluster(): Promise<SimulatedCluster> {
  const cluster = await startCluster({
    startServer: startMemoryServer,
    seed: 'analysis',
    startMs: Date.UTC(2026, 5, 5),
    manifests,
    nodes: names.map((name) => ({
      name,
      labels: { pool: 'gpu' },
      local: 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nhealthzPort: 10248\n',
      kubeletVersion: 'v1.34.1',
    })),
    controllers: 2,
    lease: { durationMs: 15_000, renewMs: 10_000, retryMs: 2000 },
    flow: {
      trial: { durationMs: 60_000, healthDeadlineMs: 60_000, failedStarts: 3 },
      onChange: 'restart',
      inPlaceJitterMs: 0,
      restartLimit: defaultRestartLimit,
      settleMs: 500,
      crashDelayMs: 1000,
      renewsLease: false,
    },
    behaviour: () => ({}),
    signals: (): NodeSignals => new SyntheticSignals([parseHarm('maxPods=60:podStartSeconds=1.7')]),
    probeMs: () => 100,
    restartMs: () => 3000,
    adopts: true,
    listener: {
      onKubeletStart: nothing,
      onKubeletExit: nothing,
      onAgentStart: nothing,
      onAgentDown: nothing,
      onLead: nothing,
      onControllerDown: nothing,
      onAnswered: nothing,
      log: () => silentLog,
    },
  });
  onTestFinished(() => cluster.server.close());
  await cluster.clock.advance(60_000);
  const set = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec: {
      selector: { matchLabels: { pool: 'gpu' } },
      config: { overlay: { maxPods: 60 } },
      strategy: {
        waves: [{ nodes: 1 }, { nodes: 6 }, { nodes: '100%' }],
        maxUnavailable: '100%',
        maxInTrial: '100%',
        analysis: { window: '5m', signals: [{ name: 'podStartSeconds' }, { name: 'restarts' }] },
      },
    },
  };
  await cluster.client.create(nodeConfigSets, {}, set);
  return cluster;
}

/** The status when the set is as it stays. `each`: after each step of 20 s. */
async function ended(cluster: SimulatedCluster, each: () => void) {
  for (let step = 0; step < 400; step++) {
    const { status } = await cluster.client.get<NodeConfigSet>(nodeConfigSets, { name: 'gpu' });
    const isTrue = (type: string) => status?.conditions?.find((one) => one.type === type && one.status === 'True');
    const end = isTrue('Ready') ?? isTrue('Stalled');
    if (end !== undefined && status?.updateRevision !== undefined) return { reason: end.reason, status };
    each();
    await cluster.clock.advance(20_000);
  }
  throw new Error('no end');
}

test('agents and controllers that crash while they observe come to the same end', () =>
  withoutStacks(() =>
    withPlainSignals(async () => {
      const cluster = await harmedCluster();
      let step = 0;
      const { reason, status } = await ended(cluster, () => {
        step++;
        if (step % 3 === 0) cluster.controllers.get(`controller-${1 + (step % 2)}`)!.process.down();
        cluster.nodes.get(names[step % names.length]!)!.agent.down();
      });
      expect(reason).toBe('WorseThanControls');
      expect(status.analyses?.[0]).toMatchObject({ wave: 2, outcome: 'Worse' });
      expect(status.updatedNodes).toBe(6);
    }),
  ));
