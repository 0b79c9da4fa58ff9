/**
 * The hollow kubelet as a process: against the embedded API server with a node's own certificate, alone, and failing on
 * demand. `npm run build` makes what runs here.
 */
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { KubeObject } from '../src/api/object.js';
import type { KubeClient } from '../src/kube/client.js';
import { leases, nodes, pods } from '../src/kube/resource-type.js';
import { watchLoop } from '../src/kube/watch.js';
import { type ApiServer, startApiServer } from '../src/lab/apiserver/apiserver.js';
import { kubeconfigText } from '../src/lab/apiserver/pki/admin-kubeconfig.js';
import { clientFor } from './cluster-rig.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { createAuthority } from './pki.js';
import { Program, startRelet } from './program.js';
import { needs } from './programs.js';
import { relet } from './run-relet.js';
import { answerJson, startScriptedServer } from './scripted-server.js';
import { temporaryDir } from './temporary-dir.js';

const dir = temporaryDir();
let server: ApiServer;
let admin: KubeClient;
beforeAll(async () => {
  server = await startApiServer({ version: 'test' });
  admin = clientFor(server.kubeconfig);
});
afterAll(async () => {
  admin.close();
  await server.close();
});

interface NodeObject extends KubeObject {
  spec: { taints?: { key: string; effect: string }[] };
  status: {
    conditions?: { type: string; status: string; lastHeartbeatTime: string }[];
    allocatable?: Record<string, string>;
    daemonEndpoints?: { kubeletEndpoint: { Port: number } };
  };
}

async function nodeKubeconfig(name: string): Promise<string> {
  const client = await server.pki.issueNodeClient(name);
  const path = join(dir, `${name}.kubeconfig`);
  writeFileSync(path, kubeconfigText({ server: server.url, ca: server.pki.ca, user: `system:node:${name}`, client }));
  return path;
}

interface Hollow {
  program: Program;
  port: number;
  healthzPort: number;
  log(): string;
  /** Resolves when the log has this. */
  printed(text: string): Promise<unknown>;
}

async function startHollow(name: string, config: object = {}, flags: string[] = []): Promise<Hollow> {
  const [port, healthzPort] = [await freePort(), await freePort()];
  const file = join(dir, `${name}.json`);
  const base = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', address: '127.0.0.1' };
  const access = { authentication: { x509: { clientCAFile: server.caFile }, anonymous: { enabled: false } } };
  writeFileSync(file, JSON.stringify({ ...base, ...access, port, healthzPort, ...config }));
  const own = [
    `--config=${file}`,
    `--hostname-override=${name}`,
    `--root-dir=${dir}`,
    `--cert-dir=${join(dir, `${name}-pki`)}`,
  ];
  const program = startRelet(['hollow-kubelet', ...own, ...flags], { env: { PATH: process.env.PATH } });
  onTestFinished(async () => {
    program.kill('SIGKILL');
    await program.ended;
  });
  const printed = (text: string) => program.printed(new RegExp(text));
  return { program, port, healthzPort, log: () => program.stderr, printed };
}

/** The Node when it satisfies this, as an administrator sees it. */
async function nodeWhen(name: string, satisfied: (node: NodeObject) => boolean): Promise<NodeObject> {
  const stop = new AbortController();
  return new Promise<NodeObject>((resolve) => {
    const look = (node: NodeObject | undefined) => {
      if (node && satisfied(node)) resolve(node);
    };
    const onList = ([node]: NodeObject[]) => look(node);
    const onChange = (_type: string, node: NodeObject) => look(node);
    void watchLoop<NodeObject>(admin, {
      type: nodes,
      name,
      signal: stop.signal,
      onList,
      onChange,
      onFailure: () => {},
    });
  }).finally(() => stop.abort());
}
const readiness = (node: NodeObject) => node.status.conditions?.find(({ type }) => type === 'Ready')?.status;

async function healthz(port: number): Promise<number | string> {
  return new Promise((resolve) => {
    httpGet({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code!));
  });
}

