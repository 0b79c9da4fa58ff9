/**
 * The command line beside kubectl, in one run on one machine: how fast help is there, and how 5,000 nodes are listed.
 * Run `npm run build` first, then `node bench/cli/run.mjs [--nodes 5000]`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const relet = join(import.meta.dirname, '../../bin/relet.cjs');
const count = Number(process.argv[process.argv.indexOf('--nodes') + 1]) || 5000;
// NODE_EXTRA_CA_CERTS makes Node 20 read all certificates at every start, so it is unset.
const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

function coldStart(command, args) {
  const started = performance.now();
  const { status, error } = spawnSync(command, args, { stdio: 'ignore', env });
  if (error !== undefined || status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? status}`);
  return performance.now() - started;
}

function helpTimes() {
  const programs = {
    'kubectl get --help': ['kubectl', ['get', '--help']],
    'relet get --help': [process.execPath, [relet, 'get', '--help']],
    'relet set --help': [process.execPath, [relet, 'set', '--help']],
    'relet --help': [process.execPath, [relet, '--help']],
  };
  const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  // Turn about, so that a busy moment of the machine hits all alike; the first round warms the disk cache.
  for (let round = 0; round < 22; round++)
    for (const [name, [command, args]] of Object.entries(programs)) {
      const ms = coldStart(command, args);
      if (round > 0) times[name].push(ms);
    }
  const base = median(times['kubectl get --help']);
  console.log('cold start, median of 21:');
  for (const [name, list] of Object.entries(times)) {
    const ms = median(list);
    console.log(
      `  ${name.padEnd(22)} ${ms.toFixed(1).padStart(6)} ms   ${(ms / base).toFixed(2)} × kubectl get --help`,
    );
  }
}

/** As large as a real one: some 10 KB, most of it names of images. */
function nodeObject(index) {
  const name = `node-${String(index).padStart(5, '0')}`;
  const configMap = { namespace: 'kube-system', name: 'kubelet-config-5t8b9kd2m4', kubeletConfigKey: 'kubelet' };
  const exact = { configMap: { ...configMap, uid: '6a3c1a36-33d6-4b0f-8b2f-3f8f7e7a2b10', resourceVersion: '1234' } };
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready', 'ConfigOK'].map((type) => ({
    type,
    status: type === 'Ready' || type === 'ConfigOK' ? 'True' : 'False',
    reason: `Kubelet${type}`,
    message: `kubelet is posting ${type} status, as it does again and again`,
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }));
  const images = Array.from({ length: 40 }, (_, at) => ({
    names: [
      `registry.example.com/team-${at}/service@sha256:${'0123456789abcdef'.repeat(4)}`,
      `registry.example.com/team-${at}/service:v1.${at}.0`,
    ],
    sizeBytes: 50_000_000 + at,
  }));
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'node.kubernetes.io/instance-type': 'm5.large', pool: `p${index % 7}` },
    },
    spec: { configSource: { configMap } },
    status: {
      addresses: [{ type: 'InternalIP', address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` }],
      capacity: { cpu: '8', memory: '32Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '7800m', memory: '30Gi', pods: '110', 'ephemeral-storage': '90Gi' },
      conditions,
      images,
      nodeInfo: {
        kubeletVersion: 'v1.32.1',
        osImage: 'Debian GNU/Linux 12',
        kernelVersion: '6.1.0',
        architecture: 'amd64',
        bootID: 'x',
        containerRuntimeVersion: 'containerd://1.7',
        kubeProxyVersion: '',
        machineID: 'x',
        operatingSystem: 'linux',
        systemUUID: 'x',
      },
      config: { assigned: exact, active: exact, lastKnownGood: exact },
    },
  };
}

async function startServer(dir) {
  const child = spawn(process.execPath, [relet, 'apiserver', '--data-dir', dir, '--port', '0', '--storage', 'memory'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env,
  });
  let output = '';
  await new Promise((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`the API server ended with ${code}`)));
    child.stdout.on('data', (text) => {
      output += text;
      if (/^ready$/m.test(output)) resolve();
    });
  });
  return { child, url: /^url: (.*)$/m.exec(output)[1], kubeconfig: /^kubeconfig: (.*)$/m.exec(output)[1] };
}

function adminAgent(kubeconfig) {
  const text = readFileSync(kubeconfig, 'utf8');
  const data = (field) => Buffer.from(new RegExp(`${field}-data: (\\S+)`).exec(text)[1], 'base64').toString();
  return new Agent({
    keepAlive: true,
    maxSockets: 16,
    ca: data('certificate-authority'),
    cert: data('client-certificate'),
    key: data('client-key'),
  });
}

function post(url, agent, object) {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/api/v1/nodes`,
      { method: 'POST', agent, headers: { 'content-type': 'application/json' } },
      (answer) => {
        answer
          .resume()
          .on('end', () => (answer.statusCode === 201 ? resolve() : reject(new Error(`POST ${answer.statusCode}`))));
      },
    );
    sent.on('error', reject).end(JSON.stringify(object));
  });
}

