/**
 * `npm run simulate -- [--seed S] [--from N] [--runs N | --forever [--state FILE]] [--mutation NAME | --mutations [--only NAME,…]]
 * [--keep-going] [--history]`: runs fault schedules by seed against the promises of docs/reliability.md. Seeds are S-1, S-2 and so on.
 *
 * A failure is printed with its seed, the commit and a shortened history, or with --history with all of it, and ends the run; with
 * --keep-going only its seed and what was broken are printed. --mutations takes safety lines out of the product, one at a time. --forever
 * keeps going until it is stopped, and records in FILE how far it is: started again, it continues at the next seed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mutated, mutations } from './mutations.mjs';
import { readOptions } from './usage.mjs';

const root = join(import.meta.dirname, '..');
const { values } = readOptions({
  options: {
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1000' },
    mutation: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    only: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
    history: { type: 'boolean', default: false },
    forever: { type: 'boolean', default: false },
    state: { type: 'string' },
  },
});
const first = Number(values.from);
const last = values.forever ? Number.POSITIVE_INFINITY : first + Number(values.runs) - 1;
const cache = join(root, 'node_modules/.cache/simulate');
const seedOf = (run) => `${values.seed}-${run}`;

/** The simulation as one module, with a line of the product taken out where a mutation is named. */
async function load(mutation) {
  const { build } = await import('esbuild');
  mkdirSync(cache, { recursive: true });
  const outfile = join(cache, `${mutation ?? 'as-is'}-${process.pid}.mjs`);
  await build({
    stdin: {
      contents: [
        ...['schedule', 'simulate', 'shorten'].map((name) => `export * from './src/lab/faults/${name}.js';`),
        "export { readManifests } from './src/rehearsal/manifests.js';",
      ].join(''),
      resolveDir: root,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    logLevel: 'warning',
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    plugins: mutation === undefined ? [] : [mutated(mutation, root)],
  });
  const module = await import(pathToFileURL(outfile).href);
  rmSync(outfile);
  const manifests = ['base', 'guards', 'kube-system', 'drain'].flatMap((part) =>
    module.readManifests(join(root, 'deploy', part)),
  );
  return { ...module, manifests };
}

const describeFirst = ({ violations: [{ promise, what }] }) => `promise ${promise}, ${what}`;

async function runMutations(names) {
  let missed = 0;
  for (const name of names) {
    const { simulate, makeSchedule, manifests } = await load(name);
    let found;
    for (let run = first; run <= last && found === undefined; run++) {
      const result = await simulate(makeSchedule(seedOf(run)), manifests);
      if (result.violations.length > 0) found = `seed ${seedOf(run)}: ${describeFirst(result)}`;
    }
    if (found === undefined) missed++;
    console.log(`${name.padEnd(40)} ${found ?? `not found by seeds ${seedOf(first)} to ${seedOf(last)}`}`);
  }
  return missed;
}

async function runSchedules() {
  const module = await load(values.mutation);
  const { simulate, makeSchedule, manifests } = module;
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root, encoding: 'utf8' }).trim();
  console.log(`commit ${commit}${values.mutation ? `, mutation ${values.mutation}` : ''}`);
  const file = values.state ?? join(cache, `forever-${values.seed}.json`);
  const isContinued = values.forever && existsSync(file);
  const state = isContinued
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { first, next: first, failed: 0, virtualMs: 0, seconds: 0 };
  if (isContinued) console.log(`continues at seed ${seedOf(state.next)}: ${progress(state)}`);
  const save = () => {
    writeFileSync(`${file}.new`, JSON.stringify(state));
    renameSync(`${file}.new`, file);
  };
  for (; state.next <= last; ) {
    const startedMs = performance.now();
    const seed = seedOf(state.next++);
    const result = await simulate(makeSchedule(seed), manifests);
    state.virtualMs += result.run.history.entries.at(-1)?.atMs ?? 0;
    state.seconds += (performance.now() - startedMs) / 1000;
    if (result.violations.length > 0) {
      state.failed++;
      console.log(`seed ${seed}, commit ${commit}: ${describeFirst(result)}`);
      if (!values['keep-going'] && !values.forever) {
        console.log(values.history ? module.describe(result) : await shortened(module, result));
        break;
      }
    }
    if (values.forever) save();
    if ((state.next - state.first) % 100 === 0) console.log(progress(state));
  }
  const { failed } = state;
  if (failed === 0) console.log(`schedules ${seedOf(first)} to ${seedOf(last)}: every promise was kept`);
  return failed;
}

const progress = ({ first, next, failed, virtualMs, seconds }) =>
  `${next - first} schedules to seed ${seedOf(next - 1)}, ${failed} failed, ${(virtualMs / 3_600_000).toFixed(1)} h of virtual time in ${seconds.toFixed(0)} s`;

async function shortened({ simulate, shorten, describe, manifests }, result) {
  const untilMs = performance.now() + 60_000;
  const { shortest, leftOut, runs, isComplete } = await shorten(result, {
    run: (schedule) => simulate(schedule, manifests),
    mayContinue: () => performance.now() < untilMs,
  });
  const { length } = result.run.schedule.actions;
  const end = isComplete ? 'no other can be left out' : 'stopped after a minute';
  return `${leftOut} of ${length} actions left out in ${runs} runs, ${end}\n${describe(shortest)}`;
}

const names = values.only?.split(',') ?? mutations.map(({ name }) => name);
const failures = values.mutations ? await runMutations(names) : await runSchedules();
process.exitCode = failures > 0 ? 1 : 0;
