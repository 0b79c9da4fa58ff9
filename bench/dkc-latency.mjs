/**
 * PATCH to status.config.active with real binaries, in one run: the kubelet's own dynamic configuration beside relet in front of the
 * same kubelet with that feature off, and what the kubelet alone needs to stop, start and answer.
 *
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.23 CONTAINER_RUNTIME_ENDPOINT=unix:///run/containerd/containerd.sock \
 *     node bench/dkc-latency.mjs [--rounds=30]
 *
 * KUBEBUILDER_ASSETS holds etcd, kube-apiserver and kubelet, 1.11 to 1.23. NODE_IP is an address of this machine outside 127/8;
 * by default the first one found. Needs root, as kubelets do. Everything else is made in a temporary directory and removed.
 */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as rig from './agent/rig.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '30' }, story: { type: 'boolean', default: false } },
});
const say = (text) => process.stdout.write(`${text}\n`);

/** Returns the settings that the run needs, or a list of the missing ones. */
function requirements({ KUBEBUILDER_ASSETS: assets = '', CONTAINER_RUNTIME_ENDPOINT: runtime = '', NODE_IP }) {
  const missing = [];
  for (const name of ['etcd', 'kube-apiserver', 'kubelet'])
    if (assets === '' || !existsSync(join(assets, name)))
      missing.push(`${name} in KUBEBUILDER_ASSETS (${assets || 'not set'})`);
  if (!runtime.startsWith('unix://') || !existsSync(runtime.slice('unix://'.length)))
    missing.push(`a container runtime: CONTAINER_RUNTIME_ENDPOINT=unix:///… (${runtime || 'not set'})`);
  const addresses = Object.values(networkInterfaces()).flat();
  const nodeIp = NODE_IP ?? addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  if (nodeIp === undefined) missing.push('an address outside 127/8: NODE_IP=…');
  if (process.getuid() !== 0) missing.push('root');
  const version = missing.length > 0 ? '' : versionOf(join(assets, 'kubelet'));
  const minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? 0);
  if (version !== '' && (minor < 11 || minor > 23))
    missing.push(`a kubelet with the feature, 1.11 to 1.23; this one is ${version}`);
  return { assets, runtime, nodeIp, version, minor, missing };
}

function versionOf(kubelet) {
  return /v\d+\.\d+\.\d+\S*/.exec(spawnSync(kubelet, ['--version'], { encoding: 'utf8' }).stdout)?.[0] ?? 'unknown';
}

const nodes = ['upstream', 'relet', 'plain'];

