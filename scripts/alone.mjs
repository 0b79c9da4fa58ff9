/**
 * `node scripts/alone.mjs [COUNT] [--seed N] [FILE…]`: runs COUNT tests (default 50), chosen at random, each alone in a vitest of
 * its own, and prints those that fail. A test that fails here and passes with its file depends on the tests before it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { readOptions } from './usage.mjs';

const { values, positionals: words } = readOptions({ options: { seed: { type: 'string' } }, allowPositionals: true });
const seed = Number(values.seed ?? Date.now() % 100_000);
const count = /^\d+$/.test(words[0] ?? '') ? Number(words.shift()) : 50;
const dir = mkdtempSync(join(tmpdir(), 'relet-alone-'));

const vitest = (...args) => spawnSync('npx', ['--no-install', 'vitest', ...args], { encoding: 'utf8' });

/** Tests by file and full name; a name that is in a file twice is left out, since a pattern cannot tell them apart. */
function allTests() {
  const list = join(dir, 'list.json');
  const { status, stderr } = vitest('list', `--json=${list}`, ...words);
  if (status !== 0) throw new Error(`vitest list: ${stderr}`);
  const tests = JSON.parse(readFileSync(list, 'utf8')).map(({ file, name }) => ({ file: relative('.', file), name }));
  const times = new Map();
  for (const test of tests) times.set(key(test), (times.get(key(test)) ?? 0) + 1);
  return tests.filter((test) => times.get(key(test)) === 1);
}

const key = ({ file, name }) => `${file}\n${name}`;

/** Numbers from 0 to 1 that the seed decides (mulberry32). */
function randomOf(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** vitest matches -t against the titles with spaces between them. */
const pattern = (name) => `^${name.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;

const tests = allTests();
const random = randomOf(seed);
const chosen = Array.from({ length: Math.min(count, tests.length) }, () => tests.splice(random() * tests.length, 1)[0]);
console.log(`seed ${seed}: ${chosen.length} of ${tests.length + chosen.length} tests, each alone`);
const results = { passed: 0, 'failed alone': 0, 'did not run': 0 };
for (const { file, name } of chosen) {
  const { status, stdout } = vitest('run', file, '-t', pattern(name), '--reporter=dot', '--no-color');
  // A test that is skipped on this machine did not run, and neither did one whose name -t does not find.
  const result = status !== 0 ? 'failed alone' : /\bTests +1 passed/.test(stdout) ? 'passed' : 'did not run';
  results[result]++;
  if (result !== 'passed')
    console.log(`${result}: npx vitest run ${file} -t '${pattern(name).replaceAll("'", "'\\''")}'`);
}
console.log(
  Object.entries(results)
    .map(([result, times]) => `${times} ${result}`)
    .join(', '),
);
rmSync(dir, { recursive: true, force: true });
process.exitCode = results['failed alone'] > 0 ? 1 : 0;
