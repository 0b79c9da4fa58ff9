/** Starts what is measured: relet's server, or etcd and kube-apiserver from KUBEBUILDER_ASSETS. Each as a user would start it. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const tokens = `bench-token,bench,bench,"system:masters"
bench-node-token,system:node:bench-node-00000,bench-node,"system:nodes"
`;
const relet = join(import.meta.dirname, '../../bin/relet.cjs');

/** NODE_EXTRA_CA_CERTS makes Node 20 read all certificates at every start, so it is unset. */
const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };

export async function startRelet() {
  const directory = mkdtempSync(join(tmpdir(), 'relet-bench-'));
  const port = await freePort();
  writeFileSync(join(directory, 'tokens.csv'), tokens);
  const args = ['apiserver', '--data-dir', join(directory, 'data'), '--port', String(port)];
  const started = performance.now();
  const child = run(process.execPath, [relet, ...args, '--token-auth-file', join(directory, 'tokens.csv')]);
  const server = { name: 'relet', port, ca: () => readFileSync(join(directory, 'data/pki/ca.crt')), children: [child] };
  return { ...server, readyMs: await ready(server, started), stop: () => stop([child], directory) };
}

export async function startKubernetes(assets) {
  const directory = mkdtempSync(join(tmpdir(), 'kube-bench-'));
  const [port, client, peer] = [await freePort(), await freePort(), await freePort()];
  const certs = join(directory, 'certs');
  mkdirSync(certs);
  writeFileSync(join(directory, 'tokens.csv'), tokens);
  openssl('genrsa', '-out', join(certs, 'sa.key'), '2048');
  openssl('rsa', '-in', join(certs, 'sa.key'), '-pubout', '-out', join(certs, 'sa.pub'));
  const started = performance.now();
  const etcd = run(join(assets, 'etcd'), [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
  ]);
  const apiserver = run(join(assets, 'kube-apiserver'), [
    `--etcd-servers=http://127.0.0.1:${client}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=198.18.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${certs}`,
    `--service-account-issuer=https://127.0.0.1:${port}`,
    `--service-account-key-file=${join(certs, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(certs, 'sa.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-cluster-ip-range=10.96.0.0/24',
    '--endpoint-reconciler-type=none',
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
  ]);
  const children = [apiserver, etcd];
  const server = {
    name: 'kube-apiserver + etcd',
    port,
    ca: () => readFileSync(join(certs, 'apiserver.crt')),
    children,
  };
  return { ...server, readyMs: await ready(server, started), stop: () => stop(children, directory) };
}

/** Resident memory of all processes of a server, in MB. */
export function residentMB({ children }) {
  const kilobytes = children.map(({ pid }) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]),
  );
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024;
}

function run(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  child.problem = '';
  child.stderr.on('data', (chunk) => {
    child.problem = (child.problem + chunk).slice(-2000);
  });
  return child;
}

function openssl(...args) {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Milliseconds from the start until /readyz says so. */
async function ready(server, started) {
  while (performance.now() - started < 120_000) {
    const dead = server.children.find(({ exitCode }) => exitCode !== null);
    if (dead !== undefined) throw new Error(`${server.name} ended at start: ${dead.problem}`);
    if (await isReady(server)) return performance.now() - started;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${server.name} is not ready after two minutes: ${server.children[0].problem}`);
}

function isReady({ port }) {
  return new Promise((resolve) => {
    const call = request({
      port,
      path: '/readyz',
      rejectUnauthorized: false,
      agent: false,
      headers: { authorization: 'Bearer bench-token' },
    });
    call.on('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.on('error', () => resolve(false));
    call.end();
  });
}

async function stop(children, directory) {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await gone;
    clearTimeout(timer);
  }
  rmSync(directory, { recursive: true, force: true });
}
