/**
 * Measures the cost of relet on a node and the time of a change. Real processes: `relet apiserver`, `relet kubelet`, the hollow kubelet.
 * Run `npm run build` first, then `node bench/agent/run.mjs [--changes=1000] [--idle-seconds=30] [--starts=11] [--patches=21]`
 * and `--reference=NodeConfig` as on Kubernetes 1.26 and later, with deploy/ and `relet controller`. 0 leaves a part out. The 1,000 changes
 * alone: `node bench/agent/run.mjs --starts=0 --idle-seconds=0 --patches=0`. `--driver=systemd` compares a change in attached mode with a
 * bare `systemctl restart` and with the process driver: systemd.mjs. `--sampler-seconds=600 [--pods=110]` measures only the sampler of
 * the host: sampler.mjs.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { change, createStress } from './changes.mjs';
import { countRequests } from './count-requests.mjs';
import * as rig from './rig.mjs';
import { samplerBench } from './sampler.mjs';
import { systemdBench } from './systemd.mjs';

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '1000' },
    'idle-seconds': { type: 'string', default: '30' },
    starts: { type: 'string', default: '11' },
    patches: { type: 'string', default: '21' },
    reference: { type: 'string', default: 'Node' },
    driver: { type: 'string', default: 'process' },
    'sampler-seconds': { type: 'string' },
    pods: { type: 'string', default: '0' },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
const ms = (list) =>
  `${rig.median(list).toFixed(0)} ms (${Math.min(...list).toFixed(0)} to ${Math.max(...list).toFixed(0)})`;

/** From the start of relet to its word that the kubelet is started; without an API, as at boot. */
async function starts(dir, count) {
  const times = { first: [], again: [], cpu: [], bare: [] };
  for (let i = 0; i < count; i++) {
    const node = await rig.newNode(join(dir, `start-${i}`), '/nowhere/kubeconfig');
    for (const which of ['first', 'again']) {
      const running = rig.startRelet(node);
      const { at } = await running.line(/kubelet started/);
      if (which === 'again') times.cpu.push(rig.cpuMs(running.pid));
      times[which].push(at - running.startedAt);
      await running.stop();
    }
    const bare = rig.start(process.execPath, ['-e', '0']);
    await bare.exited;
    times.bare.push(rig.now() - bare.startedAt);
  }
  say(`start to child started: ${ms(times.again)} (want <= 150 ms); an empty node program: ${ms(times.bare)}`);
  say(`  of it CPU, which a busy machine does not stretch: ${ms(times.cpu)}`);
  say(`  the very first start, which runs the kubelet for its version and its validation: ${ms(times.first)}`);
}

async function idle(server, dir, seconds) {
  const counter = await countRequests(server);
  const kubeconfig = kubeconfigFor(join(dir, 'idle.kubeconfig'), server, counter.url);
  const node = await rig.newNode(join(dir, 'idle'), kubeconfig);
  const running = rig.startRelet(node, '--trial-duration=1s');
  const seen = await server.admin.watchNode();
  await seen.until('local active', isSettled);
  await server.admin.configMap('idle', { kubelet: node.config('maxPods: 77') });
  await server.admin.point('idle');
  await seen.until('last known good', ({ status }) => status.config?.lastKnownGood?.configMap.name === 'idle');
  await rig.sleep(5000);
  counter.counted.clear();
  const cpu = rig.cpuMs(running.pid);
  await rig.sleep(seconds * 1000);
  const used = rig.cpuMs(running.pid) - cpu;
  say(`idle: ${rig.show(rig.memory(running.pid))} (want <= 50 resident, <= 15 anonymous)`);
  say(`idle: ${((used / seconds / 1000) * 100).toFixed(3)} % CPU over ${seconds} s (want < 0.1 %)`);
  tellRequests(counter, seconds);
  await running.stop();
  await server.admin.point(null);
}

/** A watch ends after 5 to 10 minutes and is opened again, 8 times an hour; a short run sees none of it. */
function tellRequests({ counted, openWatches, watched }, seconds) {
  const seen = [...counted].map(([what, count]) => `${count} ${what}`).join(', ') || 'none';
  const others = [...counted].filter(([what]) => !what.startsWith('WATCH')).reduce((sum, [, count]) => sum + count, 0);
  const hourly = Math.round((others * 3600) / seconds) + openWatches() * 8;
  say(`idle: about ${hourly} API requests an hour: ${openWatches()} open watches; seen in ${seconds} s: ${seen}`);
  for (const watch of watched()) say(`  watch ${watch}`);
}

/** Registered, and relet has said its first word about it. */
const isSettled = ({ status }) => status.conditions?.some(({ type }) => type === 'ConfigOK') && !status.config?.active;

function kubeconfigFor(path, server, url = server.url) {
  return rig.writeKubeconfig(path, { server: url, caFile: join(server.pki, 'ca.crt'), token: 'node-token' });
}

