/** `relet rollout` and `relet release`, in a pipe, against the API server as a process. The test plays the controller: it writes the status. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Claim, claimAnnotation, claimText } from '../src/api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../src/api/node-config.js';
import {
  adoptAnnotation,
  holdAnnotation,
  type NodeConfigSet,
  type NodeConfigSetStatus,
  nodeConfigSets,
} from '../src/api/node-config-set.js';
import type { HistoryEntry } from '../src/fleet/config-history.js';
import { nodes } from '../src/kube/resource-type.js';
import { OperatorCluster } from './operator-rig.js';

let cluster: OperatorCluster;
const relet = (line: string, env?: Record<string, string>) => cluster.relet(line, env && { env });

beforeAll(async () => {
  cluster = await OperatorCluster.startWithDeploy();
  for (const name of ['node-1', 'node-2']) {
    await cluster.nodeWithConfig(name, { pool: 'gpu' });
  }
});
afterAll(() => cluster?.close());

const spec = {
  selector: { matchLabels: { pool: 'gpu' } },
  config: { overlay: { maxPods: 200 } },
  strategy: { waves: [{ nodes: 1, approve: true }, { nodes: '100%' }] },
};

async function create(name: string, metadata: object = {}): Promise<NodeConfigSet> {
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name, ...metadata }, spec };
  return cluster.admin.create<NodeConfigSet>(nodeConfigSets, {}, object);
}

/** As the controller reports it. */
async function report(name: string, condition: [type: string, reason: string, message: string], more: object = {}) {
  const [type, reason, message] = condition;
  const { metadata } = await setOf(name);
  const status: NodeConfigSetStatus = {
    observedGeneration: metadata.generation!,
    updateRevision: 'new',
    currentRevision: 'old',
    selectedNodes: 2,
    updatedNodes: 1,
    wave: 1,
    waveText: '1/2',
    waves: [
      { wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'AwaitingApproval' },
      { wave: 2, nodes: 2, assigned: 0, updated: 0, failed: 0, state: 'Pending' },
    ],
    conditions: [{ type, status: 'True', reason, message, lastTransitionTime: '2026-03-01T10:00:00Z' }],
    ...more,
  };
  await cluster.admin.patch(nodeConfigSets, { name, subresource: 'status' }, { status }, { as: 'merge' });
}

const setOf = (name: string) => cluster.admin.get<NodeConfigSet>(nodeConfigSets, { name });
const complete: [string, string, string] = ['Ready', 'RolloutComplete', 'All nodes run it.'];
const awaiting: [string, string, string] = ['Reconciling', 'AwaitingApproval', 'Somebody has to approve.'];
const halted: [string, string, string] = ['Stalled', 'Halted', 'More nodes have failed than allowed: node-1.'];

