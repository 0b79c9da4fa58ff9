/** The operator's verbs with real nodes: `relet up`, each node a `relet kubelet` with a hollow kubelet behind it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runRelet } from './program.js';
import type { Outcome } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const home = temporaryDir();
const kubeconfig = join(home, '.relet', 'admin.kubeconfig');

const relet = (args: string[], env: Record<string, string> = {}): Promise<Outcome> =>
  runRelet(args, { env: { PATH: process.env.PATH, HOME: home, KUBECONFIG: kubeconfig, ...env }, cwd: home });

const statesOf = async (...names: string[]) =>
  (
    await relet(['get', ...names, '-o', 'jsonpath={.status.state}{range .items[*]}{.status.state} {end}'])
  ).stdout.trim();

beforeAll(async () => {
  const up = ['up', '--detach', '--nodes', '2', '--port', '0', '--trial-duration', '3s'];
  // The same node is changed again and again.
  const { status, stderr } = await relet([...up, '--', '--restart-interval=0s']);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
afterAll(async () => {
  await relet(['down']);
});

describe('with real nodes', () => {
  test('set: active, on trial with the time left, then last known good', async () => {
    const { status, stdout } = await relet(['set', 'node-1', 'maxPods=42', '--yes', '-m', 'smaller']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^node-1: active: relet-system\/kubelet-config-\w{10}\/kubelet; on trial/m);
    expect((await relet(['view', 'node-1'])).stdout).toMatch(/^maxPods: 42$/m);
    expect(await relet(['wait', 'node-1', '--for=lastKnownGood', '--timeout=30s'])).toMatchObject({ status: 0 });
    expect(await statesOf('node-1')).toBe('active');
  });

  test('the round trip of a running config changes nothing: the kubelet takes its own text', async () => {
    const text = (await relet(['view', 'node-2'])).stdout;
    writeFileSync(join(home, 'same.yaml'), text);
    const { status, stdout } = await relet(['diff', 'node-2', 'same.yaml']);
    expect({ status, stdout: stdout.split('\n').at(-2) }).toEqual({ status: 0, stdout: 'No difference in meaning.' });
    const pushed = (await relet(['push', 'same.yaml', '--kubelet-version', '1.32', '-o', 'name'])).stdout.trim();
    expect((await relet(['assign', pushed, 'node-2', '--yes'])).status).toBe(0);
    expect((await relet(['diff', 'node-2', 'same.yaml'])).status).toBe(0);
  });

  test('edit: through the editor to the running kubelet', async () => {
    writeFileSync(join(home, 'editor.sh'), 'sed -i "s/maxPods: .*/maxPods: 43/" "$1"\n');
    const { status, stdout } = await relet(['edit', 'node-1', '--yes'], { EDITOR: `sh ${join(home, 'editor.sh')}` });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ {4}- 42\n {4}\+ 43$/m);
    expect((await relet(['view', 'node-1'])).stdout).toMatch(/^maxPods: 43$/m);
    expect((await relet(['wait', 'node-1', '--for=lastKnownGood', '--timeout=30s'])).status).toBe(0);
  });

  test('a config that the node rejects is reported with its cause, and undo takes it back', async () => {
    // Past relet's checks here, as kubectl would; the node validates it itself.
    writeFileSync(
      join(home, 'broken.yaml'),
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: -5\n',
    );
    const name = (await relet(['push', 'broken.yaml', '--no-validate', '-o', 'name'])).stdout.trim();
    const refused = await relet(['assign', name, 'node-1', '--yes']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('would not run with that');
    const kubectlWay = await relet(['assign', name, 'node-1', '--yes', '--no-validate']);
    expect(kubectlWay.status).toBe(1);
    expect(kubectlWay.stdout).toMatch(
      /^node-1: rejected: the kubelet of this node rejects a value.*\n(?: {4}.*\n)*? {4}.*maxPods/m,
    );
    expect(await relet(['wait', 'node-1', '--for=active'])).toMatchObject({ status: 1 });
    expect((await relet(['view', 'node-1'])).stdout).toMatch(/^maxPods: 43$/m);
    expect((await relet(['undo', 'node-1', '--yes'])).status).toBe(0);
  });

  test('upgrade-check knows their local configs and flags, and nodes with the same answer are one', async () => {
    const check = (...args: string[]) => relet(['config', 'upgrade-check', ...args]);
    expect((await relet(['set', 'node-1', 'eventRecordQPS=0', '--yes'])).status).toBe(0);
    const { status, stdout, stderr } = await check('--all', '--to', '1.37', '-o', 'json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const reports = JSON.parse(stdout) as {
      nodes: string[];
      file: string;
      from: string;
      findings: { path: string }[];
    }[];
    expect(reports.map(({ nodes, from }) => ({ nodes, from }))).toEqual([
      { nodes: ['node-1'], from: '1.32' },
      { nodes: ['node-2'], from: '1.32' },
    ]);
    expect(reports[0]).toMatchObject({ file: expect.stringMatching(/^relet-system\/kubelet-config-/) });
    expect(reports[0]!.findings).toContainEqual(
      expect.objectContaining({ path: 'eventRecordQPS', line: expect.any(Number) }),
    );
    expect(reports[0]).not.toHaveProperty('withoutFlags');
    const text = (await check('--all', '--to', '1.37')).stdout;
    expect(text.match(/ failCgroupV1, from 1\.35 on$/gm)).toHaveLength(1);
    expect(text).toMatch(/^ {4}on node-1, node-2$/m);
    expect(text).toMatch(/^ {4}on node-1$/m);
    expect((await check('--node', 'node-2', '--to', '1.36', '--strict')).status).toBe(1);
    // Nothing is said about a downgrade.
    for (const to of ['1.32', '1.31'])
      expect(await check('--all', '--to', to)).toMatchObject({
        status: 0,
        stdout: 'node-1, node-2: kubelet 1.32 already, nothing to upgrade\n',
      });
    expect(JSON.parse((await check('--node', 'node-1', '--to', '1.31', '-o', 'json')).stdout)).toEqual([
      { nodes: ['node-1'], file: 'local', from: '1.32', to: '1.31', upgraded: true, findings: [] },
    ]);
  });

  test('reset brings the local config back, on all nodes one by one', async () => {
    const { status, stdout } = await relet(['reset', '--all', '--yes']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^node-1: active: its local config$/m);
    expect(stdout).toMatch(/^Done \(2\): node-1, node-2$/m);
    expect(await statesOf('node-1', 'node-2')).toBe('local local');
    expect((await relet(['view', 'node-1'])).stdout).toMatch(/^maxPods: 110$/m);
  });

  test('doctor finds nothing wrong, and knows the version of relet on the nodes', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
    const { status, stdout } = await relet(['doctor']);
    expect({ status, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({ status: 0, last: 'All is well.' });
    expect(stdout).toContain(`relet on the nodes is version ${version}`);
  });
});
