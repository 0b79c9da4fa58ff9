/** Rig of the node benches: `relet apiserver`, `relet kubelet` and an administrator, all as real processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { parseAllDocuments } from 'yaml';

export const relet = join(import.meta.dirname, '../../bin/relet.cjs');
export const nodeName = 'bench-node';
export const now = () => performance.now();
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

// Node 20 reads all certificates of NODE_EXTRA_CA_CERTS at every start, which would be measured with relet's own work.
const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined, NODE_OPTIONS: undefined };

const ends = [];
let ending = false;
/** Whether what was started is being ended: what ends now is not started again. */
export const isEnding = () => ending;
/** Output for a failed run. */
const running = new Set();
/** Undone in reverse order when the bench ends, however it ends. */
export const atEnd = (end) => void ends.push(end);

/** Runs a bench and cleans up behind it. */
export async function bench(main) {
  const clean = async () => {
    ending = true;
    for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void clean().then(() => process.exit(130)));
  try {
    await main();
  } catch (error) {
    process.exitCode = 1;
    console.error(error);
    for (const { args, lines } of running)
      console.error(
        args.join(' '),
        lines
          .slice(-20)
          .map(({ text }) => text)
          .join('\n'),
      );
  }
  await clean();
  process.exit();
}

export function newDir() {
  const dir = mkdtempSync(join(tmpdir(), 'relet-bench-'));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A process with its lines of output; `line(pattern)` resolves with the first that matches, and when it came. */
export function start(command, args, more = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...env, ...more } });
  const startedAt = now();
  const lines = [];
  const waiting = new Set();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (text) => {
      lines.push({ text, at: now() });
      if (lines.length > 2000) lines.splice(0, 1000);
      for (const look of waiting) look();
    });
  const exited = once(child, 'exit');
  const entry = { args, lines };
  running.add(entry);
  void exited.then(() => running.delete(entry));
  const line = (pattern) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.find(({ text }) => pattern.test(text));
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
      void exited.then(() =>
        reject(new Error(`ended before ${pattern}:\n${lines.map(({ text }) => text).join('\n')}`)),
      );
    });
  const stop = async (signal = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  atEnd(stop);
  return { pid: child.pid, startedAt, lines, line, exited, stop };
}

const account = 'system:serviceaccount:relet-system:relet-controller';
const users = [
  'admin-token,admin,admin,system:masters',
  `node-token,system:node:${nodeName},${nodeName},system:nodes`,
  `controller-token,${account},controller,"system:serviceaccounts,system:serviceaccounts:relet-system"`,
];

/** The embedded API server, with tokens for an administrator and one node; for NodeConfigs like Kubernetes 1.26 and later. */
export async function startServer(dir, reference = 'Node') {
  mkdirSync(dir, { recursive: true });
  const tokens = join(dir, 'tokens.csv');
  writeFileSync(tokens, `${users.join('\n')}\n`, { mode: 0o600 });
  const dataDir = join(dir, 'apiserver');
  const server = start(process.execPath, [
    relet,
    'apiserver',
    `--data-dir=${dataDir}`,
    '--port=0',
    `--token-auth-file=${tokens}`,
    `--feature-gates=DynamicKubeletConfig=${reference === 'Node'}`,
  ]);
  const url = (await server.line(/^url: /)).text.slice(5);
  await server.line(/^ready$/);
  const pki = join(dataDir, 'pki');
  const caFile = join(pki, 'ca.crt');
  const admin = administrator(url, caFile, { reference });
  if (reference === 'NodeConfig') await startController(dir, { admin, url, caFile });
  return { url, pid: server.pid, pki, ca: readFileSync(caFile, 'utf8'), admin, reference };
}

/** Applies the objects of `kubectl apply -k deploy/` except for the Deployment: here the controller is a process. */
export async function applyDeploy(admin, parts = ['base', 'guards']) {
  for (const object of deployObjects(parts)) await admin.create(object);
}

async function startController(dir, { admin, url, caFile }) {
  await applyDeploy(admin);
  const kubeconfig = join(dir, 'controller.kubeconfig');
  writeKubeconfig(kubeconfig, { server: url, caFile, token: 'controller-token' });
  const controller = start(process.execPath, [relet, 'controller', `--kubeconfig=${kubeconfig}`]);
  await controller.line(/ controller /);
  return controller;
}

