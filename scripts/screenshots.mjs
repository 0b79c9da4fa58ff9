/**
 * Takes the pictures of the dashboard for README and docs, light and dark: a fleet of modelled nodes with the real API server and
 * controller, in the middle of two rollouts. Run `npm run build` first, then
 *
 *   node scripts/screenshots.mjs [DIRECTORY]          docs/images unless named; with a name, also at the width of a phone
 *   node scripts/screenshots.mjs --audit              only the page of 'relet audit', of a small lab of its own
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import * as rig from '../bench/agent/rig.mjs';
import { addNode, startCluster, token } from '../bench/cluster.mjs';
import { startAgents } from '../bench/dashboard/modelled-agents.mjs';

const onlyAudit = process.argv[2] === '--audit';
const out = (onlyAudit ? undefined : process.argv[2]) ?? join(import.meta.dirname, '../docs/images');
const api = '/apis/relet.dev/v1alpha1';
const pools = { web: 252, gpu: 48, edge: 36 };
const names = Object.entries(pools).flatMap(([pool, count]) =>
  Array.from({ length: count }, (_, at) => `${pool}-${at + 1}`),
);

async function addPoolNode(admin, name, at) {
  const pool = name.split('-')[0];
  const labels = { pool, 'topology.kubernetes.io/zone': `eu-1${'abc'[at % 3]}`, 'kubernetes.io/arch': 'amd64' };
  await addNode(admin, { name, labels }, { kubeletVersion: pool === 'edge' ? 'v1.35.2' : 'v1.36.4' });
}

const local = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  maxPods: 110,
  staticPodPath: '/etc/kubernetes/manifests',
};
const more = () => ({
  agentVersion: '0.1.0',
  driver: 'systemd',
  localConfig: { files: [{ path: '/var/lib/kubelet/config.yaml', config: local }] },
  kubeletFlags: [],
});

/** Some nodes do not start with the second config of gpu. */
const crash = (name, config) =>
  firstConfigs.size > 0 && !firstConfigs.has(config) && ['gpu-1', 'gpu-14'].includes(name)
    ? {
        cause: 'the kubelet exited with 1 three times, the last time after 0.4s',
        kubeletLog: [
          'I1117 06:01:02.101423    4711 server.go:440] "Kubelet version" kubeletVersion="v1.36.4"',
          'E1117 06:01:02.480117    4711 run.go:72] "command failed" err="failed to run Kubelet: failed to initialize top level QOS containers: pids limit 4096 is above that of the slice"',
        ],
      }
    : undefined;
const firstConfigs = new Set();

const set = (name, overlay, strategy) => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name },
  spec: { selector: { matchLabels: { pool: name } }, config: { overlay }, strategy },
});
const apply = (admin, object) =>
  admin.send(
    'PATCH',
    `${api}/nodeconfigsets/${object.metadata.name}?fieldManager=git&force=true`,
    object,
    'application/apply-patch+yaml',
  );
const conditionOf = async (admin, name) =>
  (await admin.send('GET', `${api}/nodeconfigsets/${name}`)).status?.conditions?.find(
    ({ status, type }) => status === 'True' && type !== 'Reconciling',
  )?.reason;

const waitsFor = async (admin, name) =>
  (await admin.send('GET', `${api}/nodeconfigsets/${name}`)).status?.conditions?.find(
    ({ status, type }) => status === 'True' && type === 'Reconciling',
  )?.reason;

/** The header of the page shows the names of cluster and person. */
const kubeconfigOfAnn = (server, caFile) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'production-eu', cluster: { server, 'certificate-authority': caFile } }],
  users: [{ name: 'ann', user: { token, as: 'ann', 'as-groups': ['system:masters'] } }],
  contexts: [{ name: 'production-eu', context: { cluster: 'production-eu', user: 'ann' } }],
  'current-context': 'production-eu',
});

