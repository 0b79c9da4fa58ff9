/**
 * A rollout of a NodeConfigSet to many nodes: time beside the bound that restart, trial and maxInTrial give, API writes a node, CPU and
 * memory of the controller. API server and controller are processes; the agents are relet's own on the fake driver, many in each of
 * two processes (agents.mjs), in real time. Run `npm run build` first, then
 *
 *   node bench/fleet/run.mjs [--nodes=500,5000] [--trial=10] [--in-trial=5%] [--boots=100]    relet's own server
 *   KUBEBUILDER_ASSETS=/opt/k8s-1.32 node bench/fleet/run.mjs --server=kubernetes
 *
 * Against relet's own server each agent has two connections: 15,000 need `ulimit -n 40000`.
 */
import { fork } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as rig from '../agent/rig.mjs';
import { residentMB } from '../apiserver/servers.mjs';
import { addNode, inParallel, revision, startCluster, token } from '../cluster.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '500,5000' },
    trial: { type: 'string', default: '10' },
    'in-trial': { type: 'string', default: '5%' },
    server: { type: 'string', default: 'relet' },
    boots: { type: 'string', default: '100' },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
const api = '/apis/relet.dev/v1alpha1';
const trialMs = Number(values.trial) * 1000;
/** Time from the restart of a kubelet until it is healthy. Its heartbeat has whole seconds, and there is no Lease beside it. */
const restartMs = 1000;

const nodeNameOf = (i) => `fleet-${String(i).padStart(5, '0')}`;

/** Until nothing was written for 3 s. */
async function quiet(admin) {
  for (let last = { revision: -1, at: 0 }; ; await rig.sleep(200)) {
    const current = await revision(admin);
    if (current !== last.revision) last = { revision: current, at: rig.now() };
    else if (rig.now() - last.at > 3000) return current;
  }
}

async function untilComplete(admin) {
  for (; ; await rig.sleep(250)) {
    const { status = {} } = await admin.send('GET', `${api}/nodeconfigsets/fleet`);
    const present = status.conditions?.find(
      ({ type, status }) => status === 'True' && ['Ready', 'Stalled'].includes(type),
    );
    if (present?.reason === 'RolloutComplete') return status;
    if (present !== undefined) throw new Error(`${present.reason}: ${present.message}`);
  }
}

const root = join(import.meta.dirname, '../..');