describe('relet rollout status', () => {
  beforeAll(() => create('gpu'));

  test.each<[string, [string, string, string], number]>([
    ['complete', complete, 0],
    ['halted', halted, 1],
    ['under way', awaiting, 3],
  ])('of a rollout that is %s has the exit code that scripts rely on', async (_name, condition, code) => {
    await report('gpu', condition);
    const { status, stdout, stderr } = await relet('rollout status gpu -o json');
    expect({ status, stderr }).toEqual({ status: code, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'RolloutStatus', set: 'gpu', reason: condition[1] });
  });

  test('without a name lists all sets', async () => {
    await report('gpu', awaiting);
    const { stdout } = await relet('rollout status');
    expect(stdout).toMatch(/^SET +NODES +WAVE +STATE\ngpu +1\/2 +1\/2 +progressing \(AwaitingApproval\)\n$/);
  });

  test('has YAML, names and a wide table, as kubectl does', async () => {
    await report('gpu', awaiting);
    expect((await relet('rollout status gpu -o yaml')).stdout).toMatch(/^kind: RolloutStatus$/m);
    expect((await relet('rollout status gpu -o name')).stdout).toBe('nodeconfigset.relet.dev/gpu\n');
    expect((await relet('rollout status -o wide')).stdout).toMatch(
      /^SET +NODES +WAVE +STATE +REVISION +IN-TRIAL +FAILED +EXCLUDED +MESSAGE\ngpu +.* +new +0 +0 +0 +Somebody has/,
    );
    expect((await relet('rollout history gpu -o yaml')).status).toBe(0);
    expect((await relet('rollout plan gpu -o yaml')).stdout).toMatch(/^kind: RolloutPlan$/m);
    expect((await relet('rollout pause gpu -o name')).stdout).toBe('nodeconfigset.relet.dev/gpu\n');
    expect((await relet('rollout resume gpu -o yaml')).stdout).toMatch(/^verb: resume$/m);
  });

  test('-w does not end with a status that is older than the spec, and ends with the new one', async () => {
    await report('gpu', complete);
    await cluster.admin.patch(nodeConfigSets, { name: 'gpu' }, { spec: { paused: true } }, { as: 'merge' });
    const following = relet('rollout status gpu -w --timeout 60s');
    // The one that has no time to wait shows that it is not over.
    expect((await relet('rollout status gpu -w --timeout 0s')).status).toBe(3);
    await report('gpu', halted);
    const { status, stdout } = await following;
    expect(status).toBe(1);
    expect(stdout).toContain('gpu: stopped (Halted)');
  });

  test('of a set that is not there is an error that names the remedy', async () => {
    const { status, stderr } = await relet('rollout status nosuch');
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: "relet: there is no set 'nosuch'; 'relet rollout status' lists them\n",
    });
  });
});

test.each([
  ['stops the kubelet at its start', { evictionHard: { 'memory.available': '500MB' } }, 'StartWouldFail'],
  ['has an unknown field', { maxPodz: 200 }, 'ParseFailed'],
])(
  'relet rollout plan fails for a config that %s, although no node can be changed now',
  async (_name, overlay, reason) => {
    const kinds = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet' };
    const stdin = JSON.stringify({ ...kinds, metadata: { name: 'planned' }, spec: { ...spec, config: { overlay } } });
    const { status, stdout } = await cluster.relet('rollout plan - -o json', { stdin });
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ rejections: [{ nodes: ['node-1', 'node-2'], reason }] });
  },
);