/** Three sets: all nodes updated once, then two of them on their way to a second revision. */
async function prepare() {
  const { dir, url, caFile, admin, kubeconfig } = await startCluster();
  for (const [at, name] of names.entries()) await addPoolNode(admin, name, at);
  await rig.applyDeploy(admin);
  const shown = join(dir, 'shown.kubeconfig');
  writeFileSync(shown, JSON.stringify(kubeconfigOfAnn(url, caFile)));
  rig.start(process.execPath, [rig.relet, 'controller', `--kubeconfig=${kubeconfig}`, '--guards=policy']);
  const trial = { ms: 500 };
  const identify = async ({ namespace, name }) => {
    const { metadata } = await admin.send('GET', `/api/v1/namespaces/${namespace}/configmaps/${name}`);
    return { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
  };
  const options = { url, ca: readFileSync(caFile), token, send: admin.send, crash, more, identify };
  startAgents({ ...options, trialMs: () => trial.ms, has: (name) => !name.startsWith('new-') }).watch(0);
  const atOnce = { waves: [{ nodes: '100%' }], maxUnavailable: '100%', maxInTrial: '100%' };
  await apply(admin, set('web', { maxPods: 150 }, atOnce));
  await apply(admin, set('gpu', { maxPods: 64 }, atOnce));
  await apply(admin, set('edge', { maxPods: 60 }, atOnce));
  for (const name of ['web', 'gpu', 'edge'])
    await rig.until(`${name} complete`, async () => (await conditionOf(admin, name)) === 'RolloutComplete', 300_000);
  const { items } = await admin.send('GET', '/api/v1/namespaces/relet-system/configmaps');
  for (const { metadata } of items) firstConfigs.add(metadata.name);
  const notReady = { conditions: [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'modelled' }] };
  await admin.send('PATCH', '/api/v1/nodes/web-77/status', { status: notReady }, 'application/merge-patch+json');
  const canaries = { waves: [{ nodes: 4, approve: true }, { nodes: '50%', soak: '1h' }, { nodes: '100%' }] };
  await apply(admin, set('edge', { maxPods: 80, imageGCHighThresholdPercent: 90 }, { ...canaries, maxInTrial: '25%' }));
  await rig.until('edge waits', async () => (await waitsFor(admin, 'edge')) === 'AwaitingApproval', 60_000);
  trial.ms = 600_000;
  const inWaves = {
    waves: [{ nodes: 12 }, { nodes: '25%', soak: '10m' }, { nodes: '100%' }],
    maxUnavailable: '10%',
    maxInTrial: '25%',
  };
  await apply(admin, set('web', { maxPods: 200, evictionHard: { 'memory.available': '200Mi' } }, inWaves));
  await apply(
    admin,
    set(
      'gpu',
      { maxPods: 80, podPidsLimit: 4096 },
      { waves: [{ nodes: 1 }, { nodes: '100%' }], maxUnavailable: '10%' },
    ),
  );
  await rig.until('gpu has halted', async () => (await conditionOf(admin, 'gpu')) === 'Halted', 60_000);
  // Installed a moment ago: no agent runs there yet.
  for (const at of [1, 2, 3]) await addPoolNode(admin, `new-${at}`, at);
  return shown;
}

const pages = [
  ['fleet', '?sort=state&hours=1'],
  ['node', 'nodes/gpu-1?from=lastKnownGood&to=assigned'],
  ['sets', 'sets'],
  ['set', 'sets/web'],
  ['approve', 'sets/edge?do=approve'],
  ['new-set', 'sets/new'],
  ['configs', 'configs'],
  ['upgrade', 'upgrade?to=1.37'],
  ['inventory', 'inventory'],
  ['audit', 'audit'],
];

function launch() {
  const executablePath = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Six nodes in two pools; the audit exits with 1, because it finds something. */
async function shootAudit() {
  const HOME = rig.newDir();
  const env = { ...process.env, HOME, KUBECONFIG: join(HOME, '.relet/admin.kubeconfig') };
  const run = (command, ...args) => spawnSync(command, args, { env, encoding: 'utf8', maxBuffer: 2 ** 26 }).stdout;
  const relet = (...args) => run(process.execPath, rig.relet, ...args);
  rig.atEnd(() => relet('down'));
  relet('up', '--detach', '--nodes=6', '--port=0', '--no-dashboard', '--', '--read-only-port=10255');
  for (let at = 1; at <= 6; at++) run('kubectl', 'label', 'node', `node-${at}`, `pool=${at <= 4 ? 'web' : 'edge'}`);
  relet('set', '-l', 'pool=web', 'podPidsLimit=4096', 'rotateCertificates=true', '--yes');
  const file = join(HOME, 'audit.html');
  writeFileSync(file, relet('audit', '-o', 'html'));
  const browser = await launch();
  rig.atEnd(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1120, height: 700 } });
  await page.goto(`file://${file}`);
  await page.screenshot({ path: join(out, 'audit.png') });
  console.log('audit.png');
}

async function shootDashboard() {
  mkdirSync(out, { recursive: true });
  const kubeconfig = await prepare();
  const dashboard = rig.start(process.execPath, [rig.relet, 'dashboard', `--kubeconfig=${kubeconfig}`, '--port=0']);
  const link = /http:\S+#once=\S+/.exec((await dashboard.line(/#once=/)).text)[0];
  const browser = await launch();
  rig.atEnd(() => browser.close());
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page.getByRole('grid').waitFor();
  const shoot = async (name, path, options) => {
    await page.emulateMedia({ colorScheme: options.scheme });
    await page.setViewportSize({ width: options.width, height: 700 });
    await page.goto(new URL(path, link.replace(/#.*/, '')).href);
    await page.getByRole('heading', { level: 1 }).waitFor();
    while ((await page.locator('.loading').count()) > 0) await rig.sleep(100);
    await rig.sleep(1500);
    await page.screenshot({ path: join(out, `${name}.png`), fullPage: options.width < 500 });
    console.log(`${name}.png`);
  };
  for (const scheme of ['light', 'dark'])
    for (const [name, path] of pages) await shoot(`${name}-${scheme}`, path, { scheme, width: 1120 });
  if (process.argv[2] !== undefined)
    for (const [name, path] of pages) await shoot(`${name}-phone`, path, { scheme: 'light', width: 360 });
}

await rig.bench(onlyAudit ? shootAudit : shootDashboard);
