/** `relet inventory`, `audit` and `export` against the API server as a process, with kubelets that answer, lie, hang and are gone. No agent reports. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditReport } from '../src/audit/audit.js';
import { systemClock } from '../src/clock.js';
import type { Inventory } from '../src/fleet/inventory.js';
import { nodes } from '../src/kube/resource-type.js';
import { openPki } from '../src/lab/apiserver/pki/pki.js';
import { silentLog } from '../src/log.js';
import { systemRandom } from '../src/random.js';
import { OperatorCluster } from './operator-rig.js';
import { startRelet } from './program.js';

let cluster: OperatorCluster;
const servers: Server[] = [];
/** Called when the kubelet that hangs is asked. */
let onceAsked = () => {};

/** A Node whose kubelet is this server. */
async function kubelet(name: string, answer: RequestListener | 'gone', labels = {}): Promise<void> {
  const dir = join(cluster.dir, 'pki');
  const pki = await openPki({
    dir,
    bindAddress: '127.0.0.1',
    log: silentLog,
    clock: systemClock,
    random: systemRandom,
  });
  const serving = await pki.issueKubeletServing(name, ['127.0.0.1']);
  const server = createServer(serving, typeof answer === 'function' ? answer : (_request, response) => response.end());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  servers.push(server);
  const { port } = server.address() as AddressInfo;
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
  await cluster.admin.create(nodes, {}, node);
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: answer === 'gone' ? await closedPort() : port } },
    nodeInfo: { kubeletVersion: name === 'escape' ? 'v1.32.1\u001b]0;owned\u0007' : 'v1.32.1' },
  };
  await cluster.admin.patch(nodes, { name, subresource: 'status' }, { status }, { as: 'merge' });
}

function closedPort(): Promise<number> {
  const server = createTcpServer();
  return new Promise((done) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    }),
  );
}

const says =
  (text: string): RequestListener =>
  (_request, response) => {
    response.end(text);
  };

beforeAll(async () => {
  cluster = await OperatorCluster.start();
  for (const name of ['web-1', 'web-2', 'web-3'])
    await cluster.node(name, {
      labels: { pool: 'web' },
      does: 'deaf',
      config: { maxPods: name === 'web-3' ? 60 : 90 },
    });
  await kubelet(
    'escape',
    says(
      '{"kubeletconfig":{"clusterDomain":"\\u001b[2J\\u001b]0;owned\\u0007.example","staticPodPath":"/\\u001b]0;owned"}}',
    ),
    {
      pool: 'odd',
    },
  );
  await kubelet('huge', (_request, response) => {
    response.write('{"kubeletconfig":{"clusterDomain":"');
    response.end(`${'x'.repeat(2 * 1024 * 1024)}"}}`);
  });
  await kubelet('broken', says('{"kubeletconfig":{"maxPods":'));
  await kubelet('deep', says(`{"kubeletconfig":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`));
  await kubelet('html', says('<html>login</html>'));
  await kubelet('wrong', says('{"kubeletconfig":{"maxPods":"many"}}'));
  await kubelet('hangs', () => onceAsked(), { hangs: '' });
  // As an API server answers that checks the certificates of kubelets.
  await kubelet('expired', (_request, response) => {
    response.writeHead(503).end('error trying to reach service: x509: certificate has expired or is not yet valid');
  });
  await kubelet('gone', 'gone');
  await kubelet('endless', (_request, response) => {
    const more = () => response.write('x'.repeat(65_536), () => !response.destroyed && setImmediate(more));
    more();
  });
  await kubelet('error', (_request, response) => {
    response.writeHead(500).end('\u001b]0;owned\u0007 panic');
  });
  // These would be waited for as long as they want.
  await kubelet('stalls', stall, { hangs: '' });
  await kubelet('later', (_request, response) => response.writeHead(503, { 'retry-after': '3600' }).end(), {
    hangs: '',
  });
});

/** A part of an answer, without an end. */
const stall: RequestListener = (_request, response) => {
  response.write('{"kubeletconfig":');
};
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await cluster?.close();
});

const control = /[\u0000-\u0009\u000b-\u001f\u007f]/;

