/** `relet kubelet` and `relet node` as a user runs them: whole processes, a short trial, signals, kill -9. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { NodeConfigStatus } from '../src/api/node-config-source.js';
import { freePort } from './agent-rig.js';
import { type ClusterRig, createClusterRig, nodeName } from './cluster-rig.js';
import { executable, relet } from './run-relet.js';

const fake = join(import.meta.dirname, 'fake-kubelet.mjs');

interface Started {
  process: ChildProcess;
  dir: string;
  output(): string;
  starts(): { pid: number; args: string[] }[];
  exit: Promise<{ code: number | null; signal: string | null }>;
}

interface Place {
  dir: string;
  port: number;
}

async function newPlace(): Promise<Place> {
  const root = mkdtempSync(join(tmpdir(), 'relet-process-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return { dir: join(root, 'dynamic-config'), port: await freePort() };
}

function start({ dir, port }: Place, ...more: string[]): Started {
  const log = join(dir, '..', 'starts');
  const args = ['kubelet', `--kubelet-binary=${fake}`, `--healthz-port=${port}`, '--metrics-bind-address=0', ...more];
  const child = spawn(process.execPath, [executable, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, FAKE_KUBELET_LOG: log },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const starts = () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
          .filter((line) => line.args)
      : [];
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exit;
    for (const { pid } of starts()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return { process: child, dir, output: () => output, starts, exit };
}

const withDir = (place: Place, rig: ClusterRig, ...more: string[]) =>
  start(
    place,
    `--dynamic-config-dir=${place.dir}`,
    `--kubeconfig=${rig.nodeKubeconfig}`,
    '--trial-duration=500ms',
    ...more,
  );

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie that nobody waits for has ended all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(what: string, satisfied: () => boolean, story: () => string): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!satisfied()) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}\n${story()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const config = (port: number, ...lines: string[]) =>
  `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nhealthzPort: ${port}\n${lines.map((line) => `${line}\n`).join('')}`;
const status = (rig: ClusterRig): NodeConfigStatus => rig.config ?? {};

describe('relet kubelet', () => {
  test('follows the Node, graduates after the trial, and ends with its kubelet on SIGTERM', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const node = withDir(place, rig);
    await rig.until('first status', () => rig.config !== undefined);
    const { metadata } = await rig.createConfigMap('good', { kubelet: config(place.port, 'eventRecordQPS: 7') });
    await rig.point('good');
    await rig.until('last known good', () => status(rig).lastKnownGood?.configMap?.uid === metadata.uid);
    expect(status(rig).active).toEqual(status(rig).lastKnownGood);
    const { pid } = node.starts().at(-1)!;
    node.process.kill('SIGTERM');
    expect(await node.exit).toEqual({ code: 0, signal: null });
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(join(place.dir, 'meta', 'lock'))).toBe(false);
  });

  test('a config that the kubelet itself refuses is never started', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const node = withDir(place, rig);
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('bad', { kubelet: config(place.port, '# refuse invalid configuration: no such thing') });
    await rig.point('bad');
    await rig.until('error', () => status(rig).error !== undefined);
    expect(status(rig).error).toBe('failed to validate config, see Kubelet log for details');
    expect(node.output()).toContain('invalid configuration: no such thing');
    expect(node.starts()).toHaveLength(1);
  });

  test('after kill -9 the kubelet lives on, and the next relet replaces it: never two', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const first = withDir(place, rig);
    await until('started', () => first.starts().length === 1, first.output);
    first.process.kill('SIGKILL');
    await first.exit;
    const [orphan] = first.starts();
    expect(isAlive(orphan!.pid)).toBe(true);
    const second = withDir(place, rig);
    await until('started', () => second.starts().length === 2, second.output);
    expect(isAlive(orphan!.pid)).toBe(false);
    expect(isAlive(second.starts()[1]!.pid)).toBe(true);
    expect(second.output()).toContain('kubelet of an earlier relet stopped');
  });

  test('a second relet on the same directory is refused', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const first = withDir(place, rig);
    await until('started', () => first.starts().length === 1, first.output);
    const second = withDir(place, rig);
    expect((await second.exit).code).toBe(1);
    expect(second.output()).toContain(`another relet (pid ${first.process.pid}) runs on this directory`);
    expect(isAlive(first.starts()[0]!.pid)).toBe(true);
  });

  test('X11 with --on-change=exit a change exits 0, and the next start runs the new config', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const first = withDir(place, rig, '--on-change=exit');
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    expect(await first.exit).toEqual({ code: 0, signal: null });
    expect(isAlive(first.starts()[0]!.pid)).toBe(false);
    const second = withDir(place, rig, '--on-change=exit');
    await rig.until('active', () => status(rig).active !== undefined);
    expect(second.starts().at(-1)?.args.join(' ')).toContain('checkpoints');
  });

  test('X10 a dynamic config replaces --config and --config-dir as a whole: nothing of the local files leaks', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const local = join(place.dir, '..', 'local.yaml');
    writeFileSync(local, config(place.port, 'featureGates: {CPUManager: true}'));
    const node = withDir(place, rig, `--config=${local}`, '--feature-gates=DynamicKubeletConfig=true');
    await until('local', () => node.starts().length === 1, node.output);
    expect(node.starts()[0]!.args).toContain(`--config=${local}`);
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    await rig.until('active', () => status(rig).active !== undefined);
    const words = node.starts().at(-1)!.args;
    expect(words.filter((word) => word.startsWith('--config'))).toHaveLength(1);
    expect(words).not.toContain(`--config=${local}`);
    expect(words.join(' ')).not.toContain('DynamicKubeletConfig');
  });

  test('without --dynamic-config-dir it is the kubelet: arguments, signals and exit code', async () => {
    const place = await newPlace();
    const plain = start(place);
    await until('started', () => plain.starts().length === 1, plain.output);
    expect(plain.starts()[0]!.args).toEqual([`--healthz-port=${place.port}`]);
    plain.process.kill('SIGTERM');
    expect(await plain.exit).toEqual({ code: 0, signal: null });
    const local = join(place.dir, '..', 'local.yaml');
    writeFileSync(local, config(place.port, '# exit 3'));
    expect((await start(place, `--config=${local}`).exit).code).toBe(3);
    expect(
      (
        await start(place, `--config=${local}`, '--dynamic-config-dir=x', '--feature-gates=DynamicKubeletConfig=false')
          .exit
      ).code,
    ).toBe(3);
  });

  test('--check says what would run and changes nothing', async () => {
    const place = await newPlace();
    const checked = relet(['kubelet', '--check', `--kubelet-binary=${fake}`, `--dynamic-config-dir=${place.dir}`]);
    expect(checked.stdout).toContain('config:   local config');
    expect(checked.stdout).toContain(`would run: ${fake}`);
    expect(checked.status).toBe(0);
    expect(existsSync(place.dir)).toBe(false);
  });
});

describe('relet node', () => {
  const node = (place: Place, ...args: string[]) => relet(['node', ...args, `--dynamic-config-dir=${place.dir}`]);

  test('shows, holds, releases and goes back to local, with relet running', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const running = withDir(place, rig);
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('good', { kubelet: config(place.port, 'eventRecordQPS: 7') });
    await rig.point('good');
    await rig.until('last known good', () => status(rig).lastKnownGood !== undefined);
    expect(node(place, 'view').stdout).toContain('eventRecordQPS: 7');
    const shown = JSON.parse(node(place, 'status', '-o', 'json').stdout);
    expect(shown).toMatchObject({
      node: nodeName,
      relet: { pid: running.process.pid },
      kubelet: { version: 'v1.32.1' },
    });
    expect(shown.lastKnownGood).toContain('kube-system/configmaps/good');
    expect(node(place, 'use-local').stdout).toContain('use-local: done by relet');
    await rig.until('local', () => status(rig).active === undefined);
    expect(node(place, 'status').stdout).toMatch(/^held: +since .*: use-local/m);
    expect(node(place, 'release').status).toBe(0);
    await rig.until('followed again', () => status(rig).active !== undefined);
  });

  test('works where no relet runs and no API is', async () => {
    const rig = await createClusterRig({ boot: false });
    const place = await newPlace();
    const running = withDir(place, rig);
    await rig.until('first status', () => rig.config !== undefined);
    await rig.createConfigMap('good', { kubelet: config(place.port) });
    await rig.point('good');
    await rig.until('active', () => status(rig).active !== undefined);
    running.process.kill('SIGTERM');
    await running.exit;
    expect(node(place, 'use-local').stdout).toContain('it counts from its next start on');
    expect(readFileSync(join(place.dir, 'meta', 'assigned'), 'utf8')).toBe('');
    expect(node(place, 'status').stdout).toContain('relet:           not running');
    const nowhere = relet(['node', 'status', '--dynamic-config-dir=/nowhere']);
    expect(nowhere).toMatchObject({ status: 2, stderr: expect.stringContaining('give the node') });
  });
});
