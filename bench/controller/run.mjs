/**
 * Measures the cost of a role for each node (`relet controller --guards=roles`), beside admission policies: objects, bytes, writes, time,
 * memory, and what a node waits for its own NodeConfig. Run `npm run build` first, then
 *
 *   node bench/controller/run.mjs [--nodes=100,1000,5000] [--guards=roles,policy]          relet's own server
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.23 node bench/controller/run.mjs --server=kubernetes --guards=roles
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import * as rig from '../agent/rig.mjs';
import { residentMB } from '../apiserver/servers.mjs';
import { inParallel, revision, startCluster } from '../cluster.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100,1000,5000' },
    guards: { type: 'string', default: 'roles,policy' },
    server: { type: 'string', default: 'relet' },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
const ofTheNode = 'labelSelector=relet.dev%2Fnode-role';
const kinds = {
  NodeConfigs: '/apis/relet.dev/v1alpha1/nodeconfigs?',
  ClusterRoles: `/apis/rbac.authorization.k8s.io/v1/clusterroles?${ofTheNode}`,
  ClusterRoleBindings: `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?${ofTheNode}`,
};

const nodeNameOf = (i) => `bench-node-${String(i).padStart(5, '0')}`;

/**
 * Resolves with the moment of the last write, when all are guarded and nothing was written for 3 s. The revision is cheap to ask
 * for; 5,000 objects are not, and asking would be measured.
 */
async function untilDone(admin, count) {
  for (let last = { revision: await revision(admin), at: rig.now() }; ; await rig.sleep(200)) {
    const current = await revision(admin);
    if (current !== last.revision) last = { revision: current, at: rig.now() };
    else if (rig.now() - last.at > 3000 && (await isGuarded(admin, count))) return last.at;
  }
}

async function isGuarded(admin, count) {
  const { items } = await admin.send('GET', kinds.NodeConfigs);
  const guarded = ({ status }) =>
    status?.conditions?.some(({ type, status }) => type === 'Guarded' && status === 'True');
  return items.length === count && items.every(guarded);
}

/** How long a node waits for what it asks for, one request after the other. */
async function asNode(url, caFile) {
  const node = rig.administrator(url, caFile, { token: 'bench-node-token' });
  const path = `/apis/relet.dev/v1alpha1/nodeconfigs/${nodeNameOf(0)}`;
  const times = { read: [], write: [] };
  for (let i = 0; i < 120; i++) {
    const [asked, found] = [rig.now(), await node.send('GET', path)];
    times.read.push(rig.now() - asked);
    const wrote = rig.now();
    const config = { lastKnownGood: undefined };
    await node.send('PUT', `${path}/status`, { ...found, status: { ...found.status, config } });
    times.write.push(rig.now() - wrote);
  }
  return { read: rig.median(times.read), write: rig.median(times.write) };
}

async function measure(count, guards) {
  const { server, url, caFile, admin, kubeconfig } = await startCluster(values.server);
  await inParallel(count, (i) =>
    admin.send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeNameOf(i) } }),
  );
  await rig.applyDeploy(admin, guards === 'policy' ? ['base', 'guards'] : ['base']);
  const before = { revision: await revision(admin), memory: residentMB(server) };
  const from = rig.now();
  const controller = rig.start(process.execPath, [
    ...[rig.relet, 'controller', `--kubeconfig=${kubeconfig}`, `--guards=${guards}`],
  ]);
  const seconds = ((await untilDone(admin, count)) - from) / 1000;
  const writes = (await revision(admin)) - before.revision;
  const cpuSeconds = rig.cpuMs(controller.pid) / 1000;
  say(`\n${count} nodes, --guards=${guards}: guarded after ${seconds.toFixed(1)} s`);
  say(
    `  ${writes} writes, ${(writes / seconds).toFixed(0)} a second; controller: ${cpuSeconds.toFixed(1)} s CPU, ${rig.memory(controller.pid).resident.toFixed(0)} MB`,
  );
  for (const [name, path] of Object.entries(kinds)) await tellBytes(admin, name, path);
  say(`  server: ${before.memory.toFixed(0)} MB before, ${residentMB(server).toFixed(0)} MB after`);
  const { read, write } = await asNode(url, caFile);
  say(`  a node reads its NodeConfig in ${read.toFixed(1)} ms, writes its status in ${write.toFixed(1)} ms (medians)`);
  await controller.stop();
  await server.stop();
}

async function tellBytes(admin, name, path) {
  const { items } = await admin.send('GET', path);
  const bytes = Buffer.byteLength(JSON.stringify(items));
  say(`  ${items.length} ${name}, ${(bytes / 1024).toFixed(0)} kB of JSON`);
}

await rig.bench(async () => {
  say(`node ${process.version}, ${values.server}; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`);
  for (const count of values.nodes.split(',').map(Number))
    for (const guards of values.guards.split(',')) await measure(count, guards);
});
