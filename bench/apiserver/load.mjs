/** The load: requests over kept connections and watches on connections of their own, as kubelets and kubectl make them. */
import { Agent, request } from 'node:https';
import { performance } from 'node:perf_hooks';

const authorization = 'Bearer bench-token';
let sequence = 0;

export const nodeName = (at) => `bench-${at}`;

/** A node as a kubelet reports it, about 2 kB. */
export function node(at) {
  const name = nodeName(at);
  const time = '2026-01-01T00:00:00Z';
  const condition = (type) => ({
    type,
    status: type === 'Ready' ? 'True' : 'False',
    reason: 'KubeletReady',
    message: 'kubelet is posting ready status',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': `z${at % 3}` } },
    status: {
      capacity: { cpu: '8', memory: '32Gi', pods: '110' },
      allocatable: { cpu: '8', memory: '31Gi', pods: '110' },
      addresses: [{ type: 'Hostname', address: name }],
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map(condition),
      nodeInfo: {
        machineID: '5b1c3d2e4f5a46c2b1a09f8e7d6c5b4a',
        systemUUID: '5b1c3d2e-4f5a-46c2-b1a0-9f8e7d6c5b4a',
        bootID: 'a1b2c3d4-e5f6-4711-8899-aabbccddeeff',
        kernelVersion: '6.1.0',
        osImage: 'Debian GNU/Linux 12 (bookworm)',
        containerRuntimeVersion: 'containerd://1.7.2',
        kubeletVersion: 'v1.23.17',
        kubeProxyVersion: 'v1.23.17',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  };
}

export class Load {
  constructor(server) {
    this.target = { port: server.port, ca: server.ca(), checkServerIdentity: () => undefined };
    this.agent = new Agent({ ...this.target, keepAlive: true, maxSockets: 50 });
  }

  call(method, path, body, contentType = 'application/json') {
    return new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : JSON.stringify(body);
      const headers = { authorization, accept: 'application/json' };
      if (bytes !== undefined) {
        headers['content-type'] = contentType;
        headers['content-length'] = Buffer.byteLength(bytes);
      }
      const call = request({ ...this.target, agent: this.agent, method, path, headers }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode < 300) resolve(text);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 300)}`));
        });
      });
      call.on('error', reject);
      call.end(bytes);
    });
  }

  /** Every patch carries a value never used before, so that none is a no-op. Returns that value. */
  async patchNode(at) {
    const mark = `mark-${sequence++}`;
    await this.patchWith(at, mark);
    return mark;
  }

  patchWith(at, mark) {
    const body = { metadata: { annotations: { 'bench/mark': mark } } };
    return this.call('PATCH', `/api/v1/nodes/${nodeName(at)}`, body, 'application/merge-patch+json');
  }

  nextMark() {
    return `mark-${sequence++}`;
  }

  /** `count` calls, so many at a time. */
  async measure(count, concurrency, act) {
    const latencies = [];
    let next = 0;
    const started = performance.now();
    const worker = async () => {
      while (next < count) {
        const at = next++;
        const before = performance.now();
        await act(at);
        latencies.push(performance.now() - before);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    const seconds = (performance.now() - started) / 1000;
    latencies.sort((a, b) => a - b);
    return {
      perSecond: count / seconds,
      p50: latencies[Math.floor(count * 0.5)],
      p99: latencies[Math.floor(count * 0.99)],
    };
  }

  /** One watch on a connection of its own; `onEvent` gets each line. */
  watch(path, onEvent) {
    return new Promise((resolve, reject) => {
      const call = request({ ...this.target, agent: false, path, headers: { authorization } }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`watch: ${response.statusCode}`));
        let rest = '';
        response.setEncoding('utf8');
        response.on('error', () => {});
        response.on('data', (chunk) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop();
          for (const line of lines) onEvent(line);
        });
        resolve(() => call.destroy());
      });
      call.on('error', reject);
      call.end();
    });
  }

  async openWatches(count, pathOf, onEvent) {
    const closers = [];
    await this.measure(count, 20, async (at) =>
      closers.push(await this.watch(pathOf(at), (line) => onEvent(at, line))),
    );
    return () => {
      for (const close of closers) close();
    };
  }

  async revision() {
    return JSON.parse(await this.call('GET', '/api/v1/nodes?limit=1')).metadata.resourceVersion;
  }

  close() {
    this.agent.destroy();
  }
}