async function fill(url, agent) {
  let next = 0;
  const worker = async () => {
    while (next < count) await post(url, agent, nodeObject(next++));
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Wall time, CPU time in steps of 10 ms, and the most memory the process ever had. */
function measure(command, args, more) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...env, ...more } });
    let lines = 0;
    let peakKb = 0;
    let cpuMs = 0;
    const look = () => {
      try {
        const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
        cpuMs = (Number(fields[11]) + Number(fields[12])) * 10;
        peakKb = Math.max(
          peakKb,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0),
        );
      } catch {
        // Gone already.
      }
    };
    const often = setInterval(look, 5);
    child.stdout.on('data', (chunk) => {
      look();
      for (const byte of chunk) if (byte === 10) lines++;
    });
    child.on('close', (status) => {
      clearInterval(often);
      if (status !== 0) reject(new Error(`${command} ${args.join(' ')}: ${status}`));
      else resolve({ ms: performance.now() - started, cpuMs, peakMb: peakKb / 1024, lines });
    });
  });
}

async function listTimes() {
  const dir = mkdtempSync(join(tmpdir(), 'relet-bench-cli-'));
  const { child, url, kubeconfig } = await startServer(dir);
  const agent = adminAgent(kubeconfig);
  try {
    await fill(url, agent);
    const programs = {
      'kubectl get nodes': ['kubectl', ['get', 'nodes']],
      'kubectl get nodes -o wide': ['kubectl', ['get', 'nodes', '-o', 'wide']],
      'relet get': [process.execPath, [relet, 'get']],
      'relet get -o json': [process.execPath, [relet, 'get', '-o', 'json']],
    };
    const found = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
    for (let round = 0; round < 6; round++)
      for (const [name, [command, args]] of Object.entries(programs)) {
        const one = await measure(command, args, { KUBECONFIG: kubeconfig });
        if (round > 0) found[name].push(one);
      }
    console.log(
      `\n${count} nodes of ${JSON.stringify(nodeObject(0)).length} bytes on relet's own server, median of 5 (want: relet get ≤ 110 MB, no slower than kubectl get nodes):`,
    );
    const base = found['kubectl get nodes'];
    for (const [name, list] of Object.entries(found)) {
      const of = (field, runs = list) => median(runs.map((one) => one[field]));
      const timesText = (field) => `${(of(field) / of(field, base)).toFixed(2)} ×`;
      const peakMb = Math.max(...list.map((one) => one.peakMb));
      console.log(
        `  ${name.padEnd(28)} ${of('ms').toFixed(0).padStart(6)} ms ${timesText('ms')}   CPU ${of('cpuMs')} ms ${timesText('cpuMs')}   ${peakMb.toFixed(0).padStart(4)} MB   ${list[0].lines} lines`,
      );
    }
  } finally {
    agent.destroy();
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
    rmSync(dir, { recursive: true, force: true });
  }
}

helpTimes();
await listTimes();
