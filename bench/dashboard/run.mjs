/**
 * The dashboard with many nodes: how long until the fleet is on the screen, whether a frame takes long while nodes change, what the
 * page and the server need. API server and dashboard are processes, the browser is chromium, the nodes are objects in the API whose
 * status changes. Run `npm run build` first, then
 *
 *   node bench/dashboard/run.mjs [--nodes=15000] [--updates=500] [--minutes=10]
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import * as rig from '../agent/rig.mjs';
import { startRelet } from '../apiserver/servers.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '15000' },
    /** Changes of a node's status a second. */
    updates: { type: 'string', default: '500' },
    minutes: { type: 'string', default: '10' },
  },
});
const [count, perSecond, minutes] = [values.nodes, values.updates, values.minutes].map(Number);
const say = (text) => process.stdout.write(`${text}\n`);
const nodeConfigs = '/apis/relet.dev/v1alpha1/nodeconfigs';
const nameOf = (i) => `${['web', 'gpu', 'edge'][i % 3]}-${i}`;

/** One after the other within each of 20 lines of work. */
async function inParallel(work) {
  let next = 0;
  const line = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 20 }, line));
}

async function addNode(admin, i) {
  const labels = { pool: nameOf(i).split('-')[0], 'topology.kubernetes.io/zone': `zone-${i % 4}` };
  const metadata = { name: nameOf(i), labels };
  const node = await admin.send('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata });
  const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'modelled' }];
  const status = { ...node.status, conditions, nodeInfo: { kubeletVersion: 'v1.36.4' } };
  await admin.send('PUT', `/api/v1/nodes/${metadata.name}/status`, { ...node, status });
  const source = { configMap: { namespace: 'relet-system', name: `${labels.pool}-1`, kubeletConfigKey: 'kubelet' } };
  const object = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name: metadata.name } };
  await admin.send('POST', nodeConfigs, { ...object, spec: { configSource: source } });
  await report(admin, i, true);
}

/** In trial, or with its trial over. */
async function report(admin, i, isGood) {
  const exact = { namespace: 'relet-system', name: `${nameOf(i).split('-')[0]}-1`, kubeletConfigKey: 'kubelet' };
  const ref = { configMap: { ...exact, uid: 'u', resourceVersion: '1' } };
  const config = { assigned: ref, active: ref, lastKnownGood: isGood ? ref : null };
  const status = { observedGeneration: 1, config };
  await admin.send('PATCH', `${nodeConfigs}/${nameOf(i)}/status`, { status }, 'application/merge-patch+json');
}

/** Each node changes between trial and active whenever its turn comes, at most `perSecond` nodes a second; `isOver` ends it. */
async function changeNodes(admin, changed, isOver) {
  const isGood = new Array(count).fill(true);
  const started = rig.now();
  let sent = 0;
  const line = async () => {
    while (!isOver()) {
      if (sent >= ((rig.now() - started) / 1000) * perSecond) {
        await rig.sleep(5);
        continue;
      }
      // All nodes in turn, far apart from each other.
      const i = (sent++ * 7919) % count;
      isGood[i] = !isGood[i];
      await report(admin, i, isGood[i]);
      changed.count++;
    }
  };
  await Promise.all(Array.from({ length: 20 }, line));
  return isGood.filter(Boolean).length;
}

/** The number on a toggle such as `active 14,998`. */
const shown = async (page, state) =>
  Number((await page.getByRole('button', { name: new RegExp(`^${state} [\\d,]+$`) }).innerText()).replace(/\D/g, ''));

const watchFrames = `
  globalThis.frames_ = { longest: 0, over: 0, count: 0, isPaused: false };
  let last = performance.now();
  requestAnimationFrame(function frame(now) {
    const ms = now - last;
    last = now;
    if (!frames_.isPaused) {
      frames_.count++;
      if (ms > frames_.longest) frames_.longest = ms;
      if (ms > 100) frames_.over++;
    }
    requestAnimationFrame(frame);
  });`;

/** Without garbage. Collecting all of it stops the page, so frames are not counted meanwhile. */
async function heapMB(page, cdp) {
  await page.evaluate('frames_.isPaused = true');
  await cdp.send('HeapProfiler.collectGarbage');
  await page.evaluate('new Promise(requestAnimationFrame).then(() => { frames_.isPaused = false; })');
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'JSHeapUsedSize').value / 2 ** 20;
}

await rig.bench(async () => {
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
  say(`node ${process.version}; ${count} nodes, ${perSecond} updates/s, ${minutes} min; load ${load}`);
  const dir = rig.newDir();
  const server = await startRelet();
  rig.atEnd(() => server.stop());
  const url = `https://127.0.0.1:${server.port}`;
  const caFile = join(dir, 'ca.crt');
  writeFileSync(caFile, server.ca());
  const admin = rig.administrator(url, caFile, { token: 'bench-token' });
  await rig.applyDeploy(admin, ['base']);
  await inParallel((i) => addNode(admin, i));
  const kubeconfig = rig.writeKubeconfig(join(dir, 'kubeconfig'), { server: url, caFile, token: 'bench-token' });
  const dashboard = rig.start(process.execPath, [rig.relet, 'dashboard', `--kubeconfig=${kubeconfig}`, '--port=0']);
  const link = /http:\S+#once=\S+/.exec((await dashboard.line(/#once=/)).text)[0];

  const executablePath = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  rig.atEnd(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(link);
  await page.getByRole('rowheader').first().waitFor();

  // The first page also waits for the server's first list of all nodes; a second one does not.
  const firstViews = [];
  for (let round = 0; round < 5; round++) {
    await page.reload({ waitUntil: 'load' });
    const loaded = await page.evaluate('performance.now()');
    await page.getByRole('rowheader').first().waitFor();
    firstViews.push((await page.evaluate('performance.now()')) - loaded);
  }
  say(
    `first view after load: median ${rig.median(firstViews).toFixed(0)} ms, longest ${Math.max(...firstViews).toFixed(0)} ms`,
  );

  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  const changed = { count: 0 };
  let isOver = false;
  const changing = changeNodes(admin, changed, () => isOver);
  await rig.sleep(2000);
  await page.evaluate(watchFrames);
  const from = { at: rig.now(), changed: changed.count };
  const heaps = [];
  while (rig.now() - from.at < minutes * 60_000) {
    await rig.sleep(30_000);
    heaps.push({ minute: (rig.now() - from.at) / 60_000, mb: await heapMB(page, cdp) });
  }
  const frames = await page.evaluate('frames_');
  const seconds = (rig.now() - from.at) / 1000;
  isOver = true;
  const good = await changing;
  await rig.until('the page shows every change', async () => {
    const counts = [await shown(page, 'active'), await shown(page, 'trial')];
    return counts[0] === good && counts[1] === count - good;
  });
  const late = heaps.filter(({ minute }) => minute > minutes / 2).map(({ mb }) => mb);
  const [low, high] = [Math.min(...late), Math.max(...late)];
  say(
    `updates: ${((changed.count - from.changed) / seconds).toFixed(0)} a second; then ${good} active, ${count - good} in trial, in the API and on the page`,
  );
  say(`frames: ${frames.count}, longest ${frames.longest.toFixed(0)} ms, ${frames.over} over 100 ms`);
  say(
    `page: heap ${low.toFixed(1)} to ${high.toFixed(1)} MB in the second half (${((100 * (high - low)) / low).toFixed(1)} %)`,
  );
  say(
    `dashboard: ${rig.memory(dashboard.pid).resident.toFixed(0)} MB; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`,
  );
});
