/**
 * `npm run setup`: installs the programs that tests use and this machine lacks, as root where there is apt-get.
 * Otherwise prints which tests will be skipped. Never fails: without these programs the other tests still run.
 */
import { spawnSync } from 'node:child_process';
import { has, missingPrograms, skipLines } from './programs.mjs';

const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
const apt = (...args) =>
  spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
const install = (names) => apt('install', '-y', '--no-install-recommends', ...names);

const packagesOf = (programs) => programs.flatMap((program) => program.package ?? []);
const packages = packagesOf(missingPrograms());
if (packages.length > 0 && process.getuid?.() === 0 && has('apt-get')) {
  console.log(`setup: installing ${packages.join(', ')}`);
  if (!install(packages)) {
    // The list of packages may be old, and one that is not to be had should not cost the others.
    apt('update');
    for (const name of packages) install([name]);
  }
}
const missing = missingPrograms();
const toInstall = packagesOf(missing);
const remedy = toInstall.length > 0 ? ` To install: apt-get install ${toInstall.join(' ')}` : '';
console.log(
  missing.length === 0
    ? 'setup: every program that tests use is installed'
    : [`setup: some tests will be skipped.${remedy}`, ...skipLines(missing)].join('\n'),
);
