/** `relet dashboard` as a process: its link, its TLS, and the commands that it runs for people, which end when nobody waits for them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import type { KubeClient } from '../src/kube/client.js';
import { type ApiServer, startApiServer } from '../src/lab/apiserver/apiserver.js';
import { selfSigned } from '../src/lab/hollow-kubelet/serving-certificate.js';
import { systemRandom } from '../src/random.js';
import { clientFor } from './cluster-rig.js';
import { call, logIn } from './dashboard-client.js';
import { endProcess } from './end-process.js';
import { eventually } from './eventually.js';
import { applyDeploy } from './node-config-cluster.js';
import { isAlive } from './process-rig.js';
import { executable } from './run-relet.js';

const set = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'blue' },
  spec: { selector: { matchLabels: { pool: 'blue' } }, config: { overlay: { maxPods: 77 } } },
};
let api: ApiServer;
let admin: KubeClient;
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'relet-dashboard-test-'));
  api = await startApiServer({ dataDir: join(dir, 'api') });
  admin = clientFor(api.kubeconfig);
  await applyDeploy(admin);
  await admin.create(nodeConfigSets, {}, set);
});
afterAll(async () => {
  admin.close();
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

/** `text` is all that it printed; `once` and `port` are of its link. */
async function start(...args: string[]) {
  const child = spawn(
    process.execPath,
    [executable, 'dashboard', '--port=0', `--kubeconfig=${api.kubeconfig}`, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => endProcess(child));
  const text = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (some: string) => {
    text.out += some;
  });
  child.stderr.setEncoding('utf8').on('data', (some: string) => {
    text.err += some;
  });
  const link = await eventually('the link', () => /127\.0\.0\.1:(\d+)\/\S*#once=(\S+)/.exec(text.out) ?? false);
  return { child, text, port: Number(link[1]), once: link[2]!, newCode: () => '' };
}

test('relet dashboard prints a link that logs in once, and its buttons change the cluster', async () => {
  const dashboard = await start('--base-path=/x');
  const { headers } = await logIn(dashboard, { once: dashboard.once }, '/x/api/login');
  const answer = await call(dashboard, { method: 'POST', path: '/x/api/sets/blue/pause', body: {}, headers });
  expect(answer.json).toMatchObject({ command: 'relet rollout pause blue', code: 0 });
  const paused = await admin.get<{ spec: { paused: boolean } }>(nodeConfigSets, { name: 'blue' });
  expect(paused.spec.paused).toBe(true);
  expect(dashboard.text.err).toContain('logged in');
  expect(dashboard.text.err).not.toContain(dashboard.once);
});

const tlsFlags = (cert: string, key = cert) => [`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`];

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

test('with a certificate it answers only over TLS, and its cookie is never sent without', async () => {
  const { cert, key } = selfSigned('localhost', ['127.0.0.1'], Date.now(), systemRandom);
  const { port, once, text } = await start(...tlsFlags(file('tls.crt', cert), file('tls.key', key)));
  expect(text.out).toContain('https://127.0.0.1:');
  const cookie = await new Promise<string>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = httpsRequest(
      { port, host: '127.0.0.1', method: 'POST', path: '/api/login', headers, ca: cert },
      (response) => resolve(String(response.resume().headers['set-cookie'])),
    );
    sent.on('error', reject).end(JSON.stringify({ once }));
  });
  expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
  await expect(call({ port }, { path: '/healthz' })).rejects.toThrow();
});

test.each([
  ['a certificate without a key', () => ['--tls-cert-file=x'], /--tls-private-key-file go together/],
  [
    'a file that is not a certificate',
    () => tlsFlags(file('not-a-certificate', 'x')),
    /-certificate and its key cannot/,
  ],
  ['a file that is not there', () => tlsFlags(join(dir, 'nothing')), /nothing: ENOENT/],
  ['a port that is taken', () => [`--port=${new URL(api.url).port}`], /is taken; choose another with --port/],
])('%s ends it with a message', async (_name, args, message) => {
  const child = spawn(process.execPath, [executable, 'dashboard', `--kubeconfig=${api.kubeconfig}`, ...args()]);
  onTestFinished(() => endProcess(child));
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (some: string) => {
    text += some;
  });
  await eventually('it exits', () => child.exitCode !== null, { seen: () => text });
  expect({ code: child.exitCode, text }).toEqual({ code: 2, text: expect.stringMatching(message) });
});

describe('a rehearsal ends when nobody waits for it any more', () => {
  /** One that would run for many minutes. */
  async function rehearse() {
    const dashboard = await start();
    const { headers } = await logIn(dashboard, { once: dashboard.once });
    const yaml = JSON.stringify({ ...set, spec: { ...set.spec, selector: {} } });
    const seen = { text: '' };
    const sent = httpRequest(
      {
        port: dashboard.port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/api/sets/rehearse',
        headers: { 'content-type': 'application/json', ...headers },
      },
      (response) => {
        response.on('error', () => {});
        response.setEncoding('utf8').on('data', (text: string) => {
          seen.text += text;
        });
      },
    );
    sent.on('error', () => {});
    sent.end(JSON.stringify({ yaml, nodes: 500, flags: { seeds: 100 } }));
    onTestFinished(() => void sent.destroy());
    await eventually('it runs', () => seen.text.includes('"kind":"started"'), { seen: () => seen.text });
    const pid = childOf(dashboard.child);
    onTestFinished(() => {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    });
    expect(isAlive(pid)).toBe(true);
    return { server: dashboard.child, pid, sent };
  }

  test.each([
    ['the browser goes away', ({ sent }) => void sent.destroy()],
    ['the server is stopped', ({ server }) => void server.kill('SIGTERM')],
    ['the server is killed', ({ server }) => void server.kill('SIGKILL')],
  ] satisfies [string, (run: Awaited<ReturnType<typeof rehearse>>) => void][])('%s', async (_name, happens) => {
    const run = await rehearse();
    happens(run);
    await eventually('the rehearsal has ended', () => !isAlive(run.pid));
  });
});

/** The only one that it has. */
function childOf({ pid }: ChildProcess): number {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  expect(pids).toHaveLength(1);
  return pids[0]!;
}