describe('a node with a hollow kubelet', () => {
  test('registers, becomes Ready and behaves by its config', async () => {
    const config = {
      maxPods: 42,
      nodeLeaseDurationSeconds: 20,
      registerWithTaints: [{ key: 'own', effect: 'NoSchedule' }],
    };
    const hollow = await startHollow('full', config, [`--kubeconfig=${await nodeKubeconfig('full')}`]);
    const node = await nodeWhen('full', (node) => readiness(node) === 'True');
    expect(node.metadata.labels).toMatchObject({ 'relet.dev/hollow': 'true' });
    expect(node.spec.taints).toEqual(
      expect.arrayContaining([
        { key: 'relet.dev/hollow', value: 'true', effect: 'NoSchedule' },
        { key: 'own', effect: 'NoSchedule' },
      ]),
    );
    expect(node.status.allocatable!.pods).toBe('42');
    expect(node.status.daemonEndpoints!.kubeletEndpoint.Port).toBe(hollow.port);
    expect(await healthz(hollow.healthzPort)).toBe(200);
    await hollow.printed('Successfully registered node');
    const configz = await admin.raw({ method: 'GET', path: '/api/v1/nodes/full/proxy/configz' });
    expect(JSON.parse(configz.text).kubeletconfig).toMatchObject({ maxPods: 42, port: hollow.port });
  });

  test('renews its Lease and keeps what others wrote to its status', async () => {
    await startHollow(
      'lease',
      { nodeLeaseDurationSeconds: 1, nodeStatusUpdateFrequency: '1s', nodeStatusReportFrequency: '1s' },
      [`--kubeconfig=${await nodeKubeconfig('lease')}`],
    );
    const first = await nodeWhen('lease', (node) => readiness(node) === 'True');
    const condition = { type: 'ConfigOK', status: 'True', reason: 'x', message: 'y' };
    await admin.patch(
      nodes,
      { name: 'lease', subresource: 'status' },
      { status: { conditions: [condition] } },
      { as: 'strategic' },
    );
    const beat = (node: NodeObject) => node.status.conditions!.find(({ type }) => type === 'Ready')!.lastHeartbeatTime;
    const later = await nodeWhen('lease', (node) => beat(node) > beat(first));
    expect(later.status.conditions!.map(({ type }) => type)).toContain('ConfigOK');
    const place = { namespace: 'kube-node-lease', name: 'lease' };
    type Lease = KubeObject & { spec: { holderIdentity: string; renewTime: string } };
    // Its first one may come after the Node is Ready.
    const lease = await eventually('a Lease', () => admin.get<Lease>(leases, place));
    expect(lease.spec.holderIdentity).toBe('lease');
    expect(lease.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: 'lease', uid: first.metadata.uid }]);
    const stop = new AbortController();
    await new Promise<void>((resolve) => {
      const look = (now: KubeObject) => (now.spec as typeof lease.spec).renewTime > lease.spec.renewTime && resolve();
      const onList = (all: KubeObject[]) => all.forEach(look);
      const onChange = (_type: string, now: KubeObject) => void look(now);
      void watchLoop(admin, { type: leases, ...place, signal: stop.signal, onList, onChange, onFailure: () => {} });
    });
    stop.abort();
  });

  test('lets pods go that are to be deleted, so that a drain comes to an end', async () => {
    await startHollow('drained', {}, [`--kubeconfig=${await nodeKubeconfig('drained')}`]);
    await nodeWhen('drained', (node) => readiness(node) === 'True');
    const spec = { nodeName: 'drained', containers: [{ name: 'c', image: 'none' }] };
    const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec });
    const place = { namespace: 'default' };
    for (const name of ['evicted', 'stays', 'deleted']) await admin.create(pods, place, pod(name));
    const stop = new AbortController();
    const seen: string[] = [];
    const gone = new Promise<void>((resolve) => {
      void watchLoop<KubeObject & { status?: { phase?: string } }>(admin, {
        type: pods,
        namespace: 'default',
        signal: stop.signal,
        onList() {},
        onChange(type, { metadata, status }) {
          if (type === 'DELETED') seen.push(`${metadata.name} ${status?.phase}`);
          if (seen.length === 2) resolve();
        },
        onFailure() {},
        async onWatching() {
          const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted', ...place } };
          await admin.create(pods, { ...place, name: 'evicted', subresource: 'eviction' }, eviction);
          await admin.delete(pods, { ...place, name: 'deleted' });
        },
      });
    });
    await gone;
    stop.abort();
    expect(seen.sort()).toEqual(['deleted Succeeded', 'evicted Succeeded']);
    expect((await admin.list(pods, place)).items.map(({ metadata }) => metadata.name)).toEqual(['stays']);
  });

  test.skipIf(needs('curl').isMissing)(`serves only whom its config lets in${needs('curl').note}`, async () => {
    const hollow = await startHollow('door', { authorization: { mode: 'Webhook' } }, [
      `--kubeconfig=${await nodeKubeconfig('door')}`,
    ]);
    await nodeWhen('door', (node) => readiness(node) === 'True');
    const ask = async (headers: string[], certificate?: { cert: string; key: string }) => {
      const files = certificate
        ? ['--cert', write('c.crt', certificate.cert), '--key', write('c.key', certificate.key)]
        : [];
      const url = `https://127.0.0.1:${hollow.port}/configz`;
      const curl = new Program('curl', ['-sk', '-o', '/dev/null', '-w', '%{http_code}', ...headers, ...files, url]);
      return (await curl.ended).stdout;
    };
    const write = (name: string, text: string) => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    expect(await ask([])).toBe('401');
    expect(await ask(['-H', 'Authorization: Bearer wrong'])).toBe('401');
    expect(await ask([], server.pki.admin)).toBe('200');
    expect(await ask([], await server.pki.issueNodeClient('another'))).toBe('403');
    expect(await ask([], await (await createAuthority('stranger')).sign('CN=kubernetes-admin,O=system:masters'))).toBe(
      '401',
    );
  });

  test('comes back as the same Node, and goes at SIGTERM with 0', async () => {
    const flags = [`--kubeconfig=${await nodeKubeconfig('again')}`];
    const first = await startHollow('again', { maxPods: 10 }, flags);
    const before = await nodeWhen('again', (node) => readiness(node) === 'True');
    first.program.kill('SIGTERM');
    expect(await first.program.exited).toEqual({ code: 0, signal: null });
    await startHollow('again', { maxPods: 20 }, flags);
    const after = await nodeWhen('again', (node) => node.status.allocatable?.pods === '20');
    expect(after.metadata.uid).toBe(before.metadata.uid);
  });

  test('waits for an API server that is not there yet', async () => {
    const port = await freePort();
    const late = join(dir, 'late.kubeconfig');
    const client = await server.pki.issueNodeClient('late');
    writeFileSync(late, kubeconfigText({ server: `https://127.0.0.1:${port}`, ca: server.pki.ca, user: 'u', client }));
    const hollow = await startHollow('late', {}, [`--kubeconfig=${late}`]);
    await hollow.printed('Unable to reach the API server, will retry');
    expect(await healthz(hollow.healthzPort)).toBe(200);
    writeFileSync(late, kubeconfigText({ server: server.url, ca: server.pki.ca, user: 'u', client }));
    await nodeWhen('late', (node) => readiness(node) === 'True');
  });

  test("refuses an API server that is not relet's own, unless forced", async () => {
    const authority = await createAuthority();
    const tls = await authority.sign('CN=api', { hosts: ['127.0.0.1'] });
    const foreign = await startScriptedServer((_asked, response) => answerJson(response, { gitVersion: 'v1.32.1' }), {
      tls,
    });
    onTestFinished(() => foreign.close());
    const kubeconfig = join(dir, 'foreign.kubeconfig');
    const client = await authority.sign('CN=system:node:foreign');
    writeFileSync(kubeconfig, kubeconfigText({ server: foreign.url, ca: authority.cert, user: 'u', client }));
    const hollow = await startHollow('foreign', {}, [`--kubeconfig=${kubeconfig}`]);
    expect((await hollow.program.ended).status).toBe(1);
    expect(hollow.log()).toContain(`the API server ${foreign.url} is a v1.32.1, not relet's own`);
    expect(foreign.asked.map(({ path }) => path)).toEqual(['/version']);
    const forced = await startHollow('foreign', {}, [`--kubeconfig=${kubeconfig}`, '--hollow-force']);
    await forced.printed('Attempting to register node');
  });
});

