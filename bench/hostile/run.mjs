/**
 * Measures the work that a node, an author or a viewer can cause in controller and dashboard: each function that they run on texts of others,
 * on texts that cost it the most. Prints the time at the size and its ratio to that at half of it: 2 is linear, 4 quadratic. Of work with
 * turns of the event loop in between, the longest slice counts; of a comparison in the dashboard, the longest one of its server, while a
 * child process compares. Run `npm run build` first.
 *
 *   node bench/hostile/run.mjs [--bytes=100000] [--want=50] [--only=WORD] [--all]
 *
 * Exits with 1 where one takes longer than wanted. The upgrade check asks as many kubelets as it has minors to compare: its want is for
 * each of them.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDashboard } from './dashboard.mjs';
import { bodies, overlay, reported, unsets, whole } from './inputs.mjs';

const { values } = parseArgs({
  options: {
    bytes: { type: 'string', default: '100000' },
    want: { type: 'string', default: '50' },
    only: { type: 'string', default: '' },
    all: { type: 'boolean', default: false },
  },
});
const [bytes, want] = [Number(values.bytes), Number(values.want)];
const root = join(import.meta.dirname, '../..');

async function load() {
  const { build } = await import('esbuild');
  const dir = join(root, 'node_modules/.cache/bench-hostile');
  mkdirSync(dir, { recursive: true });
  const outfile = join(dir, 'functions.mjs');
  const contents = `
export { readLocalConfig } from './src/api/local-config.js';
export { check } from './src/config/check.js';
export { checkOverlay } from './src/config/check-overlay.js';
export { mergeOverlay } from './src/config/merge.js';
export { upgradeCheck } from './src/config/upgrade-check.js';
export { isOverlay } from './src/config/overlay.js';
export { answerFor, drainNeed } from './src/rollout/impact.js';
export { sameMeaning } from './src/fleet/payload.js';
export { readDocument } from './src/config/document.js';
`;
  const banner = { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" };
  const target = { platform: 'node', format: 'esm', target: 'node20' };
  await build({ stdin: { contents, resolveDir: root }, bundle: true, outfile, banner, logLevel: 'warning', ...target });
  return import(outfile);
}

const relet = await load();
const minor = 37;
const metadata = { name: 'limits', resourceVersion: '1' };
const bounds = { maxPods: { max: 250 } };
const policies = [{ apiVersion: 'relet.dev/v1alpha1', kind: 'FieldPolicy', metadata, deny: ['readOnlyPort'], bounds }];
const alike = { names: ['node-1'], labels: {}, kubeletVersion: 'v1.37.1', mayLoseGpus: false };
const small = { files: [{ path: '/l', config: { maxPods: 100 } }] };
const smallOverlay = overlay('one long text', 10, 2);

/** One node of a set, as the controller assesses it. */
const assess = (text, localConfig, newSlice) => {
  const { local } = relet.readLocalConfig(localConfig);
  const one = { ...alike, local, before: undefined };
  return relet.answerFor({ text, policies, accept: [] }, one, async () => newSlice());
};
const merge = (files, text) => {
  const local = files.map((one, index) => ({ path: `/${index}`, text: one, ...(index > 0 && { dropIn: true }) }));
  return relet.mergeOverlay({ minor, local, overlay: text, strict: false });
};
const drain = (text, before, newSlice) =>
  relet.drainNeed(text, { ...alike, local: small, before }, async () => newSlice());

/** A name; for a size the work and its arguments; and how many kubelets it asks. */
const works = [
  ...Object.keys(bodies).flatMap((body) => {
    const one = (size) => whole(body, size, 1);
    const halves = (size) => [whole(body, size / 2, 1), whole(body, size / 2, 2)];
    return [
      [`check, ${body}`, (size) => [relet.check, one(size), { minor }]],
      [`checkOverlay, ${body}`, (size) => [relet.checkOverlay, overlay(body, size, 1), { minor, local: [] }]],
      [`mergeOverlay, ${body}`, (size) => [merge, [whole(body, size / 2, 1)], overlay(body, size / 2, 2)]],
      [`mergeOverlay of drop-ins, ${body}`, (size) => [merge, halves(size), smallOverlay]],
      [`set, ${body}`, (size) => [assess, one(size), small]],
      [`set, overlay, ${body}`, (size) => [assess, overlay(body, size, 1), small]],
      [`set, drain, ${body}`, (size) => [drain, ...halves(size)]],
      [`same meaning, ${body}`, (size) => [relet.sameMeaning, ...halves(size), minor]],
      [`isOverlay, ${body}`, (size) => [relet.isOverlay, `${one(size)}# KubeletConfigurationOverlay\n`]],
      [`upgradeCheck 24 to 37, ${body}`, (size) => [relet.upgradeCheck, one(size), { from: 24, to: 37 }], 14],
    ];
  }),
  ...Object.entries(unsets).flatMap(([name, unset]) => [
    [`checkOverlay, ${name}`, (size) => [relet.checkOverlay, unset(size), { minor, local: [] }]],
    [
      `mergeOverlay, ${name}`,
      (size) => {
        const body = name === 'unset of gates' ? 'feature gates, other keys' : 'kubeReserved';
        return [merge, [whole(body, size / 2, 1)], unset(size / 2)];
      },
    ],
    [`set, ${name}`, (size) => [assess, unset(size), small]],
  ]),
  ...Object.entries(reported).flatMap(([name, report]) => [
    [`set, node reports ${name}`, (size) => [assess, whole('one long text', 10, 1), report(size, 1)]],
    [`set, overlay, node reports ${name}`, (size) => [assess, smallOverlay, report(size, 1)]],
  ]),
];

