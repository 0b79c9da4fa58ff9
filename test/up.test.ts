/** `relet up` and `relet down` as a person uses them: real processes, killed and started again. */
import { chownSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { NodeConfig } from '../src/api/node-config.js';
import { nodeConfigs } from '../src/api/node-config.js';
import { nodes } from '../src/kube/resource-type.js';
import { clientFor, type NodeObject } from './cluster-rig.js';
import { logIn } from './dashboard-client.js';
import { eventually } from './eventually.js';
import { type Program, sendSignal, startRelet } from './program.js';
import type { Outcome } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

let home: string;
let dir: string;

beforeEach(() => {
  home = temporaryDir();
  dir = join(home, '.relet');
});
afterEach(async () => {
  await relet(['down']);
});

const user: { uid?: number; gid?: number } = {};

const start = (args: string[]): Program =>
  startRelet(args, { env: { PATH: process.env.PATH, HOME: home }, cwd: '/', ...user });

const relet = (args: string[]): Promise<Outcome> => start(args).ended;

/** All processes that belong to the system, by what `up` writes into their environment. */
function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`RELET_SYSTEM=${dir}\0`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

const pidIn = (file: string) => Number(readFileSync(join(dir, file), 'utf8'));
const supervisor = () => JSON.parse(readFileSync(join(dir, 'lock'), 'utf8')).process.pid as number;

async function taints(): Promise<string[][]> {
  const admin = clientFor(join(dir, 'admin.kubeconfig'));
  const { items } = await admin.list<NodeObject>(nodes);
  admin.close();
  return items.map(({ spec }) => ((spec as { taints?: { key: string }[] }).taints ?? []).map(({ key }) => key));
}

async function nodeNames(labelSelector = ''): Promise<string[]> {
  const admin = clientFor(join(dir, 'admin.kubeconfig'));
  const { items } = await admin.list(nodes, { labelSelector });
  admin.close();
  return items.map(({ metadata }) => metadata.name);
}

describe('while it waits for nodes', () => {
  test('a kubelet that keeps crashing is reported at once, with its error and what to do', async () => {
    const kubelet = join(home, 'kubelet');
    const words = 'E1115 20:19:54.250432 20375 run.go:74] "command failed" err="failed to run Kubelet: no runtime"';
    const script = `case "$*" in *--version*) echo Kubernetes v1.32.1; exit 0;; esac\necho '${words}' >&2\nexit 1\n`;
    writeFileSync(kubelet, `#!/bin/sh\n${script}`, { mode: 0o755 });
    const up = start(['up', '--kubelet-binary', kubelet, '--port', '0']);
    onTestFinished(() => up.end());
    await up.printed(/its log:/);
    expect(up.stdout).toContain('its kubelet crashed (exit code 1) and is started again');
    expect(up.stdout).toContain('    failed to run Kubelet: no runtime\n');
    expect(up.stdout).toContain(`correct its config, ${dir}/nodes/node-1/kubelet.yaml`);
  });
});

describe('relet up --detach', () => {
  test('returns when all nodes are Ready, and relet down ends all of it', async () => {
    const up = await relet(['up', '--detach', '--nodes', '2', '--labels', 'pool=gpu,zone=a', '--port', '0']);
    expect(up).toMatchObject({ status: 0, stderr: '' });
    expect(up.stdout).toMatch(/API server {2}https:\/\/127\.0\.0\.1:\d+ {2}ready/);
    expect(up.stdout).toMatch(/node-1 {6}Ready after/);
    expect(up.stdout).toMatch(/node-2 {6}Ready after/);
    expect(up.stdout).toContain(`export KUBECONFIG=${dir}/admin.kubeconfig`);
    expect(await nodeNames('pool=gpu,zone=a')).toEqual(['node-1', 'node-2']);
    await eventually('what is Ready is not said to be otherwise', async () =>
      (await taints()).every((keys) => keys.join() === 'relet.dev/hollow'),
    );
    expect(processes()).toHaveLength(6);
    expect(existsSync(join(dir, 'nodes/node-1/dynamic-config/meta/assigned'))).toBe(true);
    expect(readFileSync(join(dir, 'nodes/node-1/log'), 'utf8')).toContain('kubelet started');

    const second = await relet(['up']);
    expect(second.status).toBe(2);
    expect(second.stderr).toContain(`relet is already up in ${dir} (pid ${supervisor()}): 'relet down' stops it`);

    expect(await relet(['down'])).toMatchObject({ status: 0, stdout: `stopped the cluster in ${dir}\n` });
    expect(processes()).toEqual([]);
    expect(await relet(['down'])).toMatchObject({ status: 0, stdout: `nothing is running in ${dir}\n` });
  });

  test('resumes after kill -9, with one process of each kind', async () => {
    await relet(['up', '--detach', '--nodes', '2', '--port', '0']);
    const admin = clientFor(join(dir, 'admin.kubeconfig'));
    await admin.patch(nodes, { name: 'node-2' }, { metadata: { labels: { kept: 'yes' } } }, { as: 'merge' });
    admin.close();
    const before = readFileSync(join(dir, 'admin.kubeconfig'), 'utf8');
    const orphans = processes();
    sendSignal(supervisor(), 'SIGKILL');
    // One of the relets in front of a kubelet goes too: its kubelet is an orphan twice over.
    sendSignal(pidIn('nodes/node-1/pid'), 'SIGKILL');

    const again = await relet(['up', '--detach']);
    expect(again).toMatchObject({ status: 0, stderr: '' });
    expect(again.stdout).toMatch(/stopped \d+ processes that an earlier 'relet up' had left running/);
    expect(again.stdout).toContain(`resuming an API server and 2 nodes in ${dir}`);
    expect(processes().filter((pid) => orphans.includes(pid))).toEqual([]);
    expect(processes()).toHaveLength(6);
    expect(readFileSync(join(dir, 'admin.kubeconfig'), 'utf8')).toBe(before);
    const client = clientFor(join(dir, 'admin.kubeconfig'));
    expect((await client.get(nodes, { name: 'node-2' })).metadata.labels).toMatchObject({ kept: 'yes' });
    client.close();
  });

  test('starts a node again that was killed, and one node leaves when fewer are wanted', async () => {
    await relet(['up', '--detach', '--nodes', '2', '--port', '0']);
    const killed = pidIn('nodes/node-1/pid');
    sendSignal(killed, 'SIGKILL');
    await eventually(
      'node-1 runs again',
      () => existsSync(join(dir, 'nodes/node-1/pid')) && pidIn('nodes/node-1/pid') !== killed,
    );
    await eventually('its kubelet is the only one', () => processes().length === 6);
    expect(readFileSync(join(dir, 'log'), 'utf8')).toContain('node-1 ended (SIGKILL), starting it again');

    await relet(['down']);
    const fewer = await relet(['up', '--detach', '--nodes', '1']);
    expect(fewer.stdout).toContain('removing node-2 from the cluster');
    expect(await nodeNames()).toEqual(['node-1']);
    await relet(['down']);
    const fresh = await relet(['up', '--detach', '--fresh', '--nodes', '1', '--port', '0']);
    expect(fresh.stdout).toContain(`starting an API server and 1 node in ${dir}`);
    expect(existsSync(join(dir, 'nodes/node-2'))).toBe(false);
  });
});

test('relet up in a terminal has more links to its dashboard than one, and ends everything with Ctrl-C', async () => {
  const up = start(['up', '--nodes', '1', '--port', '0']);
  onTestFinished(() => up.end());
  await up.printed(/Ctrl-C stops it/);
  expect(processes()).toHaveLength(4);
  const printLink = () => relet(['dashboard', '--link', `--kubeconfig=${join(dir, 'admin.kubeconfig')}`]);
  const [first, second] = [await printLink(), await printLink()].map(
    ({ stdout }) => /^http:\/\/127\.0\.0\.1:(\d+)\/#once=(\S+)\n$/.exec(stdout)!,
  );
  expect(second![2]).not.toBe(first![2]);
  for (const link of [first!, second!])
    expect((await logIn({ port: Number(link[1]) }, { once: link[2]! })).me).toMatchObject({ login: 'kubeconfig' });
  expect(statSync(join(dir, 'dashboard.sock')).mode & 0o077).toBe(0);
  up.kill('SIGINT');
  expect((await up.ended).status).toBe(0);
  const none = await printLink();
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining("no dashboard of 'relet up' is running") });
  expect(up.stdout).toMatch(/stopping …\nstopped; 'relet up' resumes it\n$/);
  expect(processes()).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)(
  'relet up works for an ordinary user (skipped: this is one already)',
  async () => {
    chownSync(home, 65534, 65534);
    Object.assign(user, { uid: 65534, gid: 65534 });
    try {
      expect(await relet(['up', '--detach', '--nodes', '1', '--port', '0'])).toMatchObject({ status: 0, stderr: '' });
      expect(await nodeNames()).toEqual(['node-1']);
      expect(await relet(['down'])).toMatchObject({ status: 0 });
      expect(processes()).toEqual([]);
    } finally {
      delete user.uid;
      delete user.gid;
    }
  },
);

