/**
 * Analyses of whole rollouts whose nodes, API server and controller are processes. The signals below the agents are made. The windows of
 * an analysis last minutes: the test shortens them in the status, which is all that a controller knows about them.
 */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { readClaim } from '../src/api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import { type NodeConfigSet, nodeConfigSets } from '../src/api/node-config-set.js';
import { observeRequestOf } from '../src/api/observe.js';
import { rfc3339 } from '../src/clock.js';
import type { KubeClient } from '../src/kube/client.js';
import { events, nodes } from '../src/kube/resource-type.js';
import { watchLoop } from '../src/kube/watch.js';
import { type Lab, startLab } from '../src/lab/index.js';
import { assess } from '../src/rollout/assessment.js';
import { clientFor, type EventObject } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { type Program, runRelet, sendSignal, startRelet } from './program.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const lying = 'node-9';
const down = 'node-10';

const dir = temporaryDir();
let lab: Lab;
let admin: KubeClient;
let controller: Program;

/** relet, with a node that lies whatever it runs, and a controller that leaves the work to the test once there is a file. */
function preparedRelet(): string {
  const lie = '--hollow-worse-if=kind=KubeletConfiguration:podStartSeconds=99999';
  const program = `
    const isIdle = process.argv[2] === 'controller' && require('node:fs').existsSync('idle');
    if (process.argv.includes('--hostname-override=${lying}')) process.argv.push('${lie}');
    if (isIdle) require('node:net').createServer().listen(0, '127.0.0.1');
    else require(${JSON.stringify(join(root, 'bin', 'relet.cjs'))});`;
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'relet.cjs'), program);
  symlinkSync(join(root, 'deploy'), join(dir, 'deploy'));
  return dir;
}

function startController(): void {
  const kubeconfig = join(lab.dataDir, 'controller.kubeconfig');
  controller = startRelet(['controller', `--kubeconfig=${kubeconfig}`, '--guards-settle-time=0s']);
}

beforeAll(async () => {
  const kubeletFlags = ['--restart-interval=0s', '--hollow-worse-if=maxPods=60:podStartSeconds=1.7'];
  lab = await startLab({ nodes: 10, trialDuration: '300ms', packageDir: preparedRelet(), kubeletFlags });
  admin = clientFor(lab.kubeconfig);
  writeFileSync(join(lab.dataDir, 'idle'), '');
  sendSignal(Number(readFileSync(join(lab.dataDir, 'controller.pid'), 'utf8')), 'SIGKILL');
  startController();
});
afterAll(async () => {
  await controller?.end();
  admin?.close();
  await lab?.stop();
});

interface Listener {
  onSet?(set: NodeConfigSet): void;
  onNode?(node: NodeConfig): void;
  /** Called, perhaps again and again, before the window of an analysis begins. */
  beforeWindow?(): Promise<void>;
  /** Windows that were over before all nodes were asked. */
  missed?: number;
}

/** Applies the set and resolves with it when its rollout has ended. */
async function rollOut(maxPods: number, waves: (number | string)[], listener: Listener): Promise<NodeConfigSet> {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const strategy = {
    waves: waves.map((nodes) => ({ nodes })),
    maxUnavailable: '100%',
    maxInTrial: '100%',
    analysis: { window: '5m', signals: [{ name: 'podStartSeconds' }] },
  };
  const manifest = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'all' },
    spec: { selector: {}, config: { overlay: { maxPods } }, strategy },
  };
  await admin.patch(nodeConfigSets, { name: 'all' }, manifest, { as: 'apply', force: true, fieldManager: 'git' });
  const seen = new Map<string, NodeConfig>();
  let set: NodeConfigSet | undefined;
  const onSet = (one: NodeConfigSet | undefined) => {
    set = one;
    if (one !== undefined) listener.onSet?.(one);
  };
  const onNode = (node: NodeConfig) => {
    seen.set(node.metadata.name, node);
    listener.onNode?.(node);
  };
  const [signal, onFailure] = [over.signal, () => {}];
  const sets = {
    onList: ([one]: NodeConfigSet[]) => onSet(one),
    onChange: (_: string, one: NodeConfigSet) => onSet(one),
  };
  const all = {
    onList: (items: NodeConfig[]) => {
      for (const node of items) onNode(node);
    },
    onChange: (_: string, node: NodeConfig) => onNode(node),
  };
  void watchLoop<NodeConfigSet>(admin, { type: nodeConfigSets, name: 'all', signal, onFailure, ...sets });
  void watchLoop<NodeConfig>(admin, { type: nodeConfigs, signal, onFailure, ...all });
  const ended = async () => {
    if (set === undefined) return false;
    await shortenWindow(set, seen, listener);
    return ['complete', 'stopped'].includes(assess(set).kind) && set;
  };
  return await eventually('the rollout has ended', ended, {
    seen: () => `${JSON.stringify(set?.status, null, 1)}\n${controller.output}`,
  }).finally(() => over.abort());
}