/** PATCH to active, beside what the hollow kubelet alone needs to stop, start and answer. */
async function patches(server, dir, count) {
  const node = await rig.newNode(join(dir, 'patches'), kubeconfigFor(join(dir, 'patches.kubeconfig'), server));
  const own = await hollowRestarts(node, Math.ceil(count / 2));
  const running = rig.startRelet(node, '--trial-duration=1s');
  const seen = await server.admin.watchNode();
  await seen.until('local active', isSettled);
  for (const i of [0, 1]) await server.admin.configMap(`patch-${i}`, { kubelet: node.config(`maxPods: ${50 + i}`) });
  const times = [];
  for (let i = 0; i < count; i++) {
    const name = `patch-${i % 2}`;
    await rig.sleep(300);
    const patchedAt = rig.now();
    await server.admin.point(name);
    times.push((await seen.until(name, ({ status }) => status.config?.active?.configMap.name === name)) - patchedAt);
  }
  say(`PATCH to active, hollow kubelet: ${ms(times)}; the hollow kubelet's own restart: ${ms(own)}`);
  say(`  relet on top: ${(rig.median(times) - rig.median(own)).toFixed(0)} ms (want <= 150 ms)`);
  await running.stop();
  await server.admin.point(null);
}

async function hollowRestarts(node, count) {
  const startOne = async () => {
    const hollow = rig.start(process.execPath, [rig.relet, 'hollow-kubelet', ...node.kubeletFlags]);
    await rig.healthy(node.healthzPort);
    return hollow;
  };
  const times = [];
  let hollow = await startOne();
  for (let i = 0; i < count; i++) {
    await rig.sleep(200);
    const from = rig.now();
    await hollow.stop();
    hollow = await startOne();
    times.push(rig.now() - from);
  }
  await hollow.stop();
  return times;
}

async function changes(server, dir, count) {
  const node = await rig.newNode(join(dir, 'changes'), kubeconfigFor(join(dir, 'changes.kubeconfig'), server));
  const running = rig.startRelet(node, '--trial-duration=200ms');
  const seen = await server.admin.watchNode();
  const stress = createStress({ admin: server.admin, seen, config: node.config });
  await seen.until('local active', isSettled);
  const look = () => ({
    memory: rig.memory(running.pid),
    descriptors: rig.descriptors(running.pid),
    processes: rig.descendants(running.pid).length,
    files: rig.filesBelow(node.dynamicDir),
  });
  const printState = (when, { memory, descriptors, processes, files }) =>
    say(`${when}: ${rig.show(memory)}; ${descriptors} descriptors, ${processes} children, ${files} files`);
  for (let i = 0; i < Math.min(20, count); i++) await change(stress, i);
  await rig.sleep(5000);
  const before = look();
  printState('after 20 changes', before);
  const from = rig.now();
  for (let i = 20; i < count; i++) {
    await change(stress, i);
    if (i % 200 === 199) printState(`after ${i + 1} changes`, look());
  }
  const seconds = (rig.now() - from) / 1000;
  await rig.sleep(10_000);
  const after = look();
  printState(`after ${count} changes, idle again (want <= 60 resident)`, after);
  say(`none stuck, none lost; ${(seconds / (count - 20)).toFixed(2)} s each; ${JSON.stringify(stress.done)}`);
  // A few come and go with connections and checkpoints; what leaks grows with the changes.
  const leaks = ['descriptors', 'processes', 'files'].filter((what) => after[what] > before[what] + 8);
  if (after.memory.resident > before.memory.resident + 15) leaks.push('memory');
  if (leaks.length > 0) throw new Error(`leaks: ${leaks.join(', ')}`);
  await running.stop();
}

/** Also where the machine is quiet, ten of each show the median. */
const attachedCount = 10;

async function attached(dir) {
  const server = await rig.startServer(dir, values.reference);
  await systemdBench(server, dir, {
    kubeconfig: (path) => kubeconfigFor(path, server),
    count: attachedCount,
    idleSeconds: Number(values['idle-seconds']),
    ms,
    say,
    processDriver: () => patches(server, dir, attachedCount),
  });
}

await rig.bench(async () => {
  const sampled = values['sampler-seconds'];
  if (sampled !== undefined) return samplerBench(Number(sampled), Number(values.pods), say);
  const dir = rig.newDir();
  say(`node ${process.version}; the reference is in a ${values.reference}`);
  if (values.driver === 'systemd') return attached(dir);
  if (Number(values.starts) > 0) await starts(dir, Number(values.starts));
  const server = await rig.startServer(dir, values.reference);
  if (Number(values['idle-seconds']) > 0) await idle(server, dir, Number(values['idle-seconds']));
  if (Number(values.patches) > 0) await patches(server, dir, Number(values.patches));
  if (Number(values.changes) > 20) await changes(server, dir, Number(values.changes));
});
