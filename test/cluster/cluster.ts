/**
 * A cluster for the suite: relet's own API server, or a real one from KUBEBUILDER_ASSETS (etcd, kube-apiserver). Both know
 * the same users by token. Everything it started is stopped, and every file is gone, when it is closed.
 */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '../../src/kube/client.js';
import { readTokenFile } from '../../src/lab/apiserver/access/token-file.js';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { clientFor } from '../cluster-rig.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { Program } from '../program.js';

const users = {
  admin: 'system:masters',
  operator: 'people',
  author: 'people',
  viewer: 'people',
  editor: 'people',
  'system:node:node-a': 'system:nodes',
  'system:node:node-b': 'system:nodes',
  'system:serviceaccount:relet-system:relet-controller': 'system:serviceaccounts',
};
export type UserName = keyof typeof users;

export const tokenOf = (user: string) => `${user.replaceAll(':', '-')}-token`;
const tokenFile = Object.entries(users)
  .map(([user, group]) => `${tokenOf(user)},${user},${user},"${group}"\n`)
  .join('');

export interface Cluster {
  url: string;
  /** For any user, by token. */
  kubeconfig(name: string, token?: string): string;
  client(user: UserName): KubeClient;
  kubectl(...args: string[]): Promise<string>;
  /** The API server goes away, and comes back with all it knew. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Server {
  url: string;
  caFile: string;
  dir: string;
  kubectl: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

function clusterOn(server: Server): Cluster {
  const kubeconfig = (name: string, token = tokenOf(name)) => {
    const file = join(server.dir, `${name.replaceAll(':', '-')}.kubeconfig`);
    const cluster = { server: server.url, 'certificate-authority': server.caFile };
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user: { token } }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    );
    return file;
  };
  return {
    url: server.url,
    kubeconfig,
    client: (user) => clientFor(kubeconfig(user)),
    kubectl: (...args) =>
      new Promise((resolve, reject) => {
        const all = ['--kubeconfig', kubeconfig('admin'), '--cache-dir', join(server.dir, 'cache'), ...args];
        execFile(server.kubectl, all, (error, stdout, stderr) =>
          error === null ? resolve(stdout) : reject(new Error(`kubectl ${args.join(' ')}: ${stderr || error.message}`)),
        );
      }),
    stop: server.stop,
    start: server.start,
    close: async () => {
      await server.close();
      rmSync(server.dir, { recursive: true, force: true });
    },
  };
}

export async function embeddedCluster(): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'relet-cluster-'));
  const port = await freePort();
  const tokens = readTokenFile(tokenFile, 'tokens.csv');
  let server: ApiServer | undefined;
  const start = async () => {
    // As servers of today: Nodes keep no configSource.
    server = await startApiServer({ dataDir: dir, port, tokens: [tokens], dynamicKubeletConfig: false });
  };
  const stop = async () => {
    await server?.close();
    server = undefined;
  };
  await start();
  const { url, caFile } = server!;
  return clusterOn({ url, caFile, dir, kubectl: 'kubectl', start, stop, close: stop });
}

/** A real kube-apiserver with its etcd, as few flags as it takes. */
export async function realCluster(assets: string, more: string[] = []): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'relet-real-'));
  const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(dir, 'tokens.csv'), tokenFile);
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(dir, 'sa.key'), keys.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(join(dir, 'sa.pub'), keys.publicKey.export({ type: 'spki', format: 'pem' }));
  mkdirSync(join(dir, 'certs'));
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const etcd = launch(dir, 'etcd', join(assets, 'etcd'), [
    ...['--name=e', `--data-dir=${join(dir, 'etcd')}`, `--initial-cluster=e=${peerUrl}`],
    ...[`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
  ]);
  const url = `https://127.0.0.1:${port}`;
  const caFile = join(dir, 'certs', 'apiserver.crt');
  let apiserver: Program | undefined;
  const start = async () => {
    apiserver = launch(dir, 'apiserver', join(assets, 'kube-apiserver'), [
      ...[
        `--etcd-servers=${etcdUrl}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        '--advertise-address=198.18.77.10',
      ],
      ...[`--cert-dir=${join(dir, 'certs')}`, `--service-account-issuer=${url}`, '--endpoint-reconciler-type=none'],
      ...[
        `--service-account-key-file=${join(dir, 'sa.pub')}`,
        `--service-account-signing-key-file=${join(dir, 'sa.key')}`,
      ],
      ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
      ...[`--token-auth-file=${join(dir, 'tokens.csv')}`, '--service-cluster-ip-range=10.96.0.0/24'],
      ...more,
    ]);
    await untilReady(cluster, dir, apiserver);
  };
  const stop = async () => {
    await apiserver?.end();
  };
  const own = join(assets, 'kubectl');
  const kubectl = existsSync(own) ? own : 'kubectl';
  const close = async () => {
    await stop();
    await etcd.end();
  };
  const cluster = clusterOn({ url, caFile, dir, kubectl, start, stop, close });
  await start();
  return cluster;
}

const launch = (dir: string, name: string, binary: string, args: string[]) =>
  new Program(binary, args, { logFile: join(dir, `${name}.log`) });

async function untilReady(cluster: Cluster, dir: string, program: Program): Promise<void> {
  const ready = async () => {
    if (!existsSync(join(dir, 'certs', 'apiserver.crt'))) return false;
    const client = cluster.client('admin');
    await client.raw({ method: 'GET', path: '/readyz' }).finally(() => client.close());
    return true;
  };
  await eventually('kube-apiserver is ready', ready, {
    hopeless: () => program.exit !== undefined && `it exited with code ${program.exit.code}`,
    seen: () => readFileSync(join(dir, 'apiserver.log'), 'utf8').slice(-2000),
  });
}