test('relet up runs like Kubernetes 1.26 and later: the reference is a NodeConfig, a Node keeps none, and relet follows', async () => {
  const up = await relet(['up', '--detach', '--nodes', '2', '--port', '0']);
  expect(up).toMatchObject({ status: 0, stderr: '' });
  const kubeconfig = join(dir, 'admin.kubeconfig');
  const admin = clientFor(kubeconfig);
  // Every node that up called Ready has reported about its config.
  const { items } = await admin.list<NodeConfig>(nodeConfigs);
  expect(items.map(({ metadata, status }) => [metadata.name, status?.config])).toEqual([
    ['node-1', {}],
    ['node-2', {}],
  ]);
  const as = (...args: string[]) => relet([...args, '--kubeconfig', kubeconfig]);
  const set = await as('set', 'node-1', 'maxPods=60', '--yes');
  expect(set).toMatchObject({ status: 0, stdout: expect.stringMatching(/active/) });
  expect(set.stdout).not.toContain('Note:');
  const object = await admin.get<NodeConfig>(nodeConfigs, { name: 'node-1' });
  expect(object.spec?.configSource?.configMap?.name).toMatch(/^kubelet-config-/);
  expect(object.status?.config?.active?.configMap?.name).toBe(object.spec?.configSource?.configMap?.name);
  const node = await admin.get<NodeObject>(nodes, { name: 'node-1' });
  expect(node.spec.configSource).toBeUndefined();
  expect((await as('get')).stdout).toMatch(/node-1 .*trial/);
  await eventually('guards settled', async () => (await as('doctor')).stdout.includes('guards: admission'));
  const doctor = await as('doctor');
  expect(doctor.stdout).toContain('references are NodeConfigs');
  expect(doctor.stdout).toContain('guards: admission policies guard');
  expect(await as('undo', 'node-1', '--yes')).toMatchObject({ status: 0 });
  expect((await as('get')).stdout).toMatch(/node-1 .*local/);
  admin.close();
});

