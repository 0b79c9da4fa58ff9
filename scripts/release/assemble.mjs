/**
 * Makes the artefacts of a release from what is built in this checkout and from the fetched runtime. scripts/release/release.mjs runs
 * it in a copy of the repository; it takes no time, user or setting of the machine into what it makes.
 *
 *   node scripts/release/assemble.mjs --out DIR --cache DIR [--lock FILE] [--commit HASH] [--time SECONDS] [--dirty] [--fast]
 *
 * `--fast` compresses little, for tests.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { imageConfig, writeTree } from '../image.mjs';
import { addImage, OciLayout, sha256, tarOf, xz } from './archive.mjs';
import { charts } from './charts.mjs';
import { manPage } from './man.mjs';
import { about, image, repository, source, version } from './names.mjs';
import { checksums, images, krew, notes, provenance } from './papers.mjs';
import { architectures, components, parts, readLock, readPart, unpackBase, unpackNode } from './runtime.mjs';
import { contentsOf, cycloneDx, spdx, writeSbom } from './sbom.mjs';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    cache: { type: 'string' },
    lock: { type: 'string' },
    commit: { type: 'string', default: '0'.repeat(40) },
    time: { type: 'string', default: '0' },
    dirty: { type: 'boolean', default: false },
    fast: { type: 'boolean', default: false },
  },
});
const { out, cache } = values;
const lock = readLock(values.lock);
const created = new Date(Number(values.time) * 1000).toISOString().replace('.000Z', 'Z');
const work = mkdtempSync(join(tmpdir(), 'relet-assemble-'));
const digests = [];
/** Compression level of gzip and of xz. */
const level = values.fast ? 1 : 6;

/** V8's caches differ from build to build, and are good for one version of Node.js only. */
const codeCaches = /^dist\/code-cache(?:\/|$)/;

function put(name, bytes) {
  writeFileSync(join(out, name), bytes);
  digests.push([name, sha256(bytes)]);
  console.error(`  ${name}`);
}

function putSboms(name, root, beside = []) {
  const contents = contentsOf(root);
  const json = (value) => `${JSON.stringify(value, null, 1)}\n`;
  put(`relet-${version}-${name}.cdx.json`, json(cycloneDx(about, contents, beside)));
  put(`relet-${version}-${name}.spdx.json`, json(spdx(about, contents, { beside, created, source })));
}

const relet = (...args) =>
  execFileSync(process.execPath, [join(repository, 'bin/relet.cjs'), ...args], {
    encoding: 'utf8',
    env: { COLUMNS: '80' },
  });

/** Returns the files that `npm pack` would pack, without code caches. */
function npmPackage() {
  const list = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: repository,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    // The builder may have no home directory that can be written to.
    env: { ...process.env, npm_config_cache: join(work, 'npm-cache'), npm_config_loglevel: 'error' },
  });
  const root = join(work, 'npm/package');
  for (const { path } of JSON.parse(list)[0].files.filter(({ path }) => !codeCaches.test(path))) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    cpSync(join(repository, path), join(root, path));
  }
  writeSbom(root);
  put(`relet-${version}.tgz`, gzipSync(tarOf(join(work, 'npm'), ['package']), { level }));
  putSboms('npm', root);
  return root;
}

function nodeFor(arch) {
  const dir = join(work, `node-${arch}`);
  unpackNode(dir, { cache, lock, arch });
  return dir;
}

/** Finds Node.js and relet from where it is, also through symlinks, without a process of its own unless it is one. */
const wrapper = (program) => `#!/bin/sh
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
lib=\${self%/*}/../lib/relet
exec "$lib/node" "$lib/bin/${program}" "$@"
`;

