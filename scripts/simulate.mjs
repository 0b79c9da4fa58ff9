/**
 * Runs fault schedules by seed until one breaks a promise: npm run simulate -- [--seed S] [--runs N] [--mutation NAME].
 * Seeds are S-1, S-2 and so on. A failure is printed with its seed, the commit and a shortened history.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { mutated, mutations } from './mutations.mjs';

const root = new URL('..', import.meta.url).pathname;
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1000' },
    mutation: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    history: { type: 'boolean', default: false },
  },
});

/** The simulation as one module, with a line of the product taken out where a mutation is named. */
async function load(mutation) {
  const { build } = await import('esbuild');
  const dir = join(root, 'node_modules/.cache/simulate');
  mkdirSync(dir, { recursive: true });
  const outfile = join(dir, `${mutation ?? 'as-is'}-${process.pid}.mjs`);
  await build({
    stdin: {
      contents: `export * from './src/lab/simulation/simulate.js'; export { readManifests } from './src/lab/manifests.js';`,
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
  return module;
}

/** The first seed that breaks a promise; undefined when none did. */
async function find({ simulate, makeSchedule, readManifests }, { seed, runs }, onRun = () => {}) {
  const manifests = ['base', 'guards'].flatMap((part) => readManifests(join(root, 'deploy', part)));
  // Errors are thrown and caught by the thousand; their stacks are not read.
  Error.stackTraceLimit = 0;
  for (let run = 1; run <= runs; run++) {
    const result = await simulate(makeSchedule(`${seed}-${run}`), manifests);
    onRun(run, result);
    if (result.violations.length > 0) return { run, result, manifests };
  }
  return undefined;
}

const options = { seed: values.seed, runs: Number(values.runs) };

if (values.mutations) {
  let isMissed = false;
  for (const { name } of mutations) {
    const found = await find(await load(name), options);
    isMissed ||= found === undefined;
    const what =
      found === undefined
        ? `not found in ${options.runs} runs`
        : `seed ${options.seed}-${found.run}: promise ${found.result.violations[0].promise}, ${found.result.violations[0].what}`;
    console.log(`${name.padEnd(40)} ${what}`);
  }
  process.exit(isMissed ? 1 : 0);
}

const module = await load(values.mutation);
const startedMs = performance.now();
let virtualMs = 0;
const found = await find(module, options, (run, { run: { history } }) => {
  virtualMs += history.entries.at(-1)?.atMs ?? 0;
  if (run % 100 === 0)
    console.log(
      `${run} schedules, ${(virtualMs / 3_600_000).toFixed(1)} h of virtual time in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`,
    );
});
if (found === undefined) console.log(`${options.runs} schedules from seed ${options.seed}: every promise was kept`);
else {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const shortest = values.history ? found.result : await module.shorten(found.result, found.manifests);
  console.log(
    `seed ${options.seed}-${found.run}, commit ${commit}${values.mutation ? `, mutation ${values.mutation}` : ''}`,
  );
  console.log(module.describe(shortest));
  process.exit(1);
}