/** All but those that hang, unless nodes are named. */
const look = (...args: string[]) =>
  cluster.relet([
    'inventory',
    '--node-timeout',
    '60s',
    ...(args[0]?.match(/^-(?!l)/) ? ['-l', '!hangs'] : []),
    ...args,
  ]);

describe('a fleet without agents, some of whose kubelets do not answer as kubelets', () => {
  test('nodes that could not be read are counted and named with the reason, the others are shown, and it exits with 2', async () => {
    const { status, stdout } = await look('-o', 'json');
    expect(status).toBe(2);
    const found = JSON.parse(stdout) as Inventory;
    expect(found.nodes).toBe(4);
    const reasons = Object.fromEntries(found.unread.map(({ name, reason }) => [name, reason]));
    expect(reasons).toMatchObject({
      broken: expect.stringContaining('unexpected end'),
      deep: expect.stringContaining('exceeded max depth'),
      endless: expect.stringContaining('longer than 1048576 bytes'),
      error: expect.stringContaining('panic'),
      expired: expect.stringContaining('expired'),
      gone: expect.stringContaining('dial tcp'),
      html: 'the answer of /configz has no kubeletconfig in it',
      huge: expect.stringContaining('longer than 1048576 bytes'),
      wrong: expect.stringContaining('maxPods'),
    });
    expect(found.unread.every(({ reason }) => reason.length <= 300)).toBe(true);
    expect(found.outliers).toEqual([{ node: 'web-3', pool: 'web 1.32', field: 'maxPods', value: '60', usual: '90' }]);
  });

  test.each(['hangs', 'stalls', 'later'])(
    'the kubelet %s, which does not end its answer in time, is given up after --node-timeout',
    async (name) => {
      const { status, stdout, stderr } = await cluster.relet(['inventory', name, '--node-timeout', '300ms']);
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toContain(`none of 1 nodes could be read; ${name}: `);
      expect(stderr).toContain('no answer in 300 ms');
    },
  );

  test('an audit of them fails for what it found, and with 2 for nodes that it could not read, which pass nothing', async () => {
    const audit = (...args: string[]) => cluster.relet(['audit', '-l', '!hangs', '--node-timeout', '60s', ...args]);
    const { status, stdout } = await audit('-o', 'json');
    const report = JSON.parse(stdout) as AuditReport;
    expect({ status, unread: report.unread.map(({ name }) => name) }).toEqual({
      status: 1,
      unread: ['broken', 'deep', 'endless', 'error', 'expired', 'gone', 'html', 'huge', 'wrong'],
    });
    expect([...new Set(report.findings.flatMap(({ nodes }) => nodes))].sort()).toEqual([
      'escape',
      'web-1',
      'web-2',
      'web-3',
    ]);
    expect((await audit('--fail-on', 'none')).status).toBe(2);
  });

  test('no output has a control character of a node, in a value, an error or a version', async () => {
    const inventories = ['table', 'wide', 'json', 'yaml', 'html'].map((format) => ['inventory', '-o', format]);
    const audits = ['table', 'json', 'sarif', 'junit', 'html'].map((format) => ['audit', '-o', format]);
    for (const args of [...inventories, ...audits]) {
      const { stdout, stderr } = await cluster.relet([...args, '-l', 'pool=odd']);
      expect({ args, isNamed: stdout.includes('owned') }).toEqual({ args, isNamed: true });
      expect(stdout + stderr).not.toMatch(control);
    }
    const exported = await cluster.relet('export node/escape --to kubeadm');
    expect(exported.stdout).toContain('owned');
    expect(exported.stdout + exported.stderr).not.toMatch(control);
    for (const name of ['error', 'huge', 'broken']) {
      const { status, stdout, stderr } = await cluster.relet(`export node/${name} --to kubeadm`);
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toContain(`${name}: `);
      expect(stderr).not.toMatch(control);
    }
  });

  test('the table says that origins are default or set, and which nodes are missing', async () => {
    const { stdout } = await look('-o', 'table');
    expect(stdout).toContain('9 nodes could not be read:');
    expect(stdout).toContain("they are 'default' or 'set'");
    expect(stdout).toMatch(/^maxPods +90 +2 +set$/m);
  });

  test('where the right on nodes/proxy is missing, it is named with the command that gives it', async () => {
    const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }];
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
    const metadata = { name: 'lister' };
    const kinds = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    await cluster.admin.create(
      { ...rbac, resource: 'clusterroles' },
      {},
      { ...kinds, kind: 'ClusterRole', metadata, rules },
    );
    const roleRef = { apiGroup: rbac.group, kind: 'ClusterRole', name: 'lister' };
    const subjects = [{ apiGroup: rbac.group, kind: 'User', name: 'lister' }];
    const binding = { ...kinds, kind: 'ClusterRoleBinding', metadata, roleRef, subjects };
    await cluster.admin.create({ ...rbac, resource: 'clusterrolebindings' }, {}, binding);
    const { status, stdout, stderr } = await look('--as', 'lister');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain("'get' on nodes/proxy is missing");
    expect(stderr).toContain('kubectl create clusterrolebinding relet-look --clusterrole=relet-look --user=lister');
  });
});

