/**
 * `npm run simulate -- [--seed S] [--from N] [--runs N] [--mutation NAME | --mutations [--only NAME,…]] [--keep-going] [--history]`:
 * runs fault schedules by seed against the promises of docs/reliability.md. Seeds are S-1, S-2 and so on.
 *
 * A failure is printed with its seed, the commit and a shortened history, or with --history with all of it, and ends the run; with
 * --keep-going only its seed and what was broken are printed. --mutations takes safety lines out of the product, one at a time.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
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
  },
});
const first = Number(values.from);
const last = first + Number(values.runs) - 1;
const seedOf = (run) => `${values.seed}-${run}`;

/** The simulation as one module, with a line of the product taken out where a mutation is named. */
async function load(mutation) {
  const { build } = await import('esbuild');
  const dir = join(root, 'node_modules/.cache/simulate');
  mkdirSync(dir, { recursive: true });
  const outfile = join(dir, `${mutation ?? 'as-is'}-${process.pid}.mjs`);
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
  const startedMs = performance.now();
  let virtualMs = 0;
  let failed = 0;
  for (let run = first; run <= last; run++) {
    const result = await simulate(makeSchedule(seedOf(run)), manifests);
    virtualMs += result.run.history.entries.at(-1)?.atMs ?? 0;
    if (result.violations.length > 0) {
      failed++;
      console.log(`seed ${seedOf(run)}, commit ${commit}: ${describeFirst(result)}`);
      if (!values['keep-going']) {
        console.log(values.history ? module.describe(result) : await shortened(module, result));
        break;
      }
    }
    if ((run - first + 1) % 100 === 0)
      console.log(
        `${run - first + 1} schedules to seed ${seedOf(run)}, ${failed} failed, ${(virtualMs / 3_600_000).toFixed(1)} h of virtual time in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`,
      );
  }
  if (failed === 0) console.log(`schedules ${seedOf(first)} to ${seedOf(last)}: every promise was kept`);
  return failed;
}

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
