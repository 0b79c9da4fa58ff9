/**
 * The embedded API server under load, alone or beside a real kube-apiserver + etcd when KUBEBUILDER_ASSETS names a directory with
 * both. Both run at once and are measured in turns, so that the machine's moods meet both. Run `npm run build` first, then
 * `node bench/apiserver/run.mjs`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Load, node, nodeName } from './load.mjs';
import { residentMB, startKubernetes, startRelet } from './servers.mjs';

const watchers = 1000;
const rounds = 5;
const configMap = '/api/v1/namespaces/kube-system/configmaps';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

/** Measured in several rounds; the median counts. */
const rows = [
  ['PATCH node one by one, per second', (bench) => bench.patch(400, 1)],
  ['PATCH node, 50 at a time, per second', (bench) => bench.patch(2000, 50)],
  ['GET configmap one by one, per second', (bench) => bench.get(800, 1)],
  ['GET configmap, 50 at a time, per second', (bench) => bench.get(4000, 50)],
  ['LIST 5,000 nodes, ms', (bench) => bench.list()],
];

class Bench {
  results = new Map();

  constructor(server) {
    this.server = server;
    this.load = new Load(server);
  }

  add(name, value) {
    this.results.set(name, [...(this.results.get(name) ?? []), value]);
  }

  async fill(from, to) {
    const made = await this.load.measure(to - from, 20, (at) =>
      this.load.call('POST', '/api/v1/nodes', node(from + at)),
    );
    this.add('POST node, 20 at a time, per second', made.perSecond);
  }

  async addConfigMap() {
    const data = {
      kubelet: `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${'# pad\n'.repeat(300)}`,
    };
    await this.load.call('POST', configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bench' }, data });
  }

  async patch(count, concurrency) {
    return this.#rate('PATCH', count, concurrency, (at) => this.load.patchNode(at % 5000));
  }

  async get(count, concurrency) {
    return this.#rate('GET', count, concurrency, () => this.load.call('GET', `${configMap}/bench`));
  }

  async #rate(verb, count, concurrency, act) {
    const { perSecond, p50, p99 } = await this.load.measure(count, concurrency, act);
    this.add(`${verb} ${concurrency} p50`, p50);
    this.add(`${verb} ${concurrency} p99`, p99);
    return perSecond;
  }

  async list() {
    const started = performance.now();
    await this.load.call('GET', '/api/v1/nodes');
    return performance.now() - started;
  }

  path(name, revision) {
    return `/api/v1/nodes?watch=1&resourceVersion=${revision}&fieldSelector=metadata.name%3D${name}`;
  }

  /** A thousand watchers, each on a node of its own; every node changes once. */
  async eventEach() {
    const { load, server } = this;
    const before = residentMB(server);
    const revision = await load.revision();
    const seen = new Set();
    let finish = () => {};
    const close = await load.openWatches(
      watchers,
      (at) => this.path(nodeName(at), revision),
      (at, line) => {
        if (line.includes('"bench/mark"') && seen.add(at).size === watchers) finish();
      },
    );
    await sleep(1500);
    this.add('memory per idle watcher, kB', ((residentMB(server) - before) * 1024) / watchers);
    const started = performance.now();
    const all = new Promise((resolve) => {
      finish = resolve;
    });
    await load.measure(watchers, 20, (at) => load.patchNode(at));
    await all;
    this.add('1,000 watchers, one event each, ms', performance.now() - started);
    close();
  }

  /** A thousand watchers on one node, opened once; each round changes it once. */
  async openFanout() {
    const revision = await this.load.revision();
    this.closeFanout = await this.load.openWatches(
      watchers,
      () => this.path(nodeName(0), revision),
      (_at, line) => {
        if (line.includes(this.mark) && ++this.hits === watchers) this.finish(performance.now());
      },
    );
  }

  async fanout() {
    this.mark = `"${this.load.nextMark()}"`;
    this.hits = 0;
    const done = new Promise((resolve) => {
      this.finish = resolve;
    });
    const sent = performance.now();
    await this.load.patchWith(0, this.mark.slice(1, -1));
    this.add('one event to 1,000 watchers, ms', (await done) - sent);
  }
}

