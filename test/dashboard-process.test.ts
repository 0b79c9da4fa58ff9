/** `relet dashboard` as a process: its link, its TLS, and the commands that it runs for people, which end when nobody waits for them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { nodeConfigSets } from '../src/api/node-config-set.js';
import { runRelet } from '../src/cli/run-relet.js';
import { parseAllowedSigner } from '../src/config/signing/allowed-signers.js';
import { contentOf, formatStatement } from '../src/config/signing/statement.js';
import type { KubeClient } from '../src/kube/client.js';
import { configMaps } from '../src/kube/resource-type.js';
import { type ApiServer, startApiServer } from '../src/lab/apiserver/apiserver.js';
import { selfSigned } from '../src/lab/hollow-kubelet/serving-certificate.js';
import { statOf } from '../src/proc.js';
import { systemRandom } from '../src/random.js';
import { desiredRevision } from '../src/rollout/revision.js';
import { clientFor } from './cluster-rig.js';
import { call, logIn } from './dashboard-client.js';
import { eventually } from './eventually.js';
import { applyDeploy } from './node-config-cluster.js';
import { isAlive } from './process-rig.js';
import { type Program, sendSignal, startRelet } from './program.js';
import { testKey } from './rig/signing.js';
import { executable } from './run-relet.js';
import { temporaryDir } from './temporary-dir.js';

const set = {
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'blue' },
  spec: { selector: { matchLabels: { pool: 'blue' } }, config: { overlay: { maxPods: 77 } } },
};
let api: ApiServer;
let admin: KubeClient;
const dir = temporaryDir();

beforeAll(async () => {
  api = await startApiServer({ dataDir: join(dir, 'api') });
  admin = clientFor(api.kubeconfig);
  await applyDeploy(admin);
  await admin.create(nodeConfigSets, {}, set);
});
afterAll(async () => {
  admin.close();
  await api.close();
});

/** `once` and `port` are of its link. */
async function start(...args: string[]) {
  const program = startRelet(['dashboard', '--port=0', `--kubeconfig=${api.kubeconfig}`, ...args]);
  onTestFinished(() => program.end());
  const link = await program.printed(/127\.0\.0\.1:(\d+)\/\S*#once=(\S+)\s/);
  return { program, port: Number(link[1]), once: link[2]!, newCode: () => '' };
}

test('relet dashboard prints a link that logs in once, and its buttons change the cluster', async () => {
  const dashboard = await start('--base-path=/x');
  const { headers } = await logIn(dashboard, { once: dashboard.once }, '/x/api/login');
  const answer = await call(dashboard, { method: 'POST', path: '/x/api/sets/blue/pause', body: {}, headers });
  expect(answer.json).toMatchObject({ command: 'relet rollout pause blue', code: 0 });
  const paused = await admin.get<{ spec: { paused: boolean } }>(nodeConfigSets, { name: 'blue' });
  expect(paused.spec.paused).toBe(true);
  expect(dashboard.program.stderr).toContain('logged in');
  expect(dashboard.program.stderr).not.toContain(dashboard.once);
});

test('before an approval it shows the keys that signed the config, or that none did', async () => {
  const ann = testKey();
  const payload = 'apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: 88}\n';
  const content = contentOf({ data: { kubelet: payload } });
  const statement = formatStatement({ pools: ['gpu'], serial: 7, floor: 6, ...content });
  const dashboard = await start();
  const { headers } = await logIn(dashboard, { once: dashboard.once });
  const preview = async (name: string, signatures: string[]) => {
    const config = { signed: { payload, statement, signatures } };
    await admin.create(nodeConfigSets, {}, { ...set, metadata: { name }, spec: { ...set.spec, config } });
    const { revision } = desiredRevision(name, payload, config.signed);
    const body = { revision, wave: 1, dryRun: true };
    await admin.patch(nodeConfigSets, { name, subresource: 'status' }, { status: awaiting(revision) }, { as: 'merge' });
    const { json } = await call(dashboard, { method: 'POST', path: `/api/sets/${name}/approve`, body, headers });
    return (json as { result?: { approval?: { signed?: unknown } } }).result?.approval?.signed;
  };
  const { fingerprint } = parseAllowedSigner(`ann ${ann.line}`);
  const shown = 'pool gpu, serial 7, floor 6';
  expect(await preview('signed', [ann.sign(statement)])).toEqual({
    keys: [expect.stringContaining(fingerprint)],
    statement: shown,
  });
  expect(await preview('forged', [ann.sign('another')])).toEqual({ keys: [], statement: shown });
});

const awaiting = (updateRevision: string) => ({
  updateRevision,
  observedGeneration: 1,
  revisions: [{ revision: updateRevision, source: 'relet-system/x/kubelet', startedAt: '2026-03-01T10:00:00Z' }],
  waves: [{ wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'AwaitingApproval' }],
});

const tlsFlags = (cert: string, key = cert) => [`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`];

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

test('with a certificate it answers only over TLS, and its cookie is never sent without', async () => {
  const { cert, key } = selfSigned('localhost', ['127.0.0.1'], Date.now(), systemRandom);
  const { port, once, program } = await start(...tlsFlags(file('tls.crt', cert), file('tls.key', key)));
  expect(program.stdout).toContain('https://127.0.0.1:');
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
  const program = startRelet(['dashboard', `--kubeconfig=${api.kubeconfig}`, ...args()]);
  onTestFinished(() => program.end());
  expect(await program.ended).toMatchObject({ status: 2, stderr: expect.stringMatching(message) });
});

describe('a rehearsal ends when nobody waits for it any more', () => {
  /** Starts a rehearsal that would run for many minutes. */
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
    const pid = childOf(dashboard.program);
    onTestFinished(() => {
      sendSignal(pid, 'SIGKILL');
    });
    expect(isAlive(pid)).toBe(true);
    return { server: dashboard.program, pid, sent };
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

  test('and gives way to everything else only after it has computed for a while, as an ordinary answer does not', async () => {
    const { pid } = await rehearse();
    expect(getPriority(pid)).toBe(getPriority());
    await eventually('it gives way', () => getPriority(pid) === Math.max(10, getPriority()));
    expect(statOf(pid)!.cpuMs).toBeGreaterThanOrEqual(1000);
  });
});

/** The only one that it has. */
function childOf({ pid }: Program): number {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  expect(pids).toHaveLength(1);
  return pids[0]!;
}

test('two configs are compared by a process of their own, and a problem that it finds is the answer', async () => {
  const dashboard = await start();
  const { headers } = await logIn(dashboard, { once: dashboard.once });
  for (const [name, maxPods] of [
    ['a', 100],
    ['b', 200],
  ])
    await admin.create(
      configMaps,
      { namespace: 'default' },
      {
        ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } },
        data: {
          kubelet: `apiVersion: relet.dev/v1alpha1\nkind: KubeletConfigurationOverlay\nconfig: {maxPods: ${maxPods}}\n`,
        },
      },
    );
  const hostile = 'a\u009b31m\u007fb';
  await admin.patch(configMaps, { namespace: 'default', name: 'a' }, { data: { other: hostile } }, { as: 'merge' });
  const shown = await call(dashboard, { path: '/api/configs/default/a', headers });
  expect(shown.json).toMatchObject({ documents: { other: { text: hostile } } });
  await admin.patch(configMaps, { namespace: 'default', name: 'a' }, { data: { other: null } }, { as: 'merge' });
  const compared = await call(dashboard, { path: '/api/configs/diff?a=default/a&b=default/b', headers });
  expect(compared.json).toMatchObject({ changes: [{ path: 'maxPods', from: 100, to: 200 }] });
  const missing = await call(dashboard, { path: '/api/configs/diff?a=default/a&b=default/c', headers });
  expect(missing).toMatchObject({ status: 404, json: { reason: 'NotFound' } });
});

test.each([
  ['takes too long', { timeoutMs: 1 }, /^it did not end within 0.001 s$/],
  ['needs too much memory', { memoryMB: 66 }, /^it needed more than 66 MB of memory$/],
])('a command that %s is ended, with that reason', async (_name, limit, reason) => {
  const [, program] = process.argv;
  process.argv[1] = executable;
  onTestFinished(() => {
    process.argv[1] = program!;
  });
  const { signal } = new AbortController();
  const limits = { timeoutMs: 60_000, memoryMB: 512, ...limit };
  const result = await runRelet(['config', 'defaults'], { kubeconfig: '', signal, ...limits });
  expect(result).toMatchObject({ code: 2, ended: expect.stringMatching(reason) });
});
