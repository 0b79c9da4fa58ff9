/**
 * The whole of it with nothing played: a real kube-apiserver and a real kubelet of the same version behind `relet kubelet`,
 * `relet controller` as a process, the container runtime that CONTAINER_RUNTIME_ENDPOINT names or a containerd of its own. From 1.24 on through a NodeConfig; before, with the gate on, through the Node.
 * Part of `npm run test:cluster`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NodeConfigSource, NodeConfigStatus } from '../../src/api/config-ref.js';
import { configLabel, nodeConfigs } from '../../src/api/node-config.js';
import type { KubeObject } from '../../src/api/object.js';
import type { KubeClient } from '../../src/kube/client.js';
import { configMaps, nodes } from '../../src/kube/resource-type.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { Program } from '../program.js';
import { address, assets, cgroupLines, containerdConfig, kubeletExit, runtime } from '../real-kubelet-rig.js';
import { executable } from '../run-relet.js';
import { type Cluster, realCluster } from './cluster.js';
import { controllerKubeconfig } from './controller.js';

const binaries = ['etcd', 'kube-apiserver', 'kubelet'];
const isThere = assets !== '' && binaries.every((name) => existsSync(join(assets, name)));
const canRun =
  isThere && process.getuid?.() === 0 && (runtime !== '' || spawnSync('containerd', ['--version']).status === 0);
const version = canRun ? execFileSync(join(assets, 'kubelet'), ['--version'], { encoding: 'utf8' }).trim() : '';
const minor = Number(/v1\.(\d+)/.exec(version)?.[1] ?? 0);
const why =
  'skipped: needs root, an address outside 127/8, CONTAINER_RUNTIME_ENDPOINT or containerd, and etcd, kube-apiserver and kubelet in KUBEBUILDER_ASSETS';
interface Referring extends KubeObject {
  spec?: { configSource?: NodeConfigSource };
  status?: { config?: NodeConfigStatus };
}

describe.skipIf(!canRun || address === undefined)(`relet in front of ${version || `a real kubelet (${why})`}`, () => {
  const usesNode = minor < 24;
  const dir = canRun ? mkdtempSync(join(tmpdir(), 'relet-real-kubelet-')) : '';
  const endpoint = runtime === '' ? `unix://${join(dir, 'containerd.sock')}` : runtime;
  const programs: Program[] = [];
  let cluster: Cluster;
  let admin: KubeClient;
  let kubeletPort: number;
  let healthzPort: number;
  let local: string;

  beforeAll(async () => {
    [kubeletPort, healthzPort] = [await freePort(), await freePort()];
    local = localConfig();
    writeFileSync(join(dir, 'kubelet.yaml'), local);
    if (runtime === '') launch('containerd', 'containerd', ['--config', containerdConfig(dir)]);
    const gate = usesNode ? ['--feature-gates=DynamicKubeletConfig=true'] : [];
    cluster = await realCluster(assets, gate);
    admin = cluster.client('admin');
    if (usesNode) await cluster.kubectl('create', 'namespace', 'relet-system');
    else {
      await cluster.kubectl('apply', '-k', join(import.meta.dirname, '../../deploy'));
      const kubeconfig = await controllerKubeconfig(cluster);
      launch('controller', process.execPath, [executable, 'controller', '--kubeconfig', kubeconfig, '--leader-elect']);
    }
    await until('the container runtime is there', async () => existsSync(endpoint.replace('unix://', '')));
    startNode();
    const isReady = async () => {
      const node = await admin.get<KubeObject>(nodes, { name: 'node-a' }).catch(() => undefined);
      const { conditions = [] } = (node?.status ?? {}) as { conditions?: { type: string; status: string }[] };
      return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    };
    await until('Ready', isReady, () => kubeletExit(logOf('node')));
  });
  afterAll(async () => {
    for (const program of programs.reverse()) await program.end();
    await cluster?.close();
    // The kubelet mounts its directory upon itself.
    spawnSync('umount', ['-l', join(dir, 'root')]);
    rmSync(dir, { recursive: true, force: true });
  });

  function launch(name: string, command: string, args: string[]): Program {
    const program = new Program(command, args, { logFile: join(dir, `${name}.log`) });
    programs.push(program);
    return program;
  }

  function startNode(): Program {
    return launch('node', process.execPath, [
      ...[executable, 'kubelet', `--dynamic-config-dir=${join(dir, 'dynamic')}`, '--trial-duration=5s'],
      ...[`--kubelet-binary=${join(assets, 'kubelet')}`, '--metrics-bind-address=0'],
      ...[`--kubeconfig=${cluster.kubeconfig('system:node:node-a')}`, `--config=${join(dir, 'kubelet.yaml')}`],
      ...[`--root-dir=${join(dir, 'root')}`, `--cert-dir=${join(dir, 'pki')}`],
      ...['--hostname-override=node-a', `--node-ip=${address}`, `--container-runtime-endpoint=${endpoint}`],
      ...(usesNode ? ['--container-runtime=remote'] : []),
    ]);
  }

  function localConfig(more = ''): string {
    return `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ${address}
port: ${kubeletPort}
healthzBindAddress: 127.0.0.1
healthzPort: ${healthzPort}
readOnlyPort: 0
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
makeIPTablesUtilChains: false
${cgroupLines(minor).join('\n')}
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}}
authorization: {mode: Webhook}
${more}`;
  }

  const type = usesNode ? nodes : nodeConfigs;
  const status = async () => (await admin.get<Referring>(type, { name: 'node-a' })).status?.config ?? {};

  async function assign(name: string | undefined): Promise<void> {
    const configMap = { namespace: 'relet-system', name, kubeletConfigKey: 'kubelet' };
    const configSource = name === undefined ? null : { configMap };
    await admin.patch(type, { name: 'node-a' }, { spec: { configSource } }, { as: 'merge' });
  }

  async function write(name: string, text: string, annotations: Record<string, string> = {}): Promise<void> {
    const metadata = { name, namespace: 'relet-system', labels: { [configLabel]: 'true' }, annotations };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { kubelet: text } };
    await admin.create(configMaps, { namespace: 'relet-system' }, object);
  }

  const logOf = (name: string) => readFileSync(join(dir, `${name}.log`), 'utf8');

  function until(what: string, isSo: () => Promise<boolean>, hopeless: () => string | undefined = () => undefined) {
    let seen = '';
    const ask = async () => {
      seen = await status().then(JSON.stringify, String);
      return isSo();
    };
    const logs = () => ['node', ...(usesNode ? [] : ['controller'])].map((name) => logOf(name).slice(-3000));
    return eventually(what, ask, { hopeless, seen: () => [seen, ...logs()].join('\n') });
  }

  const untilActive = (name: string | undefined) =>
    until(`runs ${name}`, async () => {
      const { active, error } = await status();
      return active?.configMap?.name === name && error === undefined;
    });

  /** Returns the value that the kubelet itself reports in /configz. */
  async function maxPods(): Promise<number> {
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { authorization: 'Bearer admin-token' };
      const options = { host: address, port: kubeletPort, path: '/configz', headers, rejectUnauthorized: false };
      const asking = request(options, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (part) => (body += part));
        response.on('end', () => resolve(body));
      });
      asking.on('error', reject).end();
    });
    return JSON.parse(text).kubeletconfig.maxPods;
  }

  test('a config is taken by the kubelet itself, and becomes last known good', async () => {
    if (!usesNode) await until('made', async () => (await admin.list(nodeConfigs)).items.length === 1);
    await write('good', localConfig('maxPods: 50\n'));
    await assign('good');
    await untilActive('good');
    expect(await maxPods()).toBe(50);
    await until('good', async () => (await status()).lastKnownGood?.configMap?.name === 'good');
  });

  test('what the kubelet refuses is never started', async () => {
    const log = () => readFileSync(join(dir, 'node.log'), 'utf8').split('kubelet started').length;
    const starts = log();
    await write('invalid', localConfig('kubeAPIQPS: -1\n'));
    await assign('invalid');
    await until('rejected', async () => (await status()).error?.startsWith('failed to validate config') === true);
    expect((await status()).active?.configMap?.name).toBe('good');
    expect(await maxPods()).toBe(50);
    expect(log()).toBe(starts);
  });

  test('a config that kills the kubelet is rolled back', async () => {
    // relet forecasts this one; with the forecast switched off, the trial fails.
    await write('deadly', localConfig('maxPods: 51\nevictionHard: {memory.available: bogus}\n'), {
      'relet.dev/skip-forecast': 'true',
    });
    await assign('deadly');
    await until('rolled back', async () => (await status()).error?.startsWith('rolled back') === true);
    expect((await status()).active?.configMap?.name).toBe('good');
    await until('serves again', async () => (await maxPods().catch(() => 0)) === 50);
  });

  test('the API server away and back, and relet killed and started again, change nothing', async () => {
    await assign('good');
    await untilActive('good');
    await cluster.stop();
    const pids = () =>
      [...readFileSync(join(dir, 'node.log'), 'utf8').matchAll(/kubelet started pid=(\d+)/g)].map((found) => found[1]!);
    const before = pids();
    programs.at(-1)!.kill('SIGKILL');
    startNode();
    await until('another kubelet', async () => pids().length === before.length + 1);
    await until('serves without the API', async () => isHealthy(healthzPort));
    // The process that inherited it may not have reaped it yet.
    expect(stateOf(before.at(-1)!)).toMatch(/^(gone|Z)$/);
    await cluster.start();
    await untilActive('good');
    expect(await maxPods()).toBe(50);
  }, 240_000);

  test('reset goes back to the local config', async () => {
    await assign(undefined);
    await untilActive(undefined);
    expect(await maxPods()).toBe(110);
  });
});

function stateOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)![0]!;
  } catch {
    return 'gone';
  }
}

async function isHealthy(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
  return answer?.ok === true;
}