/** The window after the change begins now and ends within seconds; again, and longer, where it was over before all nodes were asked. */
async function shortenWindow({ status }: NodeConfigSet, seen: Map<string, NodeConfig>, listener: Listener) {
  const [analysis] = status?.analyses ?? [];
  const { state, after, canaries = [], controls = [] } = analysis ?? {};
  if (state !== 'Observing' || after === undefined) return;
  const endMs = Date.parse(after[1]);
  const isAsked = (name: string) => observeRequestOf(seen.get(name)!)?.after[1] === after[1];
  const isMissed = endMs < Date.now() && ![...canaries, ...controls].every(isAsked);
  if (endMs < Date.now() + 60_000 && !isMissed) return;
  if (isMissed) listener.missed = (listener.missed ?? 0) + 1;
  const lengthMs = Math.min(24_000, 3000 * 2 ** (listener.missed ?? 0));
  await listener.beforeWindow?.();
  const now = Date.now();
  const patch = [
    { op: 'test', path: '/status/analyses/0/after', value: after },
    { op: 'replace', path: '/status/analyses/0/after', value: [rfc3339(now), rfc3339(now + lengthMs)] },
  ];
  // Rejected when the controller has written meanwhile: then its change is seen next.
  await admin.patch(nodeConfigSets, { name: 'all', subresource: 'status' }, patch, { as: 'json' }).catch(() => {});
}

// The controller is killed at each step of the wave.
test('a config that does harm to pods halts at its wave, with what got worse, on which nodes and by how much', async () => {
  const kills = new Set<string>();
  const step = (wave: number | string | undefined, name: string) => {
    if (Number(wave) !== 2 || kills.has(name)) return;
    kills.add(name);
    controller.kill('SIGKILL');
    startController();
  };
  const waveOf = (id: string) => id.split('/').at(-1);
  const { status } = await rollOut(60, [1, 4, '100%'], {
    onSet({ status }) {
      const [analysis] = status?.analyses ?? [];
      if (status?.intent) step(status.intent.wave, 'planned');
      if (analysis) step(analysis.wave, analysis.state);
    },
    onNode({ metadata, status }) {
      const request = observeRequestOf({ metadata });
      step(readClaim(metadata.annotations?.['relet.dev/claim'])?.wave, 'assigned');
      if (request) step(waveOf(request.id), 'requested');
      if (status?.observed) step(waveOf(status.observed.id), 'answered');
    },
  });
  expect([...kills].sort()).toEqual(['Done', 'Observing', 'answered', 'assigned', 'planned', 'requested']);
  expect(status?.waves?.map(({ state }) => state)).toEqual(['Done', 'Rolling', 'Pending']);
  expect(status?.updatedNodes).toBe(4);
  expect(status?.analyses?.[0]?.canaries).toEqual(['node-2', 'node-3', 'node-4']);
  const sentence =
    'worse: 3 of 3 canaries start pods slower than before (+70 %, median 1 s → 1.7 s); none of 5 controls do';
  const read = (...words: string[]) => runRelet(['rollout', ...words, 'all', '--kubeconfig', lab.kubeconfig]);
  const oneLine = (text: string) => text.replace(/\s+/g, ' ');
  expect(oneLine((await read('status')).stdout)).toContain(
    `Analysis of wave 2 of revision ${status?.updateRevision}: ${sentence}`,
  );
  const { stdout } = await read('analyze');
  expect(oneLine(stdout)).toContain(
    `${sentence} SIGNAL RESULT CANARIES CONTROLS podStartSeconds worse 1 s → 1.7 s, 3 of 3`,
  );
  expect(oneLine(stdout)).toContain('Analysis of wave 1');
});

test('a corrected config completes, beside a control that lies and one that goes down', async () => {
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await lab.stopNode(down);
    // As the node controller of a cluster, which the lab does not have.
    const conditions = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }];
    await admin.patch(nodes, { name: down, subresource: 'status' }, { status: { conditions } }, { as: 'merge' });
  };
  const { status } = await rollOut(61, [4, '100%'], {
    beforeWindow() {
      stopped ??= stop();
      return stopped;
    },
  });
  const { leftOut, outcome, signals, message } = status!.analyses!.find(({ wave }) => wave === 1)!;
  expect(leftOut?.map(({ name }) => name)).toEqual([down]);
  expect(outcome).toBe('NotWorse');
  // One of six is down, and the value of another is out of range.
  expect(signals?.[0]?.controls.nodes).toBe(4);
  expect(status?.updatedNodes).toBe(9);
  await eventually('the event of the wave', async () => {
    const { items } = await admin.list<EventObject>(events, { namespace: 'default' });
    const messages = items.filter(({ reason }) => reason === 'WaveAnalyzed').map(({ message }) => message);
    expect(messages).toContain(`wave 1: ${message}`);
  });
});
