/**
 * `npm run stryker -- [--part PART]... [--mutate FILE:FROM-TO] [--details]`: the mutation scores in docs/reliability.md. StrykerJS
 * changes one expression at a time, and one of the tests beside the code must fail.
 *
 * PART is rollout, agent or signing; all of them unless given. --mutate changes only these lines of a file of the part, and --details
 * prints the mutants that no test found. A second run tries only those again, as long as node_modules/.cache/stryker has the results of
 * the first. StrykerJS is not a dependency of relet: without it, this prints the command that installs it.
 */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readOptions } from './usage.mjs';

/** By part: the mutated files, and the tests that must find the mutants. Fast ones: a mutant runs all of them that reach it. */
const parts = {
  rollout: { mutate: ['src/rollout/plan.ts'], testFiles: ['src/rollout/{plan,plan-reasons,open-batch,steps}.test.ts'] },
  agent: {
    mutate: ['src/agent/{candidates,choose,transitions}.ts'],
    testFiles: ['src/agent/{choose,transitions}.test.ts'],
  },
  signing: { mutate: ['src/config/signing/*.ts', '!**/*.test.ts'], testFiles: ['src/config/signing/*.test.ts'] },
};

const { values } = readOptions({
  options: {
    part: { type: 'string', multiple: true, default: Object.keys(parts) },
    mutate: { type: 'string' },
    details: { type: 'boolean', default: false },
  },
});

// Below node_modules, so that it loads the vitest of this project.
const home = 'node_modules/.cache/stryker';
const modules = resolve(home, 'node_modules/@stryker-mutator');
if (!existsSync(join(modules, 'vitest-runner'))) {
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@9.6.1`).join(' ');
  console.error(`StrykerJS is missing: npm install --prefix ${home} --no-save --legacy-peer-deps ${packages}`);
  process.exit(1);
}
const urlOf = (path) => pathToFileURL(join(modules, path, 'dist/src/index.js')).href;
const { Stryker } = await import(urlOf('core'));

for (const name of values.part) {
  const part = parts[name];
  if (part === undefined) throw new Error(`no part ${name}; known: ${Object.keys(parts).join(', ')}`);
  await new Stryker({
    ...part,
    ...(values.mutate && { mutate: [values.mutate] }),
    testRunner: 'vitest',
    vitest: { related: false },
    plugins: [urlOf('vitest-runner')],
    coverageAnalysis: 'perTest',
    concurrency: 2,
    // A mutant that is slow on a busy machine was not found.
    timeoutMS: 60_000,
    tempDirName: join(tmpdir(), 'relet-stryker'),
    cleanTempDir: 'always',
    tsconfigFile: 'none',
    ignorePatterns: ['/*', '!/src', '!/test', '!/vitest.config.ts', '!/package.json', '!/tsconfig.json'],
    incremental: true,
    incrementalFile: join(home, `${name}.json`),
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { reportTests: false, reportMutants: values.details, allowEmojis: false },
    allowConsoleColors: false,
    logLevel: 'warn',
  }).runMutationTest();
}