test('relet up --dynamic-kubelet-config: the reference is in the Node; it is recorded, and --node-config moves the reference on', async () => {
  expect(await relet(['up', '--detach', '--nodes', '1', '--port', '0', '--dynamic-kubelet-config'])).toMatchObject({
    status: 0,
    stderr: '',
  });
  const kubeconfig = join(dir, 'admin.kubeconfig');
  expect(await relet(['set', 'node-1', 'maxPods=60', '--yes', '--kubeconfig', kubeconfig])).toMatchObject({
    status: 0,
  });
  const admin = clientFor(kubeconfig);
  const node = await admin.get<NodeObject>(nodes, { name: 'node-1' });
  expect(node.spec.configSource?.configMap?.name).toMatch(/^kubelet-config-/);
  await relet(['down']);

  const again = await relet(['up', '--detach']);
  expect(again.stdout).toContain('this directory was made with --dynamic-kubelet-config');
  expect((await admin.get<NodeObject>(nodes, { name: 'node-1' })).spec.configSource).toEqual(node.spec.configSource);
  await relet(['down']);

  expect(await relet(['up', '--detach', '--node-config'])).toMatchObject({ status: 0, stderr: '' });
  const object = await admin.get<NodeConfig>(nodeConfigs, { name: 'node-1' });
  expect(object.spec?.configSource?.configMap).toMatchObject(node.spec.configSource!.configMap!);
  await relet(['down']);
  const back = await relet(['up', '--detach', '--dynamic-kubelet-config']);
  expect(back).toMatchObject({ status: 2, stderr: expect.stringContaining('this directory uses NodeConfigs') });
  admin.close();
});

describe('relet up refuses', () => {
  test('a port that is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    const up = await relet(['up', '--port', String(port)]);
    other.close();
    expect(up).toMatchObject({ status: 2, stdout: '' });
    expect(up.stderr).toBe(
      `relet: port ${port} is taken by another program: stop that, or give another with --port (0: any)\n`,
    );
  });

  test("a directory that is not relet's, also with --fresh", async () => {
    writeFileSync(join(home, 'thesis.txt'), 'years of work');
    const up = await relet(['up', '--fresh', '--data-dir', home]);
    expect(up.status).toBe(2);
    expect(up.stderr).toContain("has 'thesis.txt' in it, which is not relet's");
    expect(readFileSync(join(home, 'thesis.txt'), 'utf8')).toBe('years of work');
  });

  test('damaged keys, and a server that cannot start with the end of its log', async () => {
    await relet(['up', '--detach', '--nodes', '1', '--port', '0']);
    await relet(['down']);
    const key = readFileSync(join(dir, 'pki', 'sa.key'));
    writeFileSync(join(dir, 'pki', 'sa.key'), 'no key\n');
    expect(await relet(['up', '--detach'])).toMatchObject({ status: 2, stderr: expect.stringContaining('sa.key') });
    writeFileSync(join(dir, 'pki', 'sa.key'), key);
    rmSync(join(dir, 'store'), { recursive: true });
    writeFileSync(join(dir, 'store'), 'no directory');
    const up = await relet(['up', '--detach']);
    expect(up.status).toBe(2);
    expect(up.stderr).toMatch(
      /the API server does not start \(exit code 1\); the end of .*apiserver\.log:\n[\s\S]*cannot start/,
    );
    expect(processes()).toEqual([]);
  });

  test('nonsense', async () => {
    expect((await relet(['up', '--nodes', '0'])).stderr).toContain('Must be a whole number from 1 to 500.');
    expect((await relet(['up', '--trial-duration', '10'])).stderr).toContain('Must be a duration such as 90s');
    expect((await relet(['up', 'node-1'])).stderr).toContain("'node-1' is not a flag");
    expect((await relet(['down', '--data-dir', join(home, 'none')])).stderr).toContain('there is no cluster in');
  });
});
