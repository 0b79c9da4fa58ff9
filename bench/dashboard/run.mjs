/**
 * The dashboard with many nodes: how long until the fleet is on the screen, whether a frame takes long while nodes change, what the
 * page and the server need. API server and dashboard are processes, the browser is chromium, the nodes are objects in the API whose
 * status changes. Run `npm run build` first, then
 *
 *   node bench/dashboard/run.mjs [--nodes=15000] [--updates=500] [--minutes=10]
 *
 * It fails where the objects of the page, or the memory of the browser, vary by more than 5 % in the second half; see measureMemory.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import * as rig from '../agent/rig.mjs';
import { addNode, inParallel, startCluster } from '../cluster.mjs';
import { openPage } from './chromium.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '15000' },
    /** Changes of a node's status a second. */
    updates: { type: 'string', default: '500' },
    minutes: { type: 'string', default: '10' },
    /** Prints memory every 30 s. */
    verbose: { type: 'boolean', default: false },
  },
});
const [count, perSecond, minutes] = [values.nodes, values.updates, values.minutes].map(Number);
const say = (text) => process.stdout.write(`${text}\n`);
const nodeConfigs = '/apis/relet.dev/v1alpha1/nodeconfigs';
const nameOf = (i) => `${['web', 'gpu', 'edge'][i % 3]}-${i}`;

async function addConfigured(admin, i) {
  const labels = { pool: nameOf(i).split('-')[0], 'topology.kubernetes.io/zone': `zone-${i % 4}` };
  const metadata = { name: nameOf(i), labels };
  await addNode(admin, metadata, { kubeletVersion: 'v1.36.4' });
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
const shown = async (page, state) => {
  const texts = await page.evaluate("[...document.querySelectorAll('button')].map(({ innerText }) => innerText)");
  return Number(texts.find((text) => new RegExp(`^${state}\\s[\\d,]+$`).test(text)).replace(/\D/g, ''));
};

/** In every document: when its first row was there, in ms after it was loaded. */
const watchFirstRow = `
  requestAnimationFrame(function look() {
    const loaded = performance.getEntriesByType('navigation')[0]?.loadEventEnd;
    if (loaded > 0 && document.querySelector('[role=rowheader]')) globalThis.firstRowMs_ = performance.now() - loaded;
    else requestAnimationFrame(look);
  });`;

async function firstView(page, url) {
  await page.goTo('about:blank');
  await page.goTo(url);
  let ms;
  await rig.until('the first row', async () => {
    ms = await page.evaluate('globalThis.firstRowMs_');
    return ms !== undefined;
  });
  return ms;
}

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

const windowMs = 30_000;
const mostPercent = 5;

/**
 * Memory in MB, over the next 30 s.
 *   alive: objects of the page that are in use, of scripts and of the DOM. A reading has the garbage since the collection before it
 *     too, because the page does not stop; the lowest, which three of them agree on, has the least. A leak is in all of them.
 *   renderer, browser: medians of what the page's process and all processes of the browser occupy, garbage included; files, which
 *     other programs may share, are not.
 */
async function measureMemory(page) {
  const [renderer, browser] = [[], []];
  const until = rig.now() + windowMs;
  while (rig.now() < until) {
    await rig.sleep(1000);
    const processes = await page.processes();
    renderer.push(processes.renderer);
    browser.push(processes.all);
  }
  // A collection of all garbage stops the page, so frames are not counted meanwhile.
  await page.evaluate('frames_.isPaused = true');
  const alive = [];
  const lowest = () => alive.filter((mb) => mb <= 1.01 * Math.min(...alive));
  while (lowest().length < 3 && alive.length < 40) alive.push(await page.aliveMB());
  await page.evaluate('new Promise(requestAnimationFrame).then(() => { frames_.isPaused = false; })');
  return { alive: Math.min(...alive), renderer: rig.median(renderer), browser: rig.median(browser) };
}

/** The page's process is a part of the browser, and by itself mostly shows how much garbage it has at the moment. */
const figures = { alive: 'page, objects in use', renderer: 'page, its process', browser: 'browser, all processes' };
const steady = ['alive', 'browser'];

/** Prints the range of one figure. */
function sayRange(figure, list) {
  const [low, high] = [Math.min(...list), Math.max(...list)];
  const percent = (100 * (high - low)) / low;
  const isTooMuch = steady.includes(figure) && percent > mostPercent;
  say(
    `${figures[figure]}: ${low.toFixed(2)} to ${high.toFixed(2)} MB in the second half, ${percent.toFixed(1)} %${isTooMuch ? `: more than ${mostPercent} %` : ''}; first ${list[0].toFixed(2)}, last ${list.at(-1).toFixed(2)}`,
  );
  if (isTooMuch) process.exitCode = 1;
}

await rig.bench(async () => {
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
  say(`node ${process.version}; ${count} nodes, ${perSecond} updates/s, ${minutes} min; load ${load}`);
  const { admin, kubeconfig } = await startCluster();
  await rig.applyDeploy(admin, ['base']);
  await inParallel(count, (i) => addConfigured(admin, i));
  const dashboard = rig.start(process.execPath, [rig.relet, 'dashboard', `--kubeconfig=${kubeconfig}`, '--port=0']);
  const link = /http:\S+#once=\S+/.exec((await dashboard.line(/#once=/)).text)[0];

  const page = await openPage({ width: 1280, height: 800, atStart: watchFirstRow });
  // The first page also waits for the server's first list of all nodes, and logs in; the others do not.
  await firstView(page, link);
  const address = await page.evaluate('location.href');
  const firstViews = [];
  for (let round = 0; round < 5; round++) firstViews.push(await firstView(page, address));
  say(
    `first view after load: median ${rig.median(firstViews).toFixed(0)} ms, longest ${Math.max(...firstViews).toFixed(0)} ms`,
  );

  const changed = { count: 0 };
  let isOver = false;
  const changing = changeNodes(admin, changed, () => isOver);
  await rig.sleep(2000);
  await page.evaluate(watchFrames);
  const from = { at: rig.now(), changed: changed.count };
  const windows = [];
  while (rig.now() - from.at < minutes * 60_000) {
    const memory = await measureMemory(page);
    const server = rig.memory(dashboard.pid).resident;
    windows.push({ ...memory, server, minute: (rig.now() - from.at) / 60_000 });
    if (values.verbose) say(JSON.stringify(windows.at(-1)));
  }
  const frames = await page.evaluate('frames_');
  const seconds = (rig.now() - from.at) / 1000;
  isOver = true;
  const good = await changing;
  await rig.until('the page shows every change', async () => {
    const counts = [await shown(page, 'active'), await shown(page, 'trial')];
    return counts[0] === good && counts[1] === count - good;
  });
  const late = windows.filter(({ minute }) => minute > minutes / 2);
  say(
    `updates: ${((changed.count - from.changed) / seconds).toFixed(0)} a second; then ${good} active, ${count - good} in trial, in the API and on the page`,
  );
  say(`frames: ${frames.count}, longest ${frames.longest.toFixed(0)} ms, ${frames.over} over 100 ms`);
  for (const figure of Object.keys(figures))
    sayRange(
      figure,
      late.map((one) => one[figure]),
    );
  say(
    `dashboard: at most ${Math.max(...windows.map(({ server }) => server)).toFixed(0)} MB; load ${readFileSync('/proc/loadavg', 'utf8').split(' ')[0]}`,
  );
});
