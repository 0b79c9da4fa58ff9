/**
 * The embedded API server under load, alone or beside a real kube-apiserver + etcd in the same run when KUBEBUILDER_ASSETS names a
 * directory with both. Run `npm run build` first, then `node bench/apiserver/run.mjs`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Load, node, nodeName } from './load.mjs';
import { residentMB, startKubernetes, startRelet } from './servers.mjs';

const watchers = 1000;
const configMap = '/api/v1/namespaces/kube-system/configmaps';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

async function measure(start) {
  const readyTimes = [];
  for (let round = 0; round < 3; round++) {
    const server = await start();
    readyTimes.push(server.readyMs);
    await server.stop();
  }
  const server = await start();
  const load = new Load(server);
  try {
    const results = { ready: median([...readyTimes, server.readyMs]) };
    await sleep(5000);
    results.idle = residentMB(server);
    await memoryWithNodes(server, load, results);
    await requests(load, results);
    await watches(server, load, results);
    return { name: server.name, results };
  } finally {
    load.close();
    await server.stop();
  }
}

async function memoryWithNodes(server, load, results) {
  for (const [from, to] of [
    [0, 1000],
    [1000, 5000],
  ]) {
    const made = await load.measure(to - from, 20, (at) => load.call('POST', '/api/v1/nodes', node(from + at)));
    if (to === 5000) results.create = made.perSecond;
    await sleep(5000);
    results[`nodes${to}`] = residentMB(server);
  }
}

async function requests(load, results) {
  const data = {
    kubelet: `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${'# pad\n'.repeat(300)}`,
  };
  await load.call('POST', configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bench' }, data });
  const get = () => load.call('GET', `${configMap}/bench`);
  await load.measure(300, 50, (at) => load.patchNode(at));
  results.patchOne = await load.measure(500, 1, (at) => load.patchNode(at));
  results.patchMany = await load.measure(4000, 50, (at) => load.patchNode(at));
  await load.measure(500, 50, get);
  results.getOne = await load.measure(1000, 1, get);
  results.getMany = await load.measure(8000, 50, get);
  const started = performance.now();
  await load.call('GET', '/api/v1/nodes');
  results.list = performance.now() - started;
}

async function watches(server, load, results) {
  const path = (name, revision) =>
    `/api/v1/nodes?watch=1&resourceVersion=${revision}&fieldSelector=metadata.name%3D${name}`;
  const before = residentMB(server);
  let revision = await load.revision();
  const seen = new Set();
  let onMark = () => {};
  const closeEach = await load.openWatches(
    watchers,
    (at) => path(nodeName(at), revision),
    (at, line) => {
      if (line.includes('"bench/mark"')) seen.add(at);
      onMark();
    },
  );
  await sleep(2000);
  results.perWatcher = ((residentMB(server) - before) * 1024) / watchers;
  const started = performance.now();
  const all = new Promise((resolve) => {
    onMark = () => seen.size === watchers && resolve();
  });
  await load.measure(watchers, 20, (at) => load.patchNode(at));
  await all;
  results.eventEach = performance.now() - started;
  onMark = () => {};
  closeEach();
  await sleep(2000);

  revision = await load.revision();
  let mark = '';
  let hits = 0;
  const closeAll = await load.openWatches(
    watchers,
    () => path(nodeName(0), revision),
    (_at, line) => {
      if (line.includes(mark) && ++hits === watchers) onMark();
    },
  );
  const rounds = [];
  for (let round = 0; round < 7; round++) {
    await sleep(300);
    mark = load.nextMark();
    hits = 0;
    const done = new Promise((resolve) => {
      onMark = () => resolve(performance.now());
    });
    const sent = performance.now();
    await load.patchWith(0, mark);
    rounds.push((await done) - sent);
  }
  results.fanout = median(rounds);
  closeAll();
}

/** name, how it is shown, how much better relet must be: at least (higher is better) or at most (lower is better). */
const rows = [
  ['start to ready, ms', (r) => r.ready, 'at most', 1 / 10],
  ['resident idle, MB', (r) => r.idle, 'at most', 1 / 2],
  ['resident with 1,000 nodes, MB', (r) => r.nodes1000, 'at most', 1 / 2],
  ['resident with 5,000 nodes, MB', (r) => r.nodes5000, 'at most', 1 / 2],
  ['POST node, 20 at a time, per second', (r) => r.create],
  ['PATCH node one by one, per second', (r) => r.patchOne.perSecond, 'at least', 2],
  ['  p50, ms', (r) => r.patchOne.p50],
  ['  p99, ms', (r) => r.patchOne.p99],
  ['PATCH node, 50 at a time, per second', (r) => r.patchMany.perSecond, 'at least', 2],
  ['  p50, ms', (r) => r.patchMany.p50],
  ['  p99, ms', (r) => r.patchMany.p99],
  ['GET configmap one by one, per second', (r) => r.getOne.perSecond, 'at least', 2],
  ['GET configmap, 50 at a time, per second', (r) => r.getMany.perSecond, 'at least', 2],
  ['  p50, ms', (r) => r.getMany.p50],
  ['  p99, ms', (r) => r.getMany.p99],
  ['LIST 5,000 nodes, ms', (r) => r.list],
  ['1,000 watchers, one event each, ms', (r) => r.eventEach, 'at most', 1],
  ['one event to 1,000 watchers, ms', (r) => r.fanout, 'at most', 1],
  ['memory per idle watcher, kB', (r) => r.perWatcher],
];

function print(ours, theirs) {
  const shown = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1)).padStart(9);
  console.log(`${''.padEnd(42)}    relet${theirs === undefined ? '' : '     real    ratio   wanted'}`);
  for (const [title, pick, direction, factor] of rows) {
    const mine = pick(ours.results);
    let line = title.padEnd(42) + shown(mine);
    if (theirs !== undefined) {
      const ratio = mine / pick(theirs.results);
      line += `${shown(pick(theirs.results))}${ratio.toFixed(2).padStart(9)}`;
      if (direction !== undefined) {
        const holds = direction === 'at most' ? ratio <= factor : ratio >= factor;
        line += `   ${direction} ${factor.toFixed(2)}${holds ? '' : '   MISSED'}`;
      }
    }
    console.log(line);
  }
}

const assets = process.env.KUBEBUILDER_ASSETS;
const hasReal = assets !== undefined && existsSync(join(assets, 'kube-apiserver')) && existsSync(join(assets, 'etcd'));
if (!hasReal) console.log('KUBEBUILDER_ASSETS names no kube-apiserver and etcd: relet is measured alone');
const real = hasReal ? await measure(() => startKubernetes(assets)) : undefined;
print(await measure(startRelet), real);