/** The agents as one module: the simulation's node, which has the real agent in front of the fake driver. */
async function buildAgents() {
  const { build } = await import('esbuild');
  const dir = join(root, 'node_modules/.cache/bench-fleet');
  mkdirSync(dir, { recursive: true });
  const outfile = join(dir, 'node.mjs');
  const contents = `export { SimulatedNode } from './src/rehearsal/simulation/node.js';
export { seededRandom } from './src/rehearsal/simulation/seeded-random.js';
export { systemClock } from './src/clock.js';`;
  const banner = { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" };
  const target = { platform: 'node', format: 'esm', target: 'node20' };
  await build({ stdin: { contents, resolveDir: root }, bundle: true, outfile, banner, logLevel: 'warning', ...target });
  return outfile;
}

/** In two processes; resolves when all have started. */
async function startAgents(options, names) {
  const half = Math.ceil(names.length / 2);
  const processes = [names.slice(0, half), names.slice(half)].map((own) => {
    const child = fork(join(import.meta.dirname, 'agents.mjs'), { execArgv: ['--max-old-space-size=8000'] });
    rig.atEnd(() => child.kill('SIGKILL'));
    const booted = new Promise((resolve) =>
      child.on('message', (message) => message.booted === own.length && resolve()),
    );
    child.send({ ...options, names: own });
    return { child, booted };
  });
  await Promise.all(processes.map(({ booted }) => booted));
  const ask = ({ child }) =>
    new Promise((resolve) => {
      const listen = (message) => {
        if (message.sent === undefined) return;
        child.off('message', listen);
        resolve(message);
      };
      child.on('message', listen);
      child.send('sent');
    });
  return {
    async counts() {
      const answers = await Promise.all(processes.map(ask));
      const sum = (of) => answers.reduce((total, answer) => total + of(answer), 0);
      return {
        reads: sum(({ sent }) => sent.reads),
        watches: sum(({ sent }) => sent.watches),
        writes: sum(({ sent }) => sent.writes),
        heartbeats: sum(({ sent }) => sent.heartbeats),
        cpuMs: sum(({ cpu }) => (cpu.user + cpu.system) / 1000),
        problems: answers.flatMap(({ problems }) => problems),
      };
    },
    residentMB: () => processes.reduce((total, { child }) => total + rig.memory(child.pid).resident, 0),
    stop: () => processes.map(({ child }) => child.kill('SIGKILL')),
  };
}

async function measure(bundle, count) {
  const { server, url, caFile, admin, kubeconfig } = await startCluster(values.server);
  await inParallel(count, (i) => addNode(admin, { name: nodeNameOf(i), labels: { pool: 'fleet' } }));
  await rig.applyDeploy(admin);
  const controller = rig.start(process.execPath, [
    rig.relet,
    'controller',
    `--kubeconfig=${kubeconfig}`,
    '--guards=policy',
  ]);
  while ((await admin.send('GET', `${api}/nodeconfigs?limit=1`)).items.length === 0) await rig.sleep(100);
  await quiet(admin);
  const isHttp2 = values.server === 'kubernetes';
  const names = Array.from({ length: count }, (_, i) => nodeNameOf(i));
  const bootsASecond = Number(values.boots) / 2;
  const agents = await startAgents({ bundle, url, caFile, token, isHttp2, trialMs, restartMs, bootsASecond }, names);
  await quiet(admin);
  const first = await agents.counts();
  const before = { revision: await revision(admin), cpuMs: rig.cpuMs(controller.pid) };
  const share = values['in-trial'].endsWith('%')
    ? (count * Number.parseInt(values['in-trial'], 10)) / 100
    : values['in-trial'];
  const inTrial = Math.max(1, Math.floor(share));
  const from = rig.now();
  await admin.create({
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'fleet' },
    spec: {
      selector: { matchLabels: { pool: 'fleet' } },
      config: { overlay: { maxPods: 150 } },
      strategy: { waves: [{ nodes: '100%' }], maxUnavailable: values['in-trial'], maxInTrial: values['in-trial'] },
    },
  });
  const status = await untilComplete(admin);
  const seconds = (rig.now() - from) / 1000;
  const bound = (Math.ceil(count / inTrial) * (restartMs + trialMs)) / 1000;
  const after = await agents.counts();
  const of = (kind) => (after[kind] - first[kind]) / count;
  const writes = (await revision(admin)) - before.revision - (after.heartbeats - first.heartbeats);
  const cpu = (rig.cpuMs(controller.pid) - before.cpuMs) / 1000;
  say(
    `\n${count} nodes, ${inTrial} in trial, trials of ${values.trial} s: ${seconds.toFixed(1)} s, ${status.updatedNodes} updated`,
  );
  say(`  ${(seconds / bound).toFixed(2)} x the bound of ${bound.toFixed(1)} s`);
  say(
    `  ${(writes / count).toFixed(2)} writes a node, of which agents ${of('writes').toFixed(2)}; agents read ${of('reads').toFixed(1)} times a node and open ${of('watches').toFixed(1)} watches`,
  );
  say(
    `  controller: ${(cpu / seconds).toFixed(2)} cores, ${((cpu * 1000) / count).toFixed(1)} ms of CPU a node, ${rig.memory(controller.pid).resident.toFixed(0)} MB`,
  );
  say(
    `  agents: ${(of('cpuMs') * (count / seconds / 1000)).toFixed(2)} cores, ${agents.residentMB().toFixed(0)} MB; server: ${residentMB(server).toFixed(0)} MB`,
  );
  for (const [problem, times] of after.problems) say(`  ${times} x ${problem}`);
  agents.stop();
  await controller.stop();
  await server.stop();
}

await rig.bench(async () => {
  say(`node ${process.version}, ${values.server}; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`);
  const bundle = await buildAgents();
  for (const count of values.nodes.split(',').map(Number)) await measure(bundle, count);
});