describe('a hollow kubelet that cannot or must not live', () => {
  test('says its version', () => {
    expect(relet(['hollow-kubelet', '--version']).stdout).toBe('Kubernetes v1.32.1\n');
    const env = { RELET_HOLLOW_VERSION: '1.23.17' };
    expect(relet(['hollow-kubelet', '--version'], { env }).stdout).toBe('Kubernetes v1.23.17\n');
  });

  test("dies when its port is taken, in the kubelet's words", async () => {
    const taken = createTcpServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const hollow = await startHollow('taken', { port });
    expect((await hollow.program.ended).status).toBe(1);
    expect(hollow.log()).toContain(`err="listen tcp 127.0.0.1:${port}: bind: address already in use"`);
  });

  test('lives on when only its healthz port is taken', async () => {
    const taken = createTcpServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const hollow = await startHollow('healthless', { healthzPort: (taken.address() as AddressInfo).port });
    await hollow.printed('Failed to start healthz server');
    await hollow.printed('Started kubelet');
  });

  test('dies at start of a value that validation lets through', async () => {
    const hollow = await startHollow('bogus', { evictionHard: { 'memory.available': 'bogus' } });
    expect((await hollow.program.ended).status).toBe(1);
    expect(hollow.log()).toContain('err="failed to run Kubelet: ');
    expect(hollow.log()).not.toContain('Started kubelet');
  });

  test('writes all of its output before it exits, also more than a pipe holds', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`unknown${at}${'x'.repeat(2_000)}`, 1]));
    const hollow = await startHollow('talkative', unknown, ['--lock-file=/dev/null/no-directory/lock']);
    expect((await hollow.program.ended).status).toBe(1);
    expect(hollow.log().length).toBeGreaterThan(100_000);
    expect(hollow.log()).toContain('unable to acquire file lock');
  });

  test('crashes when the CPU manager policy differs from its state file, as a kubelet does', async () => {
    const root = `--root-dir=${join(dir, 'managed-root')}`;
    const first = await startHollow('managed', {}, [root]);
    await first.printed('Started kubelet');
    first.program.kill('SIGTERM');
    await first.program.ended;
    const config = { cpuManagerPolicy: 'static', kubeReserved: { cpu: '500m' } };
    const changed = await startHollow('managed', config, [root]);
    expect((await changed.program.ended).status).toBe(1);
    expect(changed.log()).toContain('differs from state checkpoint policy');
    expect(changed.log()).not.toContain('Started kubelet');
  });

  test('serves nothing on its port when the server is not enabled', async () => {
    const hollow = await startHollow('silent', { enableServer: false });
    await hollow.printed('Started kubelet');
    expect(await healthz(hollow.port)).toBe('ECONNREFUSED');
    expect(await healthz(hollow.healthzPort)).toBe(200);
  });

  test('exits at start only with the config that is set to crash it', async () => {
    const flags = ['--hollow-fail-if=maxPods=66:exit-at-start'];
    const killed = await startHollow('killed', { maxPods: 66 }, flags);
    expect((await killed.program.ended).status).toBe(1);
    expect(killed.log()).toContain('exit at start was requested');
    const spared = await startHollow('spared', { maxPods: 65 }, flags);
    await spared.printed('Started kubelet');
    expect(await healthz(spared.healthzPort)).toBe(200);
  });

  test('never becomes healthy, and its Node never Ready', async () => {
    const flags = [`--kubeconfig=${await nodeKubeconfig('ill')}`, '--hollow-fail=never-healthy'];
    const hollow = await startHollow('ill', {}, flags);
    const node = await nodeWhen('ill', (node) => readiness(node) !== undefined);
    expect(readiness(node)).toBe('False');
    expect(await healthz(hollow.healthzPort)).toBe(500);
  });

  test('dies after a while', async () => {
    const hollow = await startHollow('dying', {}, ['--hollow-fail=die-after=50ms']);
    expect((await hollow.program.ended).status).toBe(1);
    expect(hollow.log()).toContain('exit after 50 ms was requested');
  });

  test('loses the API and stays healthy itself', async () => {
    const flags = [`--kubeconfig=${await nodeKubeconfig('lost')}`, '--hollow-fail=lose-api'];
    const hollow = await startHollow('lost', {}, flags);
    await hollow.printed('Started kubelet');
    expect(await healthz(hollow.healthzPort)).toBe(200);
    await expect(admin.get(nodes, { name: 'lost' })).rejects.toThrow('nodes "lost" not found');
  });

  test('starts slowly, and stops at once even then', async () => {
    const hollow = await startHollow('slow', {}, ['--hollow-fail=slow-start=1h']);
    await hollow.printed('failing on demand');
    expect(await healthz(hollow.healthzPort)).toBe('ECONNREFUSED');
    hollow.program.kill('SIGTERM');
    expect(await hollow.program.exited).toEqual({ code: 0, signal: null });
  });

  test('keeps few files open', async () => {
    const hollow = await startHollow('files', {}, [`--kubeconfig=${await nodeKubeconfig('files')}`]);
    await nodeWhen('files', (node) => readiness(node) === 'True');
    const open = readdirSync(`/proc/${hollow.program.pid}/fd`).length;
    expect(open).toBeLessThan(40);
  });
});
