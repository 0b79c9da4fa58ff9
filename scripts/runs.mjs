/**
 * `node scripts/runs.mjs [--out DIR] [KIND…]`: runs the README's test line from fresh clones of HEAD, one after the other, without
 * retries. Keeps each log, and prints the time and load of each run (the machine's average over the last 15 minutes of it), which tests
 * failed, how often, and the ten slowest. Exits with 1 when a run failed.
 *
 *   quiet     as it is                     node22, node24   with that version, from the npm registry
 *   busy      beside two busy loops        unusual          as a user without root, in a directory with a space and letters beyond
 *   build     beside builds of relet                        ASCII, without HOME, network or IPv6, ports 6443 and 8001 taken,
 *                                                           with another language and time zone (needs root)
 *   home      as a user without root whose HOME is read-only (needs root)
 */
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { readOptions } from './usage.mjs';

const root = join(import.meta.dirname, '..');
const usual = [...Array(5).fill('quiet'), 'busy', 'busy', 'build', 'node22', 'node24'];
const line = readFileSync(join(root, '.ci/run'), 'utf8').trimEnd().split('\n').at(-1);

const busyLoop = ['-e', 'for (;;);'];
/** Other work while the tests run. */
const beside = {
  busy: () => [start(process.execPath, busyLoop), start(process.execPath, busyLoop)],
  build: () => [start('sh', ['-c', 'while :; do node scripts/build.mjs && node scripts/check.mjs; done'])],
};
const start = (file, args) => spawn(file, args, { cwd: root, stdio: 'ignore', detached: true });

const nobody = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
const takePort = (port) => `node -e "require('net').createServer().listen(${port}, '127.0.0.1')" &`;
/** Environments of the test line that need more than a process beside it. Packages come from the network, so `npm ci` is outside. */
const environments = {
  unusual: (afterInstall) => [
    'ip link set lo up; sysctl -qw net.ipv6.conf.all.disable_ipv6=1',
    `${takePort(6443)} ${takePort(8001)}`,
    `env -u HOME TZ=Pacific/Chatham LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 ${nobody} sh -c '${afterInstall}'`,
  ],
  home: (afterInstall) => ['mkdir -m 555 ../home', `HOME="$PWD/../home" ${nobody} sh -c '${afterInstall}'`],
};

function shellLine(kind, dir) {
  if (!(kind in environments)) return line;
  const [install, ...rest] = line.split(' && ');
  const inside = environments[kind](rest.join(' && ')).join('\n');
  writeFileSync(join(dir, 'inside.sh'), `${inside}\n`);
  const apart = kind === 'unusual' ? '--net' : '--uts';
  return `${install} && chown -R 65534:65534 . && unshare ${apart} sh ${join(dir, 'inside.sh')}`;
}

/** A PATH on which `node` has that version. */
function pathWith(kind, out) {
  const version = /^node(\d+)$/.exec(kind)?.[1];
  if (version === undefined) return process.env.PATH;
  const dir = join(out, kind);
  const name = `node-linux-${process.arch}`;
  if (!existsSync(dir)) must('npm', ['install', '--prefix', dir, '--no-save', `${name}@${version}`]);
  return `${join(dir, 'node_modules', name, 'bin')}:${process.env.PATH}`;
}

function must(file, args, options) {
  const { status, stderr } = spawnSync(file, args, { encoding: 'utf8', ...options });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: exit code ${status}: ${stderr}`);
}

function run(kind, at, out) {
  const dir = join(out, `${at}-${kind}`);
  // Readable for the user without root.
  const clone = join(dir, kind === 'unusual' ? 'relet übung é' : 'relet');
  mkdirSync(dir, { recursive: true });
  must('git', ['clone', '--quiet', root, clone]);
  const results = join(dir, 'results.json');
  writeFileSync(results, '');
  chmodSync(results, 0o666);
  const log = openSync(join(dir, 'log'), 'a');
  const env = { ...process.env, PATH: pathWith(kind, out), CI: 'true', RELET_TEST_RESULTS: results };
  const others = beside[kind]?.() ?? [];
  const from = Date.now();
  const { status } = spawnSync('bash', ['-c', shellLine(kind, dir)], { cwd: clone, env, stdio: ['ignore', log, log] });
  const minutes = (Date.now() - from) / 60_000;
  const load = loadavg()[2];
  for (const { pid } of others) process.kill(-pid, 'SIGKILL');
  const text = readFileSync(results, 'utf8');
  return {
    kind,
    status,
    minutes,
    load,
    log: join(dir, 'log'),
    ...(text === '' ? { tests: [], errors: [] } : JSON.parse(text)),
  };
}

const { values, positionals } = readOptions({ options: { out: { type: 'string' } }, allowPositionals: true });
const out = resolve(values.out ?? `/tmp/relet-runs-${process.pid}`);
mkdirSync(out, { recursive: true });
const runs = [];
const print = (text) => {
  console.log(text);
  appendFileSync(join(out, 'summary'), `${text}\n`);
};
for (const [index, kind] of (positionals.length > 0 ? positionals : usual).entries()) {
  const done = run(kind, index + 1, out);
  runs.push(done);
  const count = (state) => done.tests.filter((test) => test.state === state).length;
  const result = done.status === 0 ? 'green' : `exit code ${done.status}`;
  const counts = `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
  const spent = `${done.minutes.toFixed(1)} min, load ${done.load.toFixed(1)}`;
  print(`run ${index + 1} ${kind.padEnd(8)} ${spent}  ${result}  ${counts}  ${done.log}`);
  for (const { file, message } of done.errors) print(`  error outside of any test in ${file}: ${message}`);
}

const byTest = new Map();
for (const test of runs.flatMap(({ tests }) => tests)) {
  const name = `${test.file}: ${test.name}`;
  byTest.set(name, [...(byTest.get(name) ?? []), test]);
}
const failed = [...byTest].map(([name, tests]) => ({
  name,
  times: tests.filter(({ state }) => state === 'failed').length,
}));
const failures = failed.filter(({ times }) => times > 0).sort((a, b) => b.times - a.times);
for (const { log } of runs.filter(({ tests }) => tests.length === 0)) print(`ended before its tests: ${log}`);
print(failures.length === 0 ? 'no test failed' : 'tests that failed:');
for (const { name, times } of failures) print(`  ${times} of ${runs.length}  ${name}`);
const slowest = [...byTest]
  .map(([name, tests]) => ({ name, ms: Math.max(...tests.map(({ ms }) => ms)) }))
  .sort((a, b) => b.ms - a.ms)
  .slice(0, 10);
print('the ten slowest tests, in their slowest run:');
for (const { name, ms } of slowest) print(`  ${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`);
process.exitCode = runs.every(({ status }) => status === 0) ? 0 : 1;