describe('requests', () => {
  let name = '';
  let count = 0;
  beforeEach(async () => {
    name = `asked-${count++}`;
    await create(name);
    await report(name, awaiting);
  });
  const blockOf = async () => (await setOf(name)).status?.rollout;

  test('approve names revision and wave, and writes nothing else', async () => {
    const before = await setOf(name);
    const { status, stdout } = await relet(`rollout approve ${name} --yes -o json`);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ set: name, verb: 'approve', revision: 'new', wave: 1 });
    const after = await setOf(name);
    expect(after.status?.rollout?.approve).toMatchObject({ revision: 'new', wave: 1, by: expect.any(String) });
    expect(after.spec).toEqual(before.spec);
    expect(after.metadata.generation).toBe(before.metadata.generation);
    const again = await relet(`rollout promote ${name} --yes`);
    expect(again.stdout).toMatch(
      /wave 1 of revision new is approved already, by kubernetes-admin \(unverified\) at 20/,
    );
    expect(again.status).toBe(0);
  });

  test('approve keeps a reason, and says that a complete revision needs none', async () => {
    expect((await cluster.relet(['rollout', 'approve', name, '-m', 'looks good', '-y'])).status).toBe(0);
    expect((await blockOf())?.approve).toMatchObject({ wave: 1, why: 'looks good', by: 'kubernetes-admin' });
    await report(name, complete, { currentRevision: 'new' });
    const { status, stderr } = await relet(`rollout approve ${name} --wave 1 --yes`);
    expect(status).toBe(2);
    expect(stderr).toBe(`relet: revision new of ${name} is complete; there is nothing to approve\n`);
  });

  test('approve --dry-run shows how many nodes change until the next stop, and approves nothing', async () => {
    const { status, stdout } = await relet(`rollout approve ${name} --dry-run`);
    expect({ status, lines: stdout.split('\n').slice(0, 4) }).toEqual({
      status: 0,
      lines: [
        `Set:         ${name}`,
        'Revision:    new',
        'Approves:    wave 1. 1 node will change in wave 2. Then the rollout is complete.',
        '',
      ],
    });
    const json = await relet(`rollout approve ${name} --dry-run -o json`);
    expect(JSON.parse(json.stdout)).toMatchObject({
      dryRun: true,
      wave: 1,
      approval: { waves: [{ wave: 2, count: 1 }] },
    });
    expect(await blockOf()).toBeUndefined();
  });

  test('abort and retry are requests for the revision at hand, with who and why; a script says --yes', async () => {
    expect((await cluster.relet(['rollout', 'abort', name, '-m', 'pods crash', '-y'])).status).toBe(0);
    expect((await blockOf())?.request).toMatchObject({ action: 'Abort', revision: 'new', why: 'pods crash' });
    await report(name, ['Stalled', 'Aborted', 'Somebody aborted it.'], { rejectedRevision: 'new' });
    expect((await relet(`rollout retry ${name}`)).stderr).toContain('use --yes');
    expect((await relet(`rollout retry ${name} --yes`)).status).toBe(0);
    const request = (await blockOf())?.request;
    expect(request).toMatchObject({ action: 'Retry', revision: 'new' });
    expect(request).not.toHaveProperty('why');
  });

  test.each(['abort', 'retry', 'undo'])('%s with --revision is only for that one', async (verb) => {
    await report(name, awaiting, { failedNodes: 1 });
    const { status, stderr } = await relet(`rollout ${verb} ${name} --revision old --yes`);
    expect(status).toBe(2);
    expect(stderr).toContain(`${name} rolls out revision new, not old, so nothing was changed`);
    expect(await blockOf()).toBeUndefined();
    expect((await relet(`rollout ${verb} ${name} --revision new --yes`)).status).toBe(0);
    expect((await blockOf())?.request).toMatchObject({ revision: 'new' });
  });

  test.each([
    ['abort', 'would be aborted: no further node is changed'],
    ['retry', 'would be rolled out again, also where it failed'],
    ['undo', 'would be undone: it is taken back from 2 nodes, within maxUnavailable'],
    ['pause', 'would be paused: no further node is changed'],
  ])('%s --dry-run shows what it would do, asks nothing and changes nothing', async (verb, text) => {
    await report(name, awaiting, { failedNodes: 1 });
    const before = await setOf(name);
    for (const how of ['client', 'server']) {
      const { status, stdout } = await relet(`rollout ${verb} ${name} --dry-run=${how}`);
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(text) });
      expect(stdout).toContain('nothing was changed (dry run)');
    }
    expect(JSON.parse((await relet(`rollout ${verb} ${name} --dry-run -o json`)).stdout)).toMatchObject({
      verb,
      dryRun: true,
    });
    expect(await setOf(name)).toEqual(before);
  });

  test('who may only approve cannot pause', async () => {
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: `approver-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'relet:approver' },
      subjects: [{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }],
    };
    const bindings = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings' };
    await cluster.admin.create(bindings, {}, binding);
    expect((await relet(`rollout approve ${name} --yes --as ann`)).stderr).toBe('');
    expect((await blockOf())?.approve).toMatchObject({ by: 'ann' });
    const paused = await relet(`rollout pause ${name} --as ann`);
    expect(paused.status).toBe(2);
    expect(paused.stderr).toMatch(/forbidden/i);
  });
});

describe('pause and resume', () => {
  test('write spec.paused', async () => {
    await create('paused');
    const { stdout: text } = await cluster.relet(['rollout', 'pause', 'paused', '-m', 'fan noise']);
    expect(text).toContain('paused: paused: no further node is changed');
    expect(await setOf('paused')).toMatchObject({
      metadata: { annotations: { 'relet.dev/by': 'kubernetes-admin', 'relet.dev/why': 'fan noise' } },
      spec: { paused: true },
    });
    const { stdout } = await relet('rollout resume paused -o json');
    expect(JSON.parse(stdout)).toEqual({
      apiVersion: 'cli.relet.dev/v1',
      kind: 'RolloutResult',
      set: 'paused',
      verb: 'resume',
    });
    expect((await setOf('paused')).spec.paused).toBe(false);
  });

  test('warn that Git will undo it', async () => {
    await create('flux', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'nodes' } });
    const { status, stderr } = await relet('rollout pause flux');
    expect(status).toBe(0);
    expect(stderr).toContain('warning: Flux (Kustomization nodes) applies flux from Git and will undo this');
  });
});

test('history shows how each revision ended', async () => {
  await create('old');
  await report('old', complete, {
    revisions: [
      { revision: 'new', source: 's', startedAt: '2026-03-01T10:00:00Z', summary: 'sets maxPods: 200' },
      {
        revision: 'old',
        source: 's',
        startedAt: '2026-03-01T08:00:00Z',
        endedAt: '2026-03-01T08:42:00Z',
        outcome: 'Complete',
      },
    ],
  });
  const { stdout } = await relet('rollout history old');
  expect(stdout).toMatch(/^new +\S+ +<none> +rolling out +sets maxPods: 200$/m);
  expect(stdout).toMatch(/^old +\S+ +42m +Complete, current +<none>$/m);
  expect(JSON.parse((await relet('rollout history old -o json')).stdout)).toHaveLength(2);
});

test('history does not show a rollout that halted as one that continues', async () => {
  await create('broken');
  await report('broken', halted, { revisions: [{ revision: 'new', source: 's', startedAt: '2026-03-01T10:00:00Z' }] });
  expect((await relet('rollout history broken')).stdout).toMatch(/^new +\S+ +<none> +Halted +<none>$/m);
});

describe('a node of a set', () => {
  const source = { namespace: 'relet-system', name: 'gpu-1', kubeletConfigKey: 'kubelet' };
  const claim: Claim = {
    set: 'gpu',
    revision: 'new',
    source,
    wave: 1,
    at: '2026-03-01T10:00:00Z',
    previous: undefined,
  };
  const objectOf = (name: string) => cluster.admin.get<NodeConfig>(nodeConfigs, { name });

  beforeAll(async () => {
    const report = { status: { config: {} } };
    for (const name of ['node-1', 'node-2'])
      await cluster.admin.patch(nodeConfigs, { name, subresource: 'status' }, report, { as: 'merge' });
  });

  test('is shown with its set, refuses a change of it alone, can be taken, and be given back', async () => {
    const patch = {
      metadata: { annotations: { [claimAnnotation]: claimText(claim) } },
      spec: { configSource: { configMap: source } },
    };
    await cluster.admin.patch(nodeConfigs, { name: 'node-1' }, patch, { as: 'merge' });
    expect((await relet('get')).stdout).toMatch(
      /^NODE +STATE +SET .*\nnode-1 +waiting +gpu .*\nnode-2 +outdated +<none> /,
    );
    expect((await relet('describe node-1')).stdout).toMatch(/^Set: +gpu, revision new, wave 1,/m);

    const refused = await relet('reset node-1 --yes --no-wait');
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('has these: node-1 (set gpu)');
    expect((await objectOf('node-1')).spec?.configSource).toBeDefined();
    expect((await relet('release node-1')).stdout).toContain('node-1: is with its set gpu already');

    expect((await relet('reset node-1 --yes --no-wait --take-from-set')).status).toBe(0);
    expect((await relet('get')).stdout).toMatch(/^node-1 +\S+ +\(gpu\) /m);
    expect((await relet('describe node-1')).stdout).toMatch(/'relet release\s+node-1' gives it back/);
    // Nobody has it any more, so that it needs no flag.
    expect((await relet('set node-1 maxPods=90 --yes --no-wait')).stderr).toBe('');

    const released = await relet('release node-1 -o json');
    expect(JSON.parse(released.stdout).nodes).toEqual([{ node: 'node-1', set: 'gpu', released: true }]);
    expect((await objectOf('node-1')).metadata.annotations?.[adoptAnnotation]).toBe('gpu');
    expect((await relet('release node-2')).stderr).toContain(
      'node-2 is not held through the API, and was taken from no set',
    );
  });

  test('is held through the API, shown so, refuses a change, and is released', async () => {
    const held = await cluster.relet('hold node-2 --why broken\nfan');
    expect(held).toMatchObject({ status: 0, stdout: "node-2: held; 'relet release node-2' releases it\n" });
    expect((await objectOf('node-2')).metadata.annotations?.[holdAnnotation]).toMatch(
      /^broken\\nfan \(\S+, \d{4}-.*Z\)$/,
    );
    expect((await relet('get node-2')).stdout).toMatch(/^node-2 +held /m);
    expect((await relet('get node-2 -o jsonpath={.status.hold.on}')).stdout).toBe('["NodeConfig"]');
    expect((await relet('describe node-2')).stdout).toMatch(/^Held: +through the API: broken.*fan \(/m);
    const set = await relet('set node-2 maxPods=90 --yes --no-wait');
    expect(set.status).toBe(2);
    expect(set.stderr).toContain("nothing was changed. 'relet release node-2' releases it");
    expect((await relet('doctor node-2')).stdout).toContain('held through the API');

    // The hold of another person is shown, and replaced only by somebody who agrees.
    const again = await relet('hold node-2 -m again');
    expect(again.status).toBe(2);
    expect(again.stderr).toMatch(
      /^relet: node-2 is held through the API: broken.*fan \(.*Z\) \(unverified\)\n.*use --yes\n$/,
    );
    expect((await objectOf('node-2')).metadata.annotations?.[holdAnnotation]).toMatch(/^broken/);
    expect((await relet('hold node-2 -m again --yes')).status).toBe(0);

    const released = await relet('release node-2 -m repaired -o json');
    expect(JSON.parse(released.stdout).nodes).toEqual([{ node: 'node-2', released: false, holdEnded: true }]);
    const entries = JSON.parse((await relet('history node-2 -o json')).stdout);
    expect(entries.map(({ verb, by, why }: HistoryEntry) => [verb, by, why])).toEqual([
      ['release', 'kubernetes-admin', 'repaired'],
      ['hold', 'kubernetes-admin', 'again'],
      ['hold', 'kubernetes-admin', 'broken\nfan'],
    ]);
    expect((await objectOf('node-2')).metadata.annotations?.[holdAnnotation]).toBeUndefined();
    expect((await relet('release node-2')).status).toBe(2);
  });

  test('with a hold that somebody put on its Node is released too', async () => {
    const patch = { metadata: { annotations: { [holdAnnotation]: 'by kubectl' } } };
    await cluster.admin.patch(nodes, { name: 'node-2' }, patch, { as: 'merge' });
    expect((await relet('get node-2')).stdout).toMatch(/^node-2 +held /m);
    expect((await relet('release node-2')).stdout).toContain('node-2: no longer held through the API: by kubectl');
    expect((await cluster.admin.get(nodes, { name: 'node-2' })).metadata.annotations?.[holdAnnotation]).toBeUndefined();
  });

  test('that was assigned by hand is adopted, others only by name', async () => {
    const patch = { spec: { configSource: { configMap: { ...source, name: 'by-hand' } } } };
    await cluster.admin.patch(nodeConfigs, { name: 'node-2' }, patch, { as: 'merge' });
    for (const how of ['client', 'server'])
      expect((await relet(`rollout adopt gpu --dry-run=${how}`)).stdout).toContain('gpu: would adopt node-2; nothing');
    expect((await objectOf('node-2')).metadata.annotations?.[adoptAnnotation]).toBeUndefined();
    const { stdout } = await relet('rollout adopt gpu --yes -m ours -o json');
    expect(JSON.parse(stdout)).toMatchObject({ set: 'gpu', verb: 'adopt', nodes: ['node-2'] });
    expect((await objectOf('node-2')).metadata.annotations?.[adoptAnnotation]).toBe('gpu');
    expect((await relet('history node-2')).stdout).toMatch(/adopt +by-hand +by-hand +\S+ +ours/);
    expect((await relet('rollout adopt gpu nosuch --yes')).stderr).toContain('the set gpu does not select nosuch');
  });
});
