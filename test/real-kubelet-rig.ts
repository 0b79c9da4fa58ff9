/**
 * Nodes with real kubelets for tests: which binaries there are, a config that lets a kubelet run on any machine, and a
 * look at its processes. KUBEBUILDER_ASSETS names a directory with the kubelet, CONTAINER_RUNTIME_ENDPOINT a container
 * runtime of its own (unix:///…/containerd.sock), NODE_IP, unless one is found, an address of this machine outside 127/8.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type KubeletProbe, probeKubelet } from '../src/agent/validate/steps.js';
import { type ClusterRig, type NodeObject, nodeName } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { isAlive, newPlace, type Place, type Started, start, status } from './process-rig.js';

export const assets = process.env.KUBEBUILDER_ASSETS ?? '';
export const minutes = 60_000;
export const runtime = process.env.CONTAINER_RUNTIME_ENDPOINT ?? '';
export const address =
  process.env.NODE_IP ??
  Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, address }) => family === 'IPv4' && !address.startsWith('127.'))?.address;

export interface Kubelet {
  path: string;
  /** As it says itself: "Kubernetes v1.32.1". Empty when it is not there. */
  version: string;
  minor: number;
}

/** Requirements of a real kubelet that this machine lacks. */
const missingHere = [
  ...(existsSync(runtime.replace('unix://', '')) ? [] : ['container runtime in CONTAINER_RUNTIME_ENDPOINT']),
  ...(address === undefined ? ['address in NODE_IP'] : []),
  ...(process.getuid?.() === 0 ? [] : ['root']),
];

export function kubeletIn(variable: string): { kubelet: Kubelet; missing: string[] } {
  const found = kubeletBinary(variable);
  const missing = [...(found ? [] : [`kubelet in ${variable}`]), ...missingHere];
  return { kubelet: found && missing.length === 0 ? found : { path: '', version: '', minor: 0 }, missing };
}

/** For tests that only ask it, and run it nowhere. */
export function kubeletBinary(variable: string): Kubelet | undefined {
  return kubeletAt((process.env[variable] ?? '') === '' ? '' : join(process.env[variable]!, 'kubelet'));
}

export function kubeletAt(path: string): Kubelet | undefined {
  if (!existsSync(path)) return undefined;
  const version = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim();
  return { path, version, minor: Number(/v1\.(\d+)/.exec(version)?.[1] ?? 0) };
}

/** Why this kubelet would not start with a config; undefined: it takes it. Stops at its lock, after validation. */
export async function rejectionBy(
  { path }: Kubelet,
  text: string,
  flags: readonly string[],
): Promise<string | undefined> {
  const dir = mkdtempSync(join(tmpdir(), 'relet-ask-'));
  const file = join(dir, 'kubelet.yaml');
  writeFileSync(file, text);
  const run: KubeletProbe['run'] = (args, timeout) =>
    new Promise((resolve) => {
      const child = execFile(path, args, { timeout, maxBuffer: 2 ** 24 }, (error, stdout, stderr) =>
        resolve({ code: child.exitCode, output: stdout + stderr, timedOut: error?.killed === true }),
      );
    });
  const places = [`--config=${file}`, `--root-dir=${dir}`, `--cert-dir=${join(dir, 'pki')}`];
  const answer = await probeKubelet({ run, uuid: randomUUID }, [...places, ...flags]);
  rmSync(dir, { recursive: true, force: true });
  if (answer.kind === 'unknown') throw new Error(`${path}, ${flags.join(' ')}, ${text}: ${answer.reason}`);
  return answer.kind === 'rejected' ? answer.message : undefined;
}

/** A node whose kubelet can run on any machine: no cgroups of its own, no swap to mind, ports nobody uses. */
export interface RealNode extends Place {
  kubelet: string;
  flags: string[];
  /** A config like the local one, with these lines. */
  config(...lines: string[]): string;
}

