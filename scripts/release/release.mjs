/**
 * `npm run release -- --out DIR`: everything of a release up to the upload, without a container engine and, after
 * `npm run release:fetch`, without a network. RELEASING.md describes the steps around it.
 *
 *   --check      build twice, in two directories, with another umask, time zone, locale and clock; fail on any other byte
 *   --key FILE   sign SHA256SUMS: an SSH private key with ssh-keygen; a key of cosign (*.key) with cosign
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sha256 } from './archive.mjs';
import { repository } from './names.mjs';
import { sign } from './sign.mjs';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    check: { type: 'boolean', default: false },
    key: { type: 'string' },
    cache: { type: 'string', default: join(repository, '.release-cache') },
  },
});
const git = (...args) => execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trimEnd();
const cache = resolve(values.cache);

/** A copy of the files that git tracks, with the installed packages; `time` becomes the time of its files. */
function stage(dir, time) {
  mkdirSync(dir, { recursive: true });
  for (const name of git('ls-files', '-z').split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    cpSync(join(repository, name), join(dir, name));
    utimesSync(join(dir, name), time, time);
  }
  // Links where the file system allows: only the paths matter.
  const from = join(repository, 'node_modules');
  if (spawnSync('cp', ['-al', from, dir]).status !== 0) execFileSync('cp', ['-a', from, dir]);
}

/** `Date` of Node.js, in every process of a build, some days later. */
const laterClock = (days) =>
  `--import=data:text/javascript,${encodeURIComponent(
    `const real=Date.now;Date.now=()=>real()+${days * 86_400_000};globalThis.Date=class extends Date{constructor(...a){a.length?super(...a):super(Date.now())}};`,
  )}`;

function build(dir, out, { umask = '022', env = {}, time = new Date() } = {}) {
  stage(dir, time);
  const run = (...args) => {
    const quiet = { ...process.env, ...env, npm_config_loglevel: 'error' };
    const command = ['-c', `umask ${umask} && exec "$0" "$@"`, process.execPath, ...args];
    const { status } = spawnSync('sh', command, { cwd: dir, env: quiet, stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw new Error(`${args[0]} failed in ${dir}`);
  };
  console.error('building the bundles');
  run('scripts/build.mjs');
  console.error('making the artefacts');
  const isDirty = git('status', '--porcelain') !== '';
  const dates = ['--commit', git('rev-parse', 'HEAD'), '--time', git('log', '-1', '--format=%ct')];
  run('scripts/release/assemble.mjs', '--out', out, '--cache', cache, ...dates, ...(isDirty ? ['--dirty'] : []));
}

function table(out) {
  const rows = readdirSync(out)
    .sort()
    .map((name) => {
      const bytes = statSync(join(out, name)).size;
      const size = bytes > 1e5 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
      return [name, size, `sha256:${sha256(readFileSync(join(out, name)))}`];
    });
  const width = (column) => Math.max(...rows.map((row) => row[column].length));
  const line = ([name, size, digest]) => `${name.padEnd(width(0))}  ${size.padStart(width(1))}  ${digest}`;
  return rows.map(line).join('\n');
}

/** Names of files that differ, or that only one of two directories has. */
function differences(one, other) {
  const names = new Set([...readdirSync(one), ...readdirSync(other)]);
  const read = (dir, name) => {
    try {
      return sha256(readFileSync(join(dir, name)));
    } catch {
      return undefined;
    }
  };
  return [...names].filter((name) => read(one, name) !== read(other, name)).sort();
}

function main() {
  if (values.out === undefined && !values.check) {
    console.error('usage: npm run release -- --out DIR [--key FILE] | --check');
    process.exitCode = 2;
    return;
  }
  mkdirSync(cache, { recursive: true });
  // Beside the installed packages, so that they can be linked.
  const work = mkdtempSync(join(cache, 'build-'));
  try {
    const out = resolve(values.out ?? join(work, 'out'));
    build(join(work, 'a'), out);
    if (values.check) {
      console.error('once more, elsewhere');
      const env = {
        TZ: 'Pacific/Kiritimati',
        LC_ALL: 'tr_TR.UTF-8',
        LANG: 'tr_TR.UTF-8',
        NODE_OPTIONS: laterClock(400),
      };
      const again = join(work, 'again');
      build(join(work, 'another/directory'), again, { umask: '077', env, time: new Date(Date.now() - 4e10) });
      const found = differences(out, again);
      if (found.length > 0) throw new Error(`two builds differ in ${found.join(', ')}`);
    }
    if (values.key !== undefined) sign(out, resolve(values.key));
    console.log(table(out));
    if (values.check) console.log('check: both builds are the same, byte by byte');
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  main();
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
