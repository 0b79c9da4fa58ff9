/**
 * `npm run release:fetch`: brings what runtime.lock.json names into .release-cache, each checked by its hash. After that a release
 * needs no network.
 *
 *   --update     write the lock again: the newest Node.js of the same line for both architectures, the newest libraries
 *   --outdated   exit with 1 if a newer Node.js of the same line is there for both architectures; changes nothing
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { architectures, lockPath, parts, readLock } from './runtime.mjs';

const { values } = parseArgs({
  options: {
    cache: { type: 'string', default: '.release-cache' },
    update: { type: 'boolean', default: false },
    outdated: { type: 'boolean', default: false },
  },
});
/** A mirror of Debian, which has `debian` and `debian-security` below it. */
const mirror = process.env.RELET_DEBIAN_MIRROR ?? 'http://deb.debian.org';
const libraries = ['gcc-14-base', 'libgcc-s1', 'libstdc++6', 'libc6'];

const view = (...args) => JSON.parse(execFileSync('npm', ['view', '--json', ...args], { encoding: 'utf8' }));
const inOrder = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** The newest version of a line of Node.js that is there for every architecture. */
function newestNode({ node }) {
  const [line] = node.version.split('.');
  const lists = architectures.map((arch) => view(node.packages[arch].name, 'versions'));
  const common = lists[0].filter((version) => lists.every((list) => list.includes(version)));
  return common
    .filter((version) => version.startsWith(`${line}.`))
    .sort(inOrder)
    .at(-1);
}

async function download(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return Buffer.from(await answer.arrayBuffer());
}

/** The newest of each library, from the lists of the distribution and its security updates. */
async function newestLibraries({ distribution }, arch) {
  const lists = [`debian/dists/${distribution}`, `debian-security/dists/${distribution}-security`];
  const found = new Map();
  for (const list of lists) {
    const input = await download(`${mirror}/${list}/main/binary-${arch}/Packages.xz`);
    const text = execFileSync('xz', ['-dc'], { input, maxBuffer: 2 ** 31, encoding: 'utf8' });
    for (const paragraph of text.split('\n\n')) {
      const field = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1];
      const name = field('Package');
      const version = field('Version');
      if (!libraries.includes(name) || inOrder(found.get(name)?.version ?? '', version) > 0) continue;
      found.set(name, { name, version, path: `${list.split('/')[0]}/${field('Filename')}`, sha256: field('SHA256') });
    }
  }
  return libraries.map((name) => found.get(name));
}

async function update(lock) {
  const version = newestNode(lock);
  const next = structuredClone(lock);
  next.node.version = version;
  for (const arch of architectures) {
    const { name } = lock.node.packages[arch];
    next.node.packages[arch] = { name, integrity: view(`${name}@${version}`, 'dist.integrity') };
    next.base.packages[arch] = await newestLibraries(lock.base, arch);
  }
  writeFileSync(lockPath, `${JSON.stringify(next, null, 2)}\n`);
  return next;
}

async function bring(part) {
  const path = join(values.cache, part.file);
  if (existsSync(path) && part.isRight(readFileSync(path))) return 'is there';
  if (part.kind === 'node') {
    const args = ['pack', '--silent', '--pack-destination', values.cache, `${part.name}@${part.version}`];
    execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  } else writeFileSync(path, await download(`${mirror}/${part.path}`));
  if (part.isRight(readFileSync(path))) return 'fetched';
  renameSync(path, `${path}.wrong`);
  throw new Error(`${part.file} does not have the hash of the lock, ${part.digest}; kept as ${path}.wrong`);
}

let lock = readLock();
if (values.outdated) {
  const newest = newestNode(lock);
  console.log(
    `Node.js ${lock.node.version} is pinned, ${newest} is the newest of its line for ${architectures.join(' and ')}`,
  );
  process.exitCode = newest === lock.node.version ? 0 : 1;
} else {
  if (values.update) lock = await update(lock);
  mkdirSync(values.cache, { recursive: true });
  for (const part of parts(lock)) console.log(`${part.file}: ${await bring(part)}`);
}