/** A name, and for a size the two texts. */
const comparisons = [
  ...Object.keys(bodies).flatMap((body) => [
    [`dashboard diff of configs, ${body}`, (size) => [whole(body, size / 2, 1), whole(body, size / 2, 2)]],
    [`dashboard diff of overlays, ${body}`, (size) => [overlay(body, size / 2, 1), overlay(body, size / 2, 2)]],
  ]),
  ...Object.entries(unsets).map(([name, unset]) => [
    `dashboard diff of overlays, ${name}`,
    (size) => [unset(size), smallOverlay],
  ]),
];

const pause = new Int32Array(new SharedArrayBuffer(4));

/** CPU time of the main thread, for which all requests wait; of the process on a system that does not report it by thread. */
function cpuMs() {
  try {
    // The kernel counts at its ticks, 4 ms apart, and when the thread sleeps.
    Atomics.wait(pause, 0, 0, 0.1);
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/** The documents that were read last stay parsed; a text that comes for the first time does not find them. */
let forgotten = 0;
async function forgetDocuments() {
  for (let i = 0; i < 8; i++) relet.readDocument(`forget: ${forgotten++}\n`);
  // The targets of new weak references are kept until the end of the turn.
  await setImmediate();
}

/** The best of some runs, in CPU time, which a busy machine stretches least; of a run the longest slice. Throwing is an answer too. */
async function measure([work, ...args], kubelets) {
  let best = Number.POSITIVE_INFINITY;
  const began = performance.now();
  let outcome = '';
  for (let run = 0; run < 5 && (run === 0 || performance.now() - began < 1500); run++) {
    await forgetDocuments();
    let longest = 0;
    let from = cpuMs();
    const newSlice = () => {
      longest = Math.max(longest, cpuMs() - from);
      from = cpuMs();
    };
    try {
      await work(...args, newSlice);
    } catch (error) {
      outcome = error.name === 'Error' ? error.message.slice(0, 40) : error.name;
    }
    newSlice();
    best = Math.min(best, longest);
  }
  return { ms: best / kubelets, outcome };
}

const rows = [];
for (const [name, prepare, kubelets = 1] of works.filter(([name]) => name.includes(values.only))) {
  // From small to large: a quadratic one is given up before it takes minutes.
  let last = { ms: 0.1 };
  let previous = last;
  let size = bytes / 8;
  for (; size <= bytes; size *= 2) {
    previous = last;
    last = await measure(prepare(size), kubelets);
    if (last.ms * kubelets > 4000) break;
  }
  rows.push({ name, ...last, ratio: last.ms / previous.ms, at: Math.min(size, bytes) });
}
const compared = comparisons.filter(([name]) => name.includes(values.only));
const dashboard = compared.length > 0 ? await startDashboard() : undefined;
for (const [name, texts] of compared) {
  const half = await dashboard.compare(...texts(bytes / 2));
  const last = await dashboard.compare(...texts(bytes));
  rows.push({ name, ...last, ratio: last.ms / half.ms, at: bytes });
}
await dashboard?.stop();
rows.sort((a, b) => b.ms - a.ms);
for (const { name, ms, ratio, at, outcome } of rows.filter((row, at) => values.all || row.ms > want || at < 15))
  console.log(
    `${ms.toFixed(1).padStart(8)} ms at ${Math.round(at / 1000)} kB, ${ratio.toFixed(1)} × that of half  ${name}${outcome ? `  (${outcome})` : ''}`,
  );
const slow = rows.filter(({ ms }) => ms > want).length;
const quadratic = rows.filter(({ ms, ratio }) => ms > 5 && ratio > 3).length;
console.log(
  `${rows.length} measured with ${bytes / 1000} kB: ${slow} take more than ${want} ms of CPU, ${quadratic} more than 3 × the time of half; the slowest: ${rows[0]?.name}, ${rows[0]?.ms.toFixed(1)} ms`,
);
process.exitCode = slow === 0 ? 0 : 1;