async function startTimes(starts) {
  const times = starts.map(() => []);
  for (let round = 0; round < 3; round++) {
    for (const [at, start] of starts.entries()) {
      const server = await start();
      times[at].push(server.readyMs);
      await server.stop();
    }
  }
  return times;
}

async function inTurns(benches, act) {
  for (const bench of benches) await act(bench);
}

async function measure(starts) {
  const times = await startTimes(starts);
  const benches = [];
  for (const [at, start] of starts.entries()) {
    const bench = new Bench(await start());
    for (const time of [...times[at], bench.server.readyMs]) bench.add('start to ready, ms', time);
    benches.push(bench);
  }
  try {
    await sleep(5000);
    await inTurns(benches, async (bench) => bench.add('resident idle, MB', residentMB(bench.server)));
    for (const [from, to] of [
      [0, 1000],
      [1000, 5000],
    ]) {
      await inTurns(benches, (bench) => bench.fill(from, to));
      await sleep(5000);
      const name = `resident with ${to.toLocaleString('en')} nodes, MB`;
      await inTurns(benches, async (bench) => bench.add(name, residentMB(bench.server)));
    }
    await inTurns(benches, (bench) => bench.addConfigMap());
    // Warm both up before anything counts.
    for (const [, act] of rows) await inTurns(benches, act);
    for (let round = 0; round < rounds; round++) {
      for (const [name, act] of rows) await inTurns(benches, async (bench) => bench.add(name, await act(bench)));
    }
    await inTurns(benches, (bench) => bench.eventEach());
    await sleep(2000);
    await inTurns(benches, (bench) => bench.openFanout());
    await sleep(2000);
    for (let round = 0; round < 9; round++) {
      await inTurns(benches, async (bench) => {
        await bench.fanout();
        await sleep(200);
      });
    }
    return benches;
  } finally {
    for (const bench of benches) {
      bench.closeFanout?.();
      bench.load.close();
      await bench.server.stop();
    }
  }
}

/** Rows of the report, each with how much better relet must be than the real server. */
const report = [
  ['start to ready, ms', 'at most', 1 / 10],
  ['resident idle, MB', 'at most', 1 / 2],
  ['resident with 1,000 nodes, MB', 'at most', 1 / 2],
  ['resident with 5,000 nodes, MB', 'at most', 1 / 2],
  ['POST node, 20 at a time, per second'],
  ['PATCH node one by one, per second', 'at least', 2],
  ['PATCH 1 p50'],
  ['PATCH 1 p99'],
  ['PATCH node, 50 at a time, per second', 'at least', 2],
  ['PATCH 50 p50'],
  ['PATCH 50 p99'],
  ['GET configmap one by one, per second', 'at least', 2],
  ['GET configmap, 50 at a time, per second', 'at least', 2],
  ['GET 50 p50'],
  ['GET 50 p99'],
  ['LIST 5,000 nodes, ms'],
  ['1,000 watchers, one event each, ms', 'at most', 1],
  ['one event to 1,000 watchers, ms', 'at most', 1],
  ['memory per idle watcher, kB'],
];

function print([ours, theirs]) {
  const shown = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1)).padStart(9);
  console.log(`${''.padEnd(42)}    relet${theirs === undefined ? '' : '     real    ratio   wanted'}`);
  for (const [name, direction, factor] of report) {
    const mine = median(ours.results.get(name));
    const title = / p\d\d$/.test(name) ? `  ${name.split(' ').at(-1)}, ms` : name;
    let line = title.padEnd(42) + shown(mine);
    if (theirs !== undefined) {
      const real = median(theirs.results.get(name));
      line += `${shown(real)}${(mine / real).toFixed(2).padStart(9)}`;
      if (direction !== undefined) {
        const holds = direction === 'at most' ? mine / real <= factor : mine / real >= factor;
        line += `   ${direction} ${factor.toFixed(2)}${holds ? '' : '   MISSED'}`;
      }
    }
    console.log(line);
  }
}

const assets = process.env.KUBEBUILDER_ASSETS;
const hasReal = assets !== undefined && existsSync(join(assets, 'kube-apiserver')) && existsSync(join(assets, 'etcd'));
if (!hasReal) console.log('KUBEBUILDER_ASSETS names no kube-apiserver and etcd: relet is measured alone');
print(await measure(hasReal ? [startRelet, () => startKubernetes(assets)] : [startRelet]));