describe('--save and --from', () => {
  test('a saved inventory shows the same as the cluster, and saving it again changes no byte', async () => {
    const shown = await look('-l', 'pool=web', '-o', 'json');
    const saved = await look('-l', 'pool=web', '--save', 'monday');
    expect(saved).toMatchObject({ status: 0, stdout: 'monday: 3 nodes with 2 distinct configs.\n' });
    expect((await look('--from', 'monday', '-o', 'json')).stdout).toBe(shown.stdout);
    const bytes = () =>
      readdirSync(join(cluster.dir, 'monday')).map((name) => [
        name,
        readFileSync(join(cluster.dir, 'monday', name), 'utf8'),
      ]);
    // An empty providerID is not a value of its own, whichever kubelet has answered first.
    expect(bytes().some(([, text]) => text!.includes('"own"'))).toBe(false);
    const before = bytes();
    await look('-l', 'pool=web', '--save', 'monday');
    expect(bytes()).toEqual(before);
    const fewer = await look('web-1', 'web-2', '--save', 'monday');
    expect(fewer.stdout).toContain('2 nodes with 1 distinct config');
    expect(bytes()).toHaveLength(2);
  });

  test('diff names what changed, and exits with 1', async () => {
    await look('-l', 'pool=web', '--save', 'a');
    await look('web-1', 'web-2', '--save', 'b');
    expect(await cluster.relet(['inventory', 'diff', 'a', 'b'])).toEqual({
      status: 1,
      stdout: '- node web-3\n',
      stderr: '',
    });
    expect((await cluster.relet(['inventory', 'diff', 'a', 'a'])).status).toBe(0);
  });

  test('a directory with files of somebody else is not written to', async () => {
    cluster.file('notes.txt', 'mine');
    const { status, stderr } = await look('--save', '.');
    expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringContaining('name a new directory') });
    expect(existsSync(join(cluster.dir, 'index.json'))).toBe(false);
  });

  test('Ctrl-C writes nothing and exits with 130; what a killed save left is replaced', async () => {
    const dir = join(cluster.dir, 'stopped');
    const words = ['inventory', 'hangs', 'web-1', '--save', 'stopped', '--node-timeout', '60s'];
    const asked = new Promise<void>((resolve) => {
      onceAsked = resolve;
    });
    const program = startRelet(words, { env: cluster.environment(), cwd: cluster.dir });
    await asked;
    program.kill('SIGINT');
    expect(await program.exited).toMatchObject({ code: 130 });
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    writeFileSync(join(dir, 'config-0123456789ab.json'), '{');
    expect((await look('web-1', '--save', 'stopped')).status).toBe(0);
    expect(readdirSync(dir)).toEqual([expect.stringMatching(/^config-(?!0123456789ab)/), 'index.json']);
  });

  test('a damaged inventory is named, and is not overwritten', async () => {
    await look('web-1', '--save', 'damaged');
    const index = join(cluster.dir, 'damaged', 'index.json');
    writeFileSync(index, '{"nodes":');
    for (const flag of ['--from', '--save'])
      expect((await look(flag, 'damaged')).stderr).toContain('index.json: not a NodeInventory of relet.dev/v1alpha1');
    expect(readFileSync(index, 'utf8')).toBe('{"nodes":');
  });
});