/** relet with Node.js, for hosts and laptops that have none. */
function archive(arch, npmRoot, shared) {
  const name = `relet-${version}-linux-${arch}`;
  const root = join(work, 'archives', name);
  const lib = join(root, 'lib/relet');
  cpSync(npmRoot, lib, { recursive: true });
  const nodeDir = nodeFor(arch);
  cpSync(join(nodeDir, 'bin/node'), join(lib, 'node'));
  cpSync(join(nodeDir, 'LICENSE'), join(lib, 'node.LICENSE'));
  const beside = components({ lock, arch, nodeDir, withBase: false });
  writeSbom(lib, { beside });
  const add = (path, text, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), mode);
  };
  add('bin/relet', wrapper('relet.cjs'), 0o755);
  add('bin/kubectl_complete-relet', wrapper('kubectl_complete-relet.cjs'), 0o755);
  symlinkSync('relet', join(root, 'bin/kubectl-relet'));
  for (const [path, text] of Object.entries(shared)) add(path, text);
  put(`${name}.tar.xz`, xz(tarOf(join(work, 'archives'), [name]), level));
  putSboms(`linux-${arch}`, lib, beside);
}

/** Layers: libraries, Node.js, relet; the first two stay the same from release to release. */
function imageFor(layout, arch) {
  const nodeDir = nodeFor(arch);
  const dirs = ['base', 'node', 'relet'].map((name) => join(work, `image-${arch}`, name));
  for (const dir of dirs) mkdirSync(dir, { recursive: true });
  unpackBase(dirs[0], { cache, lock, arch });
  mkdirSync(join(dirs[1], 'usr/local/bin'), { recursive: true });
  cpSync(join(nodeDir, 'bin/node'), join(dirs[1], 'usr/local/bin/node'));
  mkdirSync(join(dirs[1], 'usr/share/doc/node'), { recursive: true });
  cpSync(join(nodeDir, 'LICENSE'), join(dirs[1], 'usr/share/doc/node/LICENSE'));
  const beside = components({ lock, arch, nodeDir, withBase: true });
  writeTree(dirs[2], { alsoLeftOut: codeCaches, node: '/usr/local/bin/node', beside });
  putSboms(`image-${arch}`, join(dirs[2], 'opt/relet'), beside);
  const tars = dirs.map((dir) => tarOf(dir));
  const { descriptor, sizes } = addImage(layout, { architecture: arch, config: imageConfig(), tars, level });
  const compressed = sizes.reduce((sum, [, size]) => sum + size, 0);
  console.error(`  image for ${arch}: ${(compressed / 1e6).toFixed(1)} MB compressed`);
  return { ...descriptor, platform: { os: 'linux', architecture: arch } };
}

try {
  mkdirSync(out, { recursive: true });
  for (const part of parts(lock)) readPart(cache, part);
  const npmRoot = npmPackage();
  const shared = {
    'share/bash-completion/completions/relet': relet('completion', 'bash'),
    'share/zsh/site-functions/_relet': relet('completion', 'zsh'),
    'share/fish/vendor_completions.d/relet.fish': relet('completion', 'fish'),
    'share/man/man1/relet.1': manPage(relet),
  };
  for (const arch of architectures) archive(arch, npmRoot, shared);
  const layout = new OciLayout();
  const index = layout.index(architectures.map((arch) => imageFor(layout, arch)));
  layout.name(index, {
    'io.containerd.image.name': `${image}:${version}`,
    'org.opencontainers.image.ref.name': version,
  });
  put(`relet-image-${version}.oci.tar`, layout.archive());
  for (const [name, bytes] of charts(index.digest)) put(name, bytes);
  const digestOf = (wanted) => digests.find(([name]) => name === wanted)[1];
  put('relet.krew.yaml', krew(digestOf(`relet-${version}.tgz`)));
  put('images.txt', `${images(index.digest)}\n`);
  put('NOTES.md', notes());
  const about = { lock, commit: values.commit, isClean: !values.dirty, startedOn: created };
  put('provenance.intoto.json', `${JSON.stringify(provenance({ subjects: [...digests], ...about }), null, 1)}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), checksums(digests));
} finally {
  rmSync(work, { recursive: true, force: true });
}