/** `newest` is the minor of the newest kubelet that will run with these configs. */
export async function newNode(
  kubelet: Kubelet,
  kubeconfig: string,
  caFile: string,
  newest = kubelet.minor,
): Promise<RealNode> {
  const place = { ...(await newPlace()), kubelet: kubelet.path };
  const own = join(place.dir, '..');
  // A kubelet makes its root a mount of its own, which cannot be removed.
  onTestFinished(() => void spawnSync('umount', [join(own, 'kubelet')]));
  const kubeletPort = await freePort();
  const standard = [
    `address: ${address}`,
    `port: ${kubeletPort}`,
    `healthzPort: ${place.port}`,
    'readOnlyPort: 0',
    'cgroupsPerQOS: false',
    'enforceNodeAllocatable: []',
    'failSwapOn: false',
    'makeIPTablesUtilChains: false',
    ...cgroupLines(newest),
    `authentication: {x509: {clientCAFile: ${caFile}}}`,
    'evictionHard: {memory.available: 1Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}',
  ];
  const config = (...lines: string[]) => {
    const given = new Set(lines.map((line) => line.split(':')[0]));
    const others = standard.filter((line) => !given.has(line.split(':')[0]));
    const head = ['apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration'];
    return [...head, ...others, ...lines, ''].join('\n');
  };
  const local = join(own, 'local.yaml');
  writeFileSync(local, config());
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--config=${local}`,
    `--root-dir=${join(own, 'kubelet')}`,
    `--cert-dir=${join(own, 'pki')}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${address}`,
    `--container-runtime-endpoint=${runtime}`,
    ...flagsOf(kubelet),
  ];
  return { ...place, flags, config };
}

/** Needed up to 1.23, and unknown from 1.27 on. */
export const flagsOf = ({ minor }: Kubelet) => (minor < 24 ? ['--container-runtime=remote'] : []);

export const run = (node: RealNode, ...more: string[]) =>
  start(node, `--dynamic-config-dir=${node.dir}`, '--trial-duration=3s', ...node.flags, ...more);

/** Every kubelet of this node, by its --root-dir: never two. */
export const kubeletsOf = (node: RealNode) =>
  processesOf(node.kubelet, `--root-dir=${join(node.dir, '..', 'kubelet')}`);

/** Processes of a program that have this argument. */
export const processesOf = (program: string, argument: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isAlive(Number(name)))
    .filter((pid) => commandLine(pid).startsWith(`${program}\0`) && commandLine(pid).includes(`\0${argument}\0`))
    .map(Number);

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

export const isReady = (node: NodeObject | undefined) =>
  node?.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

/** The config files that kubelets were started with, in order. */
export const ranWith = ({ output }: Started) =>
  (output().match(/INFO +kubelet started .*/g) ?? []).map((line) => /--config=([^\s"]+)/.exec(line)?.[1] ?? '');

/** relet restarts a kubelet that exits. One that exits before it was ever Ready will do so again. */
export const untilReady = (rig: ClusterRig, started: Started) =>
  eventually('the Node is Ready', () => isReady(rig.seen) && rig.config !== undefined, {
    hopeless: () => exited(started) || (!wasHealthy(started) && kubeletExit(started.output())),
    seen: () => started.output().slice(-3000),
  });
export const untilStatus = (rig: ClusterRig, started: Started, expected: object) =>
  eventually(`status ${JSON.stringify(expected)}`, () => expect(status(rig)).toMatchObject(expected), {
    hopeless: () => exited(started),
    seen: () => started.output().slice(-3000),
  });

const wasHealthy = ({ output }: Started) => output().includes('kubelet is healthy');
const exited = ({ process: { exit } }: Started) => exit !== undefined && `relet exited with code ${exit.code}`;
/** The line in which relet logs that a kubelet ended, if there is one. */
export const kubeletExit = (log: string) => /^.*\bkubelet (?:ended|exited|died|crashed)\b.*$/m.exec(log)?.[0];

/** Kubelets from 1.35 on do not start on cgroup v1 without failCgroupV1: false. Those before 1.31 do not know the field. */
export const cgroupLines = (minor: number, isV1 = !existsSync('/sys/fs/cgroup/cgroup.controllers')): string[] =>
  minor >= 35 && isV1 ? ['failCgroupV1: false'] : [];

/** The config of a containerd of its own, with nothing to do; its socket is DIR/containerd.sock. */
export function containerdConfig(dir: string): string {
  for (const part of ['cni-bin', 'cni-conf']) mkdirSync(join(dir, part));
  // Without a network a Node is never Ready; no Pod will use it.
  const network = { cniVersion: '0.4.0', name: 'lo', plugins: [{ type: 'loopback' }] };
  writeFileSync(join(dir, 'cni-conf', '10-lo.conflist'), JSON.stringify(network));
  const file = join(dir, 'containerd.toml');
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  writeFileSync(
    file,
    `version = 2
root = "${join(dir, 'containerd')}"
state = "${join(dir, 'containerd-state')}"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = "${join(dir, 'containerd.sock')}"
[${cri}]
stream_server_address = "127.0.0.1"
stream_server_port = "0"
[${cri}.cni]
bin_dir = "${join(dir, 'cni-bin')}"
conf_dir = "${join(dir, 'cni-conf')}"
`,
  );
  return file;
}