function deployObjects(parts) {
  const deploy = join(import.meta.dirname, '../../deploy');
  const rank = ({ kind }) => ['Namespace', 'CustomResourceDefinition'].indexOf(kind);
  return parts
    .flatMap((part) => readdirSync(join(deploy, part)).map((name) => join(deploy, part, name)))
    .filter((file) => !file.endsWith('kustomization.yaml'))
    .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind !== 'Deployment')
    .sort((a, b) => rank(b) - rank(a));
}

/** Returns the path to which objects of this kind are posted. */
function collectionOf({ apiVersion, kind, metadata: { namespace } }) {
  const plural = (kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`).toLowerCase();
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${base}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
}

export function writeKubeconfig(path, { server, caFile, token }) {
  const entry = (name, kind, value) => [{ name, [kind]: value }];
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entry('bench', 'cluster', { server, 'certificate-authority': caFile }),
    users: entry('bench', 'user', { token }),
    contexts: entry('bench', 'context', { cluster: 'bench', user: 'bench' }),
    'current-context': 'bench',
  };
  writeFileSync(path, JSON.stringify(document), { mode: 0o600 });
  return path;
}

/** Reads and writes the API, and watches the Node. */
export function administrator(url, caFile, options = {}) {
  const { token = 'admin-token', node = nodeName, reference = 'Node' } = options;
  const ca = readFileSync(caFile);
  const agent = new Agent({ keepAlive: true, ca });
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const send = (method, path, body, contentType = 'application/json') =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const more = text === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) };
      const sent = httpsRequest(url + path, { method, agent, headers: { ...headers, ...more } }, async (response) => {
        let answer = '';
        for await (const chunk of response.setEncoding('utf8')) answer += chunk;
        if (response.statusCode < 300) resolve(JSON.parse(answer));
        else
          reject(
            Object.assign(new Error(`${method} ${path}: ${response.statusCode} ${answer}`), {
              status: response.statusCode,
            }),
          );
      });
      sent.on('error', reject);
      sent.end(text);
    });
  const collection = reference === 'Node' ? '/api/v1/nodes' : '/apis/relet.dev/v1alpha1/nodeconfigs';
  const path = `${collection}/${node}`;
  const labels = reference === 'Node' ? {} : { 'relet.dev/kubelet-config': 'true' };
  const configMaps = '/api/v1/namespaces/kube-system/configmaps';
  return {
    send,
    create: (object) => send('POST', collectionOf(object), object),
    /** The Node, or its NodeConfig: whichever has the reference. */
    node: () => send('GET', path),
    configMap: (name, data, annotations = {}) =>
      send('POST', configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, annotations, labels }, data }),
    patchConfigMap: (name, patch) => send('PATCH', `${configMaps}/${name}`, patch, 'application/merge-patch+json'),
    deleteConfigMap: (name) => send('DELETE', `${configMaps}/${name}`),
    /** Null for local. */
    point: (name, kubeletConfigKey = 'kubelet') => {
      const source = name && { configMap: { namespace: 'kube-system', name, kubeletConfigKey } };
      const patch = [{ op: name ? 'add' : 'remove', path: '/spec/configSource', ...(name && { value: source }) }];
      return send('PATCH', path, patch, 'application/json-patch+json');
    },
    watchNode: () => watchNode(`${url}${collection}`, headers, ca, node),
  };
}

/** The newest Node of the watch; `until` resolves with the time at which a predicate became true. */
async function watchNode(collection, headers, ca, node) {
  const waiting = new Set();
  const seen = { node: undefined };
  const sent = httpsRequest(
    `${collection}?watch=true&fieldSelector=metadata.name%3D${node}`,
    { headers, agent: new Agent({ ca }) },
    (response) => {
      response.on('error', () => {});
      const lines = createInterface({ input: response });
      lines.on('error', () => {});
      lines.on('line', (line) => {
        // A NodeConfig has no status until somebody writes one.
        seen.node = { status: {}, ...JSON.parse(line).object };
        for (const look of waiting) look();
      });
    },
  );
  sent.on('error', () => {});
  sent.end();
  atEnd(() => sent.destroy());
  return {
    get config() {
      return seen.node?.status?.config ?? {};
    },
    get node() {
      return seen.node;
    },
    until: (what, satisfied, timeoutMs = 60_000) =>
      new Promise((resolve, reject) => {
        const end = (finish) => {
          clearTimeout(timer);
          waiting.delete(look);
          finish();
        };
        const look = () => seen.node !== undefined && satisfied(seen.node) && end(() => resolve(now()));
        const timer = setTimeout(
          () => end(() => reject(new Error(`stuck: ${what}: ${JSON.stringify(seen.node?.status?.config)}`))),
          timeoutMs,
        );
        waiting.add(look);
        look();
      }),
  };
}

/** A node's directory, ports and local config. */
export async function newNode(dir, kubeconfig) {
  mkdirSync(dir, { recursive: true });
  const [port, healthzPort] = [await freePort(), await freePort()];
  const config = (...lines) =>
    [
      'apiVersion: kubelet.config.k8s.io/v1beta1',
      'kind: KubeletConfiguration',
      'address: 127.0.0.1',
      `port: ${port}`,
      `healthzPort: ${healthzPort}`,
      'readOnlyPort: 0',
      ...lines,
      '',
    ].join('\n');
  const local = join(dir, 'local.yaml');
  writeFileSync(local, config());
  const kubeletFlags = [
    `--config=${local}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    `--root-dir=${join(dir, 'kubelet')}`,
    `--cert-dir=${join(dir, 'pki')}`,
  ];
  return { dir, dynamicDir: join(dir, 'dynamic'), config, healthzPort, kubeletFlags };
}

