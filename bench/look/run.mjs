/**
 * The inventory and the audit of many nodes beside kubectl, in one run on one machine: all nodes have an agent's report, in four
 * pools with 25 distinct configs each. Run `npm run build` first, then `node bench/look/run.mjs [--nodes 5000]`.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as rig from '../agent/rig.mjs';
import { addNode, inParallel, startCluster } from '../cluster.mjs';

const count = Number(process.argv[process.argv.indexOf('--nodes') + 1]) || 5000;
const nodeConfigs = '/apis/relet.dev/v1alpha1/nodeconfigs';

async function addReport(admin, i) {
  const metadata = { name: `node-${i}`, labels: { pool: `pool-${i % 4}` } };
  await addNode(admin, metadata, { kubeletVersion: 'v1.36.4' });
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name: metadata.name } };
  await admin.send('POST', nodeConfigs, object);
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' } },
    clusterDNS: ['10.96.0.10'],
    maxPods: 110 + (i % 100),
  };
  const status = {
    observedGeneration: 1,
    config: {},
    localConfig: { files: [{ path: '/var/lib/kubelet/config.yaml', config }] },
    kubeletFlags: [{ name: 'node-ip', value: `10.0.${i % 4}.1` }],
  };
  await admin.send('PATCH', `${nodeConfigs}/${metadata.name}/status`, { status }, 'application/merge-patch+json');
}

/** Wall time, the most memory the process ever had, and its output. */
function measure([command, ...args], KUBECONFIG) {
  return new Promise((resolve, reject) => {
    const started = rig.now();
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, KUBECONFIG } });
    let peakKb = 0;
    const often = setInterval(() => {
      try {
        peakKb = Math.max(
          peakKb,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0),
        );
      } catch {
        // Gone already.
      }
    }, 5);
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.on('close', (status) => {
      clearInterval(often);
      if (status !== 0) reject(new Error(`${command} ${args.join(' ')}: ${status}`));
      else resolve({ ms: rig.now() - started, peakMb: peakKb / 1024, output });
    });
  });
}

await rig.bench(async () => {
  const { admin, kubeconfig } = await startCluster();
  await rig.applyDeploy(admin, ['base']);
  await inParallel(count, (i) => addReport(admin, i));
  const relet = [process.execPath, rig.relet];
  const programs = {
    'kubectl get nodes': ['kubectl', 'get', 'nodes'],
    'relet inventory': [...relet, 'inventory'],
    'relet audit': [...relet, 'audit', '--fail-on=none'],
  };
  const found = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  // In turns, so that a busy moment of the machine hits all alike; the first round warms the disk cache.
  for (let round = 0; round < 6; round++)
    for (const [name, command] of Object.entries(programs)) {
      const one = await measure(command, kubeconfig);
      if (name !== 'kubectl get nodes' && !one.output.startsWith(`${count} nodes`))
        throw new Error(`${name} did not read all nodes: ${one.output.slice(0, 300)}`);
      if (round > 0) found[name].push(one);
    }
  const base = rig.median(found['kubectl get nodes'].map(({ ms }) => ms));
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
  console.log(`node ${process.version}; load ${load}; ${count} nodes with reports of agents, median of 5:`);
  for (const [name, list] of Object.entries(found)) {
    const [ms, peakMb] = [rig.median(list.map((one) => one.ms)), Math.max(...list.map((one) => one.peakMb))];
    console.log(
      `  ${name.padEnd(18)} ${ms.toFixed(0).padStart(6)} ms   ${(ms / base).toFixed(2)} × kubectl   ${peakMb.toFixed(0).padStart(4)} MB`,
    );
  }
});
