/**
 * The server of the dashboard with a large fleet and one session: memory, time until all rows are there, and changes a second that reach
 * a tab. Run `npm run build` first, then
 *
 *   node bench/dashboard/server.mjs [--nodes=15000] [--updates=500] [--seconds=30]
 */
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { parseArgs } from 'node:util';
import * as rig from '../agent/rig.mjs';
import { inParallel, startCluster } from '../cluster.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '15000' },
    updates: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '30' },
  },
});
const [count, perSecond, seconds] = [values.nodes, values.updates, values.seconds].map(Number);
const say = (text) => process.stdout.write(`${text}\n`);
const nameOf = (i) => `bench-node-${String(i).padStart(5, '0')}`;
const configs = '/apis/relet.dev/v1alpha1/nodeconfigs';
const mergePatch = 'application/merge-patch+json';

const condition = (type, status) => ({
  type,
  status,
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
  lastHeartbeatTime: '2026-03-01T12:00:00Z',
  lastTransitionTime: '2026-03-01T12:00:00Z',
});

/** As large as a real one: 11 labels, 5 conditions, 20 images. */
function nodeOf(i) {
  const labels = {
    pool: `pool-${i % 12}`,
    'topology.kubernetes.io/zone': `zone-${i % 6}`,
    'kubernetes.io/hostname': nameOf(i),
  };
  for (let at = 0; at < 8; at++) labels[`example.com/label-${at}`] = `value-${i % 50}`;
  const images = Array.from({ length: 20 }, (_, at) => ({
    names: [
      `registry.example/team/image-${at}@sha256:${'ab'.repeat(32)}`,
      `registry.example/team/image-${at}:v1.2.${at}`,
    ],
    sizeBytes: 1e8 + at,
  }));
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'].map((type) =>
    condition(type, 'False'),
  );
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nameOf(i), labels },
    status: {
      conditions: [...conditions, condition('Ready', 'True')],
      nodeInfo: { kubeletVersion: `v1.3${2 + (i % 3)}.1` },
      images,
    },
  };
}

const sourceOf = (i) => ({
  configMap: { namespace: 'relet-system', name: `kubelet-config-${i % 40}`, kubeletConfigKey: 'kubelet' },
});

function nodeConfigOf(i) {
  const entry = (revision) => ({
    revision,
    at: '2026-03-01T12:00:00Z',
    by: `set/pool-${i % 12}`,
    verb: 'rollout',
    from: 'local',
    to: `relet-system/kubelet-config-${i % 40}/kubelet`,
  });
  const claim = {
    set: `pool-${i % 12}`,
    revision: 'r1',
    source: entry(1).to,
    wave: 1 + (i % 4),
    at: entry(1).at,
    previous: 'local',
  };
  const annotations = {
    'relet.dev/history': JSON.stringify([entry(3), entry(2), entry(1)]),
    'relet.dev/claim': JSON.stringify(claim),
  };
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name: nameOf(i), annotations },
    spec: { configSource: sourceOf(i) },
  };
}

function statusOf(i) {
  const exact = { configMap: { ...sourceOf(i).configMap, uid: 'u', resourceVersion: '1' } };
  const file = {
    path: '/var/lib/kubelet/config.yaml',
    config: { maxPods: 110, clusterDomain: 'cluster.local', evictionHard: { 'memory.available': '100Mi' } },
  };
  return {
    observedGeneration: 1,
    config: { assigned: exact, active: exact, lastKnownGood: exact },
    agentVersion: '0.1.0',
    driver: 'systemd',
    localConfig: { files: [file] },
  };
}

async function fill(admin) {
  await rig.applyDeploy(admin, ['base']);
  await inParallel(count, async (i) => {
    const node = nodeOf(i);
    await admin.send('POST', '/api/v1/nodes', node);
    await admin.send('POST', configs, nodeConfigOf(i));
    await admin.send('PATCH', `/api/v1/nodes/${nameOf(i)}/status`, { status: node.status }, mergePatch);
    await admin.send('PATCH', `${configs}/${nameOf(i)}/status`, { status: statusOf(i) }, mergePatch);
  });
}

/** One tab: counts the rows, and what arrives afterwards. */
function openTab(url, cookie) {
  const tab = { rows: 0, complete: 0, changed: 0, text: '' };
  const request = get(`${url}api/stream`, { headers: { cookie } }, (response) => {
    response.setEncoding('utf8').on('data', (text) => {
      tab.text += text;
      for (let end = tab.text.indexOf('\n\n'); end >= 0; end = tab.text.indexOf('\n\n')) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(tab.text.slice(0, end)) ?? [];
        tab.text = tab.text.slice(end + 2);
        if (name === 'rows') tab.changed += JSON.parse(data).upsert.length;
        if (name !== 'fleet') continue;
        const { part, parts, rows } = JSON.parse(data);
        tab.rows += rows.name.length;
        if (part + 1 === parts) tab.complete = rig.now();
      }
    });
  });
  // The server ends before the tab does.
  request.on('error', () => {});
  return tab;
}

const resident = (pid) => rig.memory(pid).resident;

async function logIn(url, once) {
  const answer = await fetch(`${url}api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ once }),
  });
  return answer.headers.get('set-cookie').split(';')[0];
}

await rig.bench(async () => {
  say(`node ${process.version}, ${count} nodes; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`);
  const { admin, kubeconfig } = await startCluster();
  await fill(admin);
  const dashboard = rig.start(process.execPath, [rig.relet, 'dashboard', '--port=0', `--kubeconfig=${kubeconfig}`]);
  const [, url, once] = /(http:\S+)#once=(\S+)/.exec((await dashboard.line(/#once=\S+/)).text);
  const cookie = await logIn(url, once);
  say(`  logged in: ${resident(dashboard.pid).toFixed(0)} MB`);
  const opened = rig.now();
  const tab = openTab(url, cookie);
  let most = 0;
  await rig.until('all rows', async () => {
    most = Math.max(most, resident(dashboard.pid));
    return tab.complete > 0;
  });
  say(
    `  ${tab.rows} rows after ${((tab.complete - opened) / 1000).toFixed(1)} s; ${most.toFixed(0)} MB at most until then`,
  );
  const cpuBefore = rig.cpuMs(dashboard.pid);
  const until = rig.now() + seconds * 1000;
  let sent = 0;
  const started = rig.now();
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      while (rig.now() < until) {
        const due = ((rig.now() - started) / 1000) * perSecond;
        if (sent >= due) {
          await rig.sleep(5);
          continue;
        }
        const i = sent++ % count;
        const status = {
          trial: { endsAt: '2026-03-01T12:10:00Z' },
          config: { error: sent % (2 * count) < count ? 'failed to sync' : null },
        };
        await admin.send('PATCH', `${configs}/${nameOf(i)}/status`, { status }, mergePatch);
        most = Math.max(most, resident(dashboard.pid));
      }
    }),
  );
  await rig.until('all changes', async () => tab.changed >= sent);
  const cpu = (rig.cpuMs(dashboard.pid) - cpuBefore) / (10 * seconds);
  say(
    `  ${(sent / seconds).toFixed(0)} changes a second for ${seconds} s, all reached the tab: ${cpu.toFixed(0)} % of a core`,
  );
  say(`  ${resident(dashboard.pid).toFixed(0)} MB at the end, ${most.toFixed(0)} MB at most`);
  await dashboard.stop();
});