export function startRelet(node, ...flags) {
  return startNode(node, 'hollow', [...flags, ...node.kubeletFlags]);
}

export function startNode(node, kubelet, flags) {
  // A relet that ended badly leaves its kubelet running, as it must; the bench may not.
  atEnd(() => endChild(join(node.dynamicDir, 'meta', 'child')));
  return start(process.execPath, [
    relet,
    'kubelet',
    `--dynamic-config-dir=${node.dynamicDir}`,
    // The bench measures one change, not the limit on many of them.
    '--restart-interval=0s',
    `--kubelet-binary=${kubelet}`,
    '--metrics-bind-address=0',
    ...flags,
  ]);
}

function endChild(record) {
  try {
    process.kill(JSON.parse(readFileSync(record, 'utf8')).process.pid, 'SIGKILL');
  } catch {
    // No record, no process: as it should be.
  }
}

/** Resolves when it becomes true; an error counts as not yet. */
export async function until(what, isTrue, timeoutMs = 120_000) {
  const deadline = now() + timeoutMs;
  for (;;) {
    const answer = await isTrue().catch((error) => error);
    if (answer === true) return;
    if (now() > deadline) throw new Error(`stuck: ${what}`, { cause: answer });
    await sleep(100);
  }
}

/** Resolves when a kubelet answers on this port. */
export async function healthy(port) {
  for (;;) {
    const answered = await new Promise((resolve) => {
      const asked = get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      asked.once('error', () => resolve(false));
    });
    if (answered) return;
    await sleep(2);
  }
}

/** In MB, of one process without its children. */
export function memory(pid, proc = '/proc') {
  const rollup = readFileSync(`${proc}/${pid}/smaps_rollup`, 'utf8');
  const of = (field) => Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(rollup)[1]) / 1024;
  return { resident: of('Rss'), proportional: of('Pss'), anonymous: of('Anonymous') };
}

/** Processor time of all threads so far, in ms. */
export function cpuMs(pid, proc = '/proc') {
  const times = readdirSync(`${proc}/${pid}/task`).map((task) =>
    Number(readFileSync(`${proc}/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
  );
  return times.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

export function descriptors(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Processes below this one. */
export function descendants(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...descendants(child)]);
}

export function filesBelow(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

export const show = ({ resident, proportional, anonymous }) =>
  `resident ${resident.toFixed(1)} MB, PSS ${proportional.toFixed(1)} MB, anonymous ${anonymous.toFixed(1)} MB`;