async function startControlPlane(dir, { assets, nodeIp, minor }) {
  const [client, peer, api] = [await rig.freePort(), await rig.freePort(), await rig.freePort()];
  const certs = join(dir, 'certs');
  mkdirSync(certs);
  const tokens = ['admin-token,admin,admin,system:masters'];
  for (const node of nodes) tokens.push(`${node}-token,system:node:${node},${node},system:nodes`);
  writeFileSync(join(dir, 'tokens.csv'), `${tokens.join('\n')}\n`, { mode: 0o600 });
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(certs, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(join(certs, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const etcd = `http://127.0.0.1:${client}`;
  rig.start(join(assets, 'etcd'), [
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
  ]);
  rig.start(join(assets, 'kube-apiserver'), [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    `--advertise-address=${nodeIp}`,
    `--secure-port=${api}`,
    `--cert-dir=${certs}`,
    `--token-auth-file=${join(dir, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-cluster-ip-range=10.96.0.0/24',
    '--endpoint-reconciler-type=none',
    `--service-account-key-file=${join(certs, 'sa.pub')}`,
    ...(minor < 20
      ? []
      : ['--service-account-issuer=https://relet.test', `--service-account-signing-key-file=${join(certs, 'sa.key')}`]),
    '--feature-gates=DynamicKubeletConfig=true',
  ]);
  const [url, caFile] = [`https://127.0.0.1:${api}`, join(certs, 'apiserver.crt')];
  await rig.until('kube-apiserver ready', async () => {
    if (!existsSync(caFile)) return false;
    await rig.administrator(url, caFile).send('GET', '/api/v1/namespaces/kube-system');
    return true;
  });
  return { url, caFile };
}

/** A kubelet that touches as little of the machine as it can. */
async function kubeletFor(name, dir, { url, caFile }, { runtime, nodeIp, minor }) {
  const home = join(dir, name);
  mkdirSync(home);
  // A kubelet mounts its root directory over itself and leaves it so.
  rig.atEnd(() => void spawnSync('umount', [join(home, 'root')]));
  const [port, healthzPort] = [await rig.freePort(), await rig.freePort()];
  const config = (eventRecordQPS = 5) =>
    [
      'apiVersion: kubelet.config.k8s.io/v1beta1',
      'kind: KubeletConfiguration',
      `address: ${nodeIp}`,
      `port: ${port}`,
      `healthzPort: ${healthzPort}`,
      'readOnlyPort: 0',
      'cgroupDriver: cgroupfs',
      'cgroupsPerQOS: false',
      'enforceNodeAllocatable: []',
      'failSwapOn: false',
      'makeIPTablesUtilChains: false',
      'evictionHard: {memory.available: 1Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}',
      `eventRecordQPS: ${eventRecordQPS}`,
      '',
    ].join('\n');
  const local = join(home, 'local.yaml');
  writeFileSync(local, config());
  const kubeconfig = rig.writeKubeconfig(join(home, 'kubeconfig'), { server: url, caFile, token: `${name}-token` });
  const flags = [
    `--config=${local}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${name}`,
    `--node-ip=${nodeIp}`,
    `--root-dir=${join(home, 'root')}`,
    `--cert-dir=${join(home, 'pki')}`,
    ...(minor < 24 ? ['--container-runtime=remote'] : []),
    `--container-runtime-endpoint=${runtime}`,
    '--v=1',
  ];
  return { name, dynamicDir: join(home, 'dynamic'), healthzPort, config, flags };
}

/** Started again whenever it ends, as a service manager would without a pause. */
function keepRunning(kubelet, args) {
  void rig.start(kubelet, args).exited.then(() => rig.isEnding() || keepRunning(kubelet, args));
}

/** Sends a PATCH and waits until the Node says that this config is active. In ms. */
async function changeOf({ name, config, admin, seen }, configMap, qps) {
  const [{ metadata }] = [
    await admin.configMap(configMap, { kubelet: config(qps) }).catch((error) => {
      if (error.status !== 409) throw error;
      return { metadata: { name: configMap } };
    }),
  ];
  const from = rig.now();
  await admin.point(metadata.name);
  const at = await seen.until(
    `${name} runs ${configMap}`,
    ({ status }) => status.config?.active?.configMap?.name === metadata.name,
    120_000,
  );
  return at - from;
}

async function restartOf(kubelet, plain) {
  const from = rig.now();
  await plain.running.stop();
  plain.running = rig.start(kubelet, plain.flags);
  await rig.healthy(plain.healthzPort);
  return rig.now() - from;
}

async function settle(node, api) {
  node.admin = rig.administrator(api.url, api.caFile, { node: node.name });
  node.seen = await node.admin.watchNode();
  const isReady = ({ type, status }) => type === 'Ready' && status === 'True';
  await node.seen.until(`${node.name} Ready`, ({ status }) => status.conditions?.some(isReady), 120_000);
}

/** Prints the log lines of relet during the change that just ended, each with its time after the PATCH. */
function printLog({ lines }, tookMs) {
  const from = rig.now() - tookMs;
  say(`  active after ${tookMs.toFixed(0)} ms`);
  for (const { text, at } of lines)
    if (at >= from && /^\d{4}-/.test(text)) say(`  ${(at - from).toFixed(0).padStart(5)} ms  ${text.slice(25, 110)}`);
}

function printTimes(name, list, base) {
  const mid = rig.median(list);
  const range = `${(Math.min(...list) / 1000).toFixed(2)} to ${(Math.max(...list) / 1000).toFixed(2)} s`;
  const beside =
    base === undefined ? '' : `   ${(mid / base).toFixed(2)} × its own restart, ${(mid - base).toFixed(0)} ms more`;
  say(`${name.padEnd(46)} median ${(mid / 1000).toFixed(2)} s (${range}, ${list.length})${beside}`);
}

async function main(around) {
  const dir = rig.newDir();
  const kubelet = join(around.assets, 'kubelet');
  const api = await startControlPlane(dir, around);
  const [upstream, relet, plain] = await Promise.all(nodes.map((name) => kubeletFor(name, dir, api, around)));
  const dynamic = ['--feature-gates=DynamicKubeletConfig=true', `--dynamic-config-dir=${upstream.dynamicDir}`];
  keepRunning(kubelet, [...upstream.flags, ...dynamic]);
  const running = rig.startNode(relet, kubelet, relet.flags);
  plain.running = rig.start(kubelet, plain.flags);
  for (const node of [upstream, relet, plain]) await settle(node, api);
  const times = { upstream: [], fresh: [], known: [], restart: [] };
  for (let round = 0; round < Number(values.rounds); round++) {
    times.restart.push(await restartOf(kubelet, plain));
    times.fresh.push(await changeOf(relet, `relet-${round}`, 10 + round));
    if (values.story) printLog(running, times.fresh.at(-1));
    await rig.sleep(1000);
    // Two that are assigned in turn: from the second time on both were validated before.
    const known = await changeOf(relet, `relet-known-${round % 2}`, 6 + (round % 2));
    if (values.story) printLog(running, known);
    if (round > 1) times.known.push(known);
    // The kubelet looks every 10 s; a random pause keeps us from always hitting the same moment of it.
    await rig.sleep(1000 + Math.random() * 9000);
    times.upstream.push(await changeOf(upstream, `upstream-${round}`, 10 + round));
  }
  const own = rig.median(times.restart);
  say(`kubelet ${around.version}, node ${process.version}; PATCH to status.config.active:`);
  printTimes("the kubelet's own restart, stop to healthy", times.restart);
  printTimes("the kubelet's own dynamic configuration", times.upstream, own);
  printTimes('relet, a config never seen before', times.fresh, own);
  if (times.known.length > 0) printTimes('relet, a config validated before', times.known, own);
  say(`relet after ${2 * Number(values.rounds)} changes: ${rig.show(rig.memory(running.pid))}`);
  say(
    `relet takes ${(rig.median(times.fresh) / rig.median(times.upstream)).toFixed(2)} of upstream's time; want own restart + 150 ms`,
  );
}

const around = requirements(process.env);
if (around.missing.length > 0) {
  process.stderr.write(`NOT MEASURED. Missing:\n${around.missing.map((what) => `  - ${what}\n`).join('')}`);
  process.exit(2);
}
await rig.bench(() => main(around));
