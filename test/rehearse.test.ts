/** `relet rollout rehearse`: what a rollout does is found out on a copy of the nodes, and is the same for the same seed. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formatRef } from '../src/api/config-ref.js';
import { claimText } from '../src/api/node-annotations.js';
import type { NodeConfigSet, NodeConfigSetSpec } from '../src/api/node-config-set.js';
import type { KubeObject } from '../src/api/object.js';
import { rehearsalPage } from '../src/cli/rollout/rehearsal-page.js';
import { rehearsalText, thenText } from '../src/cli/rollout/rehearsal-text.js';
import { createPaint } from '../src/cli/terminal/terminal.js';
import type { Faults } from '../src/rehearsal/faults.js';
import { type Fleet, fleetFrom, madeFleet } from '../src/rehearsal/fleet.js';
import { readManifests } from '../src/rehearsal/manifests.js';
import { rehearse } from '../src/rehearsal/rehearse.js';
import { findRejections } from '../src/rehearsal/rejections.js';
import { type Rehearsal, reportOf } from '../src/rehearsal/report.js';
import { rowOf, spreadOf } from '../src/rehearsal/spread.js';
import { desiredRevision, payloadOf, setConfigMap } from '../src/rollout/revision.js';
import { relet } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';
import { setTraps } from './traps.js';

const deploy = join(import.meta.dirname, '../deploy');
const manifests = ['base', 'guards', 'kube-system', 'drain'].flatMap((part) => readManifests(join(deploy, part)));

const setWith = (
  strategy: NodeConfigSetSpec['strategy'] = {},
  more: Partial<NodeConfigSetSpec> = {},
): NodeConfigSet => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'pool' },
  spec: { selector: { matchLabels: { pool: 'a' } }, config: { overlay: { maxPods: 200 } }, strategy, ...more },
});

interface Asked {
  set?: NodeConfigSet;
  fleet?: Fleet;
  faults?: Faults;
  seed?: string;
  untilMs?: number;
  approveAfterMs?: number;
  startMs?: number;
}

async function run({ set = setWith(), seed = '1', faults = {}, ...asked }: Asked): Promise<Rehearsal> {
  const fleet = asked.fleet ?? madeFleet({ set, count: 6, kubeletVersion: 'v1.34.0' });
  const rejections = await findRejections(fleet, payloadOf(set.spec.config)!, { isWritten: false });
  const times = {
    startMs: asked.startMs ?? Date.UTC(2026, 0, 5),
    trialMs: 60_000,
    approveAfterMs: asked.approveAfterMs ?? 0,
    untilMs: asked.untilMs ?? 3_600_000,
  };
  const result = await rehearse({ set, fleet, faults, seed, manifests, ...times });
  return reportOf({ run: result, fleet, seed, rejections, assumptions: [] });
}

const node = (name: string, more: { version?: string; ready?: string; memory?: string } = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { pool: 'a' } },
  status: {
    capacity: { cpu: '4', memory: more.memory ?? '8Gi' },
    conditions: [{ type: 'Ready', status: more.ready ?? 'True' }],
    nodeInfo: { kubeletVersion: more.version ?? 'v1.34.0' },
  },
});

const waves = [{ nodes: 1 }, { nodes: '50%' }, { nodes: '100%' }];

describe('a rehearsal', () => {
  test('completes in the waves and within the budgets of the strategy, in the order of the names', async () => {
    const set = setWith({ waves, maxUnavailable: 2, maxInTrial: 2 });
    const rehearsal = await run({ set });
    expect(rehearsal).toMatchObject({ outcome: 'complete', reason: 'RolloutComplete', failed: [] });
    expect(rehearsal.story.map(({ name, wave }) => `${wave} ${name}`)).toEqual([
      '1 node-01',
      '2 node-02',
      '2 node-03',
      '3 node-04',
      '3 node-05',
      '3 node-06',
    ]);
    expect(rehearsal.budgets.inTrial).toEqual({ most: 2, allowed: 2 });
    expect(rehearsal.budgets.unavailable.most).toBeLessThanOrEqual(2);
    // One trial, one for two nodes, and two for three nodes of which two may be in trial.
    expect(rehearsal.durationSeconds).toBeGreaterThan(240);
    expect(rehearsal.durationSeconds).toBeLessThan(300);
  });

  test('halts at the wave of a canary that fails, and no further node is changed', async () => {
    const rehearsal = await run({ set: setWith({ waves }), faults: { fail: ['node-01'] } });
    expect(rehearsal).toMatchObject({ outcome: 'stopped', reason: 'Halted' });
    expect(rehearsal.failed.map(({ name, wave }) => ({ name, wave }))).toEqual([{ name: 'node-01', wave: 1 }]);
    expect(rehearsal.story).toHaveLength(1);
    expect(rehearsal.nodes).toMatchObject({ selected: 6, updated: 0, failed: 1 });
  });

  test('halts at the wave that can notice harm, and every report says which wave can notice how much', async () => {
    const waves = [{ nodes: 1 }, { nodes: 7 }, { nodes: '100%' }];
    const set = setWith({ waves, maxUnavailable: '100%', maxInTrial: '100%', analysis: { window: '5m' } });
    const fleet = madeFleet({ set, count: 30, kubeletVersion: 'v1.34.0' });
    const harmed = await run({ set, fleet, faults: { worse: [{ signal: 'podStartSeconds', factor: 3, share: 1 }] } });
    expect(harmed).toMatchObject({ outcome: 'stopped', reason: 'WorseThanControls', nodes: { updated: 7 } });
    const text = (one: Rehearsal) => rehearsalText(one, { columns: 80, width: 80, paint: createPaint(false) });
    expect(text(harmed).replace(/\s+/g, ' ')).toMatch(
      /worse: \d+ of 6 canaries start pods slower than before \(\+\d+ %,/,
    );
    const harmless = await run({ set, fleet });
    expect(harmless).toMatchObject({ outcome: 'complete', nodes: { updated: 30 } });
    for (const one of [harmed, harmless])
      expect(text(one).replace(/\s+/g, ' ')).toMatch(
        /What the analysis can notice .*: - wave 1, 1 against 29 nodes: cannot tell.* - wave 2, 6 against 23 nodes: podStartSeconds × [\d.]+ is found with \d+ %/,
      );
  });

  test('shows that nodes go back where the strategy says so', async () => {
    const set = setWith({ waves, onFailure: 'Rollback' });
    const rehearsal = await run({ set, faults: { fail: ['node-02'] } });
    expect(rehearsal).toMatchObject({ outcome: 'stopped', reason: 'RolledBack' });
    expect(rehearsal.nodes).toMatchObject({ updated: 0, returned: 2 });
    expect(rehearsal.failed.map(({ name }) => name)).toEqual(['node-02']);
  });

  test('takes nodes that are alike back one after the other, within the budget, whichever of them goes first', async () => {
    const strategy = { waves: [{ nodes: '100%' }], maxUnavailable: 1, maxInTrial: 6 };
    const set = setWith({ ...strategy, onFailure: 'Rollback' });
    const rehearsal = await run({ set, faults: { fail: ['node-06'] } });
    expect(rehearsal).toMatchObject({ outcome: 'stopped', reason: 'RolledBack' });
    expect(rehearsal.nodes).toMatchObject({ updated: 0, returned: 6 });
    expect(rehearsal.failed.map(({ name }) => name)).toEqual(['node-06']);
    expect(rehearsal.budgets.unavailable).toEqual({ most: 1, allowed: 1 });
  });

  test('leaves out nodes that are not Ready; where they use up the budget it does not end', async () => {
    const faults = { notReady: ['node-03'] };
    const left = await run({ set: setWith({ maxUnavailable: 2 }), faults });
    expect(left).toMatchObject({ outcome: 'complete', excluded: [{ name: 'node-03', reason: 'NotReady' }] });
    const stuck = await run({ set: setWith({ maxUnavailable: 1 }), faults, untilMs: 120_000 });
    expect(stuck).toMatchObject({ outcome: 'unfinished', reason: 'BudgetSpent', story: [] });
    expect(stuck.message).toContain('node-03 NotReady');
  });

  test('ends soon where no node can be changed, and names the first of them', async () => {
    const notReady = Array.from({ length: 6 }, (_, at) => `node-0${at + 1}`);
    const rehearsal = await run({ set: setWith({}), faults: { notReady } });
    expect(rehearsal).toMatchObject({ outcome: 'unfinished', reason: 'NoNodeToChange', waves: [], story: [] });
    expect(rehearsal.durationSeconds).toBeLessThan(1200);
    expect(rehearsalText(rehearsal, { width: undefined, columns: 100, paint: createPaint(false) })).toMatch(
      /^Result: +nothing can be changed \(NoNodeToChange\)\nBecause: +all 6 nodes excluded: node-01 \(it is not Ready\)/m,
    );
  });

  test('approves waves after the time that is assumed, and lets them soak', async () => {
    const set = setWith({
      waves: [{ nodes: 1, approve: true, soak: '5m' }, { nodes: '100%' }],
      maxUnavailable: 5,
      maxInTrial: 5,
    });
    const rehearsal = await run({ set, approveAfterMs: 600_000 });
    expect(rehearsal.outcome).toBe('complete');
    const second = rehearsal.waves[1]!.startSeconds! - rehearsal.waves[0]!.endSeconds!;
    expect(second).toBeGreaterThanOrEqual(900);
    expect(second).toBeLessThan(910);
  });

  test('waits for a window', async () => {
    const set = setWith({ waves, maxInTrial: 6, maxUnavailable: 6, windows: [{ from: '00:20', to: '04:00' }] });
    const rehearsal = await run({ set });
    expect(rehearsal.outcome).toBe('complete');
    expect(rehearsal.waves[0]!.startSeconds).toBeGreaterThanOrEqual(1200);
  });

  test('completes although the controller crashes and the API server is away', async () => {
    const set = setWith({ waves: [{ nodes: 1, soak: '25m' }, { nodes: '100%' }] });
    const faults = { controllerCrashes: true, apiOutages: true, slow: ['node-02'] };
    const rehearsal = await run({ set, faults, untilMs: 4 * 3_600_000 });
    expect(rehearsal).toMatchObject({ outcome: 'complete', failed: [] });
    const texts = rehearsal.events.map(({ text }) => text).join('\n');
    expect(texts).toContain('controller-1 crashes');
    expect(texts).toContain('the API server is away');
    const [slow, other] = ['node-02', 'node-03'].map((name) => rehearsal.story.find((one) => one.name === name)!);
    expect(slow!.activeSeconds! - slow!.assignedSeconds).toBeGreaterThanOrEqual(30);
    expect(other!.activeSeconds! - other!.assignedSeconds).toBeLessThan(30);
  });

  test('gives the same bytes for the same seed, and takes nothing from the system', async () => {
    const asked: Asked = { set: setWith({ waves }), faults: { fail: '10%', slow: 1 } };
    const first = await run(asked);
    const used: string[] = [];
    const clear = setTraps((name) => used.push(name));
    onTestFinished(clear);
    const second = await run(asked);
    clear();
    expect(used).toEqual([]);
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    const other = await run({ ...asked, seed: '2' });
    expect(JSON.stringify({ ...other, seed: '1' })).not.toBe(JSON.stringify(first));
  });

  test('names every node that would reject the config, although only the others are changed', async () => {
    const set = setWith({}, { config: { overlay: { imageMaximumGCAge: '168h' } } });
    const nodes = ['a', 'b', 'c'].map((name) => node(name, { version: name === 'a' ? 'v1.34.0' : 'v1.29.1' }));
    const rehearsal = await run({ set, fleet: fleetFrom(nodes, { set }) });
    expect(rehearsal).toMatchObject({ outcome: 'stopped', reason: 'InvalidConfig', story: [{ name: 'a' }] });
    expect(rehearsal.rejections).toEqual([
      {
        nodes: ['b', 'c'],
        kubeletVersion: 'v1.29.1',
        reason: 'ValidationFailed',
        message: expect.stringContaining('ImageMaximumGCAge feature gate is required'),
      },
    ]);
  });

  test('a node whose memory is too small for what is reserved rejects it, and the rollout halts there', async () => {
    const overlay = { kubeReserved: { memory: '6Gi' }, enforceNodeAllocatable: ['pods'] };
    const set = setWith({ maxUnavailable: 3, maxInTrial: 3 }, { config: { overlay } });
    const nodes = [node('a', { memory: '64Gi' }), node('b', { memory: '64Gi' }), node('c', { memory: '4Gi' })];
    const rehearsal = await run({ set, fleet: fleetFrom(nodes, { set }) });
    expect(rehearsal.rejections.map((one) => one.nodes)).toEqual([['c']]);
    expect(rehearsal).toMatchObject({ outcome: 'stopped', reason: 'Halted', failed: [{ name: 'c' }] });
  });

  test.each([
    ['9,000 levels', { x: JSON.parse(`${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`) }],
    ['8,000 keys', { kubeReserved: Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`k${i}`, '1Mi'])) }],
  ])(
    'copies a node that reports a local config of %s, Ready or not, and assumes another one',
    async (_name, config) => {
      const set = setWith({ maxUnavailable: 3, maxInTrial: 3 });
      const off = node('b', { ready: 'False' });
      const status = { config: {}, localConfig: { files: [{ path: '/l', config }] } };
      const reports = ['a', 'b'].map((name) => ({
        ...{ apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name } },
        status,
      }));
      const fleet = fleetFrom([node('a'), off, ...reports], { set });
      expect(fleet.assumptions).toContain("the local config of 2 nodes is not known; one like kubeadm's is assumed");
      expect(await run({ set, fleet })).toMatchObject({ outcome: 'complete', story: [{ name: 'a' }] });
    },
  );

  test('starts from what nodes are assigned: by hand, by this set, held, without an agent', async () => {
    const set = setWith({ maxUnavailable: 5, maxInTrial: 5 });
    const source = { configMap: { namespace: 'relet-system', name: 'mine', kubeletConfigKey: 'kubelet' } };
    const reported = (name: string, more: object = {}, annotations = {}) =>
      ({
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata: { name, annotations },
        status: { config: {} },
        ...more,
      }) as KubeObject;
    const objects = [
      ...['by-hand', 'free', 'held', 'no-agent'].map((name) => node(name)),
      reported('by-hand', { spec: { configSource: source } }),
      reported('free'),
      reported('held', { status: { config: {}, held: { why: 'disk is full' } } }),
      { ...reported('no-agent'), status: {} },
    ];
    const fleet = fleetFrom(objects, { set });
    expect(fleet.assumptions.join()).toContain('relet-system/mine/kubelet, which nodes have now, is not known');
    const rehearsal = await run({ set, fleet });
    expect(rehearsal.story.map(({ name }) => name)).toEqual(['free']);
    expect(rehearsal.excluded.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      'by-hand AssignedByHand',
      'held Held',
      'no-agent NoAgent',
    ]);
  });

  test('drains nodes: pods end and are created elsewhere, as fast as their budget allows', async () => {
    const set = setWith({ waves: [{ nodes: '100%' }], maxUnavailable: 2, maxInTrial: 4, drain: { policy: 'Always' } });
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web-uid', controller: true };
    const pods = ['a', 'b', 'c', 'd'].map((nodeName) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `web-${nodeName}`, namespace: 'shop', labels: { app: 'web' }, ownerReferences: [owner] },
      spec: { nodeName },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    }));
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { minAvailable: 3, selector: { matchLabels: { app: 'web' } } },
    };
    const fleet = fleetFrom([...['a', 'b', 'c', 'd'].map((name) => node(name)), ...pods, budget], { set });
    const rehearsal = await run({ set, fleet });
    expect(rehearsal).toMatchObject({ outcome: 'complete', failed: [] });
    expect(rehearsal.drains).toMatchObject({ started: 4, failed: 0 });
    expect(rehearsal.drains.podsMoved).toBeGreaterThanOrEqual(4);
    expect(rehearsal.budgets.unavailable.most).toBe(2);
    // The budget lets one pod go at a time, until the one before it is Ready elsewhere.
    const drained = rehearsal.events.filter(({ kind }) => kind === 'drain').map(({ seconds }) => seconds);
    expect(drained[2]! - drained[0]!).toBeGreaterThanOrEqual(5);
  });

  test('continues a rollout under way: what nodes have passed before is not done again', async () => {
    const set = setWith({ waves: [{ nodes: 1 }, { nodes: '100%' }], maxUnavailable: 3, maxInTrial: 3 });
    const { revision, source } = desiredRevision('pool', payloadOf(set.spec.config)!);
    const at = '2026-01-04T23:00:00Z';
    const claim = { set: 'pool', revision, source: source(1), wave: 1, at, previous: undefined };
    const objects = [
      ...['a', 'b', 'c'].map((one) => node(one)),
      ...['a', 'b', 'c'].map((one) => ({
        apiVersion: 'relet.dev/v1alpha1',
        kind: 'NodeConfig',
        metadata: {
          name: one,
          ...(one === 'a' && { annotations: { 'relet.dev/claim': claimText(claim), 'relet.dev/by': 'ann' } }),
        },
        ...(one === 'a' && { spec: { configSource: { configMap: source(1) } } }),
        status: { config: {} },
      })),
      setConfigMap('pool', payloadOf(set.spec.config)!, 1),
    ];
    // Names that only ann and bob may write in a cluster.
    const rollout = {
      approve: { revision, wave: 1, by: 'ann' },
      request: { action: 'Abort' as const, revision: 'b', by: 'bob' },
    };
    const status = {
      updateRevision: revision,
      revisions: [{ revision, source: formatRef(source(1), 'short'), startedAt: at }],
      rollout,
    };
    const rehearsal = await run({ set: { ...set, status }, fleet: fleetFrom(objects, { set }) });
    expect(rehearsal).toMatchObject({ outcome: 'complete', nodes: { selected: 3, updated: 3 } });
    expect(rehearsal.story.map((one) => `${one.wave} ${one.name}`)).toEqual(['2 b', '2 c']);
  });

  test('the spread of many has the best, the median and the worst, and the seed of the worst', async () => {
    const one = await run({ set: setWith({}), faults: { fail: ['node-01'] } });
    const rows = [5, 1, 9, 3].map((failedNodes, at) => ({ ...rowOf(one), seed: `s-${at}`, failedNodes }));
    expect(spreadOf(rows, one)).toMatchObject({
      seeds: 4,
      outcomes: { 'stopped (Halted)': 4 },
      failedNodes: { best: 1, median: 5, worst: 9, worstSeed: 's-2' },
    });
    expect(spreadOf(rows, one).durationSeconds).toBeUndefined();
  });

  test('names and reasons from a file cannot break out of the page or the terminal', async () => {
    const evil = '\u001b]0;x\u0007<script>alert(1)</script>';
    const set = setWith({ maxUnavailable: 5 });
    const held = { ...node('a'), metadata: { ...node('a').metadata, annotations: { 'relet.dev/hold': evil } } };
    const fleet = fleetFrom([held, node('b', { version: `v1.34.0${evil}` })], { set });
    const rehearsal = await run({ set, fleet });
    const page = rehearsalPage(rehearsal);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).not.toMatch(/<script/);
    expect(page).not.toContain('\u001b');
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(page).not.toMatch(/https?:|src=|url\(/);
    const text = rehearsalText(rehearsal, { columns: 80, width: 80, paint: createPaint(false) });
    expect(text).not.toContain('\u001b');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

describe('relet rollout rehearse', () => {
  const manifest = JSON.stringify(setWith({ waves }));

  test('reads the set from standard input, prints one document, and progress for a program', () => {
    const file = join(temporaryDir(), 'page.html');
    const words = [
      '--count',
      '4',
      '--fail',
      'node-02',
      '--trial',
      '1m',
      '-o',
      'json',
      '--progress',
      'json',
      '--html',
      file,
    ];
    const { status, stdout, stderr } = relet(['rollout', 'rehearse', '-', ...words], { stdin: manifest });
    const rehearsal: Rehearsal = JSON.parse(stdout);
    expect(rehearsal).toMatchObject({ kind: 'Rehearsal', outcome: 'stopped', failed: [{ name: 'node-02', wave: 2 }] });
    expect(status).toBe(1);
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ set: 'pool', assessment: 'stopped', reason: 'Halted', failed: 1 });
    expect(readFileSync(file, 'utf8')).toContain('node-02 failed, ');
  });

  test('shows the spread of several seeds', () => {
    const words = ['--count', '3', '--fail', '1', '--seeds', '2', '--trial', '30s'];
    const { status, stdout, stderr } = relet(['rollout', 'rehearse', '-', ...words], { stdin: manifest });
    expect(stdout).toMatch(/^Rehearsals: +2 of pool\nResults: +2 stopped \(Halted\)\n/);
    expect(stdout).toMatch(/failed nodes +1 +1 +1 /);
    expect(stderr).toMatch(/^1\/2 {2}seed 1-1: stopped \(Halted\) after .*, 1 failed\n2\/2 {2}seed 1-2: /);
    expect(status).toBe(1);
  });

  test.each<[string, string[], string, RegExp]>([
    [
      'a file without Nodes',
      ['--nodes', 'FILE'],
      '{"items": []}',
      /has no Node in it; 'kubectl get nodes,nodeconfigs -o json'/,
    ],
    [
      'Nodes that the set does not select',
      ['--nodes', 'FILE'],
      JSON.stringify({ ...node('a'), metadata: { name: 'a' } }),
      /selects pool=a, and no Node is selected of the 1 that are known/,
    ],
    [
      'a name that no Node can have',
      ['--nodes', 'FILE'],
      JSON.stringify(node('a\u001b[2J')),
      /'a\\u001b\[2J' cannot be the name of a Node/,
    ],
    ['a file that is neither JSON nor YAML', ['--nodes', 'FILE'], '{a: [', /FILE|nodes.json: /],
    [
      'a node to fail that is not there',
      ['--count', '3', '--fail', 'node-9'],
      '',
      /there is no node 'node-9' among the 3/,
    ],
    [
      'a Node that is there twice',
      ['--nodes', 'FILE'],
      JSON.stringify({ items: [node('a'), node('a')] }),
      /the Node a is in the list twice; keep one of them/,
    ],
    [
      'a Node that is none',
      ['--nodes', 'FILE'],
      JSON.stringify({ ...node('a'), status: { conditions: 'Ready' } }),
      /the Node a is not valid: .*conditions/,
    ],
    ['more nodes than any cluster has', ['--count', '1000000'], '', /Must be at most 20000/],
    ['a broken local config', ['--count', '3', '--local', 'FILE'], '{', /--local: local config .*: failed to decode/],
    [
      'a page that cannot be written',
      ['--count', '3', '--html', '/nowhere/page.html'],
      '',
      /--html: cannot write \/nowhere\/page.html: there is no such directory/,
    ],
    ['two node lists', ['--count', '3', '--nodes', 'FILE'], '{}', /do not go together/],
    ['a page of many', ['--count', '3', '--seeds', '2', '--html', 'FILE'], '', /--html shows one rehearsal/],
  ])('cannot run with %s, and says what to do', (_name, words, content, message) => {
    const file = join(temporaryDir(), 'nodes.json');
    writeFileSync(file, content);
    const args = words.map((word) => (word === 'FILE' ? file : word));
    const { status, stdout, stderr } = relet(['rollout', 'rehearse', '-', ...args], { stdin: manifest });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('\u001b');
  });

  test('counts each node once: in trial when time is over, and given back although it failed before', async () => {
    const thenOf = async (asked: Asked) => thenText(await run(asked));
    const set = setWith({ waves: [{ nodes: '100%' }], maxInTrial: 3, maxUnavailable: 3 });
    expect(await thenOf({ set, untilMs: 40_000 })).toBe('3 in trial or not yet active, 3 not changed');
    const back = setWith({ waves: [{ nodes: 1 }], onFailure: 'Rollback' });
    expect(await thenOf({ set: back, faults: { fail: 6 } })).toBe('1 given back what they had, 5 not changed');
  });

  test.each([
    [
      'a field that a set does not have',
      { strategy: { maxUnavailible: 1 } },
      /unknown field spec.strategy.maxUnavailible/,
    ],
    ['a field of another type', { strategy: { waves: 'hello' } }, /spec.strategy.waves: .* must be of type array/],
    [
      'two configs',
      { config: { overlay: {}, whole: {} } },
      /exactly one of overlay, whole, configMap and signed must be set/,
    ],
  ])('says what an API server would say of %s', (_name, spec, message) => {
    const wrong = { ...setWith(), spec: { ...setWith().spec, ...spec } };
    const words = ['rollout', 'rehearse', '-', '--count', '3'];
    const { status, stdout, stderr } = relet(words, { stdin: JSON.stringify(wrong) });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('reads a list of any length, and says what it does not know of the nodes', () => {
    const file = join(temporaryDir(), 'nodes.json');
    const nodes = { items: [node('a'), node('b', { version: 'v1.40.0' })] };
    writeFileSync(file, `${JSON.stringify(nodes)}${' '.repeat(9 * 2 ** 20)}`);
    const set = setWith({}, { accept: ['Drain'] });
    const words = ['rollout', 'rehearse', '-', '--nodes', file, '--trial', '30s', '-o', 'json'];
    const { stdout } = relet(words, { stdin: JSON.stringify(set) });
    const { assumptions } = JSON.parse(stdout) as Rehearsal;
    expect(assumptions.join('\n')).toMatch(/1 node with a kubelet that relet does not know, such as b \(v1.40.0\)/);
    expect(assumptions.join('\n')).toMatch(
      /no pods and no PodDisruptionBudgets are known, so every drain ends at once/,
    );
  });
});
