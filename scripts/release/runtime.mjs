/**
 * The runtime of a release: Node.js and the shared libraries that it needs, by hash. runtime.lock.json names Node.js as packages of
 * npm that republish the official binaries, and the libraries as packages of Debian; scripts/release/fetch.mjs brings them.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sha256 } from './archive.mjs';

export const architectures = ['amd64', 'arm64'];
export const lockPath = join(import.meta.dirname, 'runtime.lock.json');
export const readLock = (path = lockPath) => JSON.parse(readFileSync(path, 'utf8'));

const integrityOf = (bytes) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

/** Everything that a lock names: the file in the cache, and whether bytes are the ones that the lock means. */
export function parts(lock) {
  return architectures.flatMap((arch) => {
    const { name, integrity } = lock.node.packages[arch];
    const node = { kind: 'node', arch, name, version: lock.node.version, file: `${name}-${lock.node.version}.tgz` };
    return [
      { ...node, digest: integrity, isRight: (bytes) => integrityOf(bytes) === integrity },
      ...lock.base.packages[arch].map((one) => ({
        kind: 'base',
        arch,
        ...one,
        file: basename(one.path),
        digest: `sha256:${one.sha256}`,
        isRight: (bytes) => sha256(bytes) === one.sha256,
      })),
    ];
  });
}

/** Bytes of a part from the cache, checked again: a cache is a directory that anybody may have written to. */
export function readPart(cache, part) {
  const path = join(cache, part.file);
  if (!existsSync(path)) throw new Error(`${path} is missing: run 'npm run release:fetch' first`);
  const bytes = readFileSync(path);
  if (!part.isRight(bytes))
    throw new Error(`${path} is not what the lock names (${part.digest}): delete it, then run 'npm run release:fetch'`);
  return bytes;
}

/** Node.js and its licence, below DIR/bin/node and DIR/LICENSE. */
export function unpackNode(dir, { cache, lock, arch }) {
  const part = parts(lock).find((one) => one.kind === 'node' && one.arch === arch);
  mkdirSync(dir, { recursive: true });
  const input = readPart(cache, part);
  execFileSync('tar', ['-xz', '-C', dir, '--strip-components=1', 'package/bin/node', 'package/LICENSE'], { input });
}

/** Only what the loader reads: no conversion tables, no programs; with the copyright of each package, as licences ask. */
const inBase =
  /^\.\/(?:usr\/)?lib(?:64|\/[\w-]+)?\/(?:lib[\w+.-]+\.so[\d.]*|ld-[\w.-]+\.so\.\d+)$|^\.\/usr\/share\/doc\/[^/]+\/copyright$/;

/** The base root file system: shared libraries, and names for the users 0 and 65532. */
export function unpackBase(dir, { cache, lock, arch }) {
  const work = mkdtempSync(join(tmpdir(), 'relet-base-'));
  try {
    for (const name of ['lib', 'lib64']) {
      mkdirSync(join(dir, 'usr', name), { recursive: true });
      symlinkSync(`usr/${name}`, join(dir, name));
    }
    for (const part of parts(lock).filter((one) => one.kind === 'base' && one.arch === arch)) {
      const tar = join(work, 'data.tar');
      writeFileSync(tar, dataOf(readPart(cache, part)));
      const all = execFileSync('tar', ['-tf', tar], { encoding: 'utf8' }).split('\n');
      const names = all.filter((name) => inBase.test(name));
      if (names.length > 0) execFileSync('tar', ['-xf', tar, '-C', dir, '--keep-directory-symlink', ...names]);
    }
    mkdirSync(join(dir, 'etc'));
    mkdirSync(join(dir, 'tmp'));
    writeFileSync(
      join(dir, 'etc/passwd'),
      'root:x:0:0:root:/:/sbin/nologin\nnobody:x:65532:65532:nobody:/:/sbin/nologin\n',
    );
    writeFileSync(join(dir, 'etc/group'), 'root:x:0:\nnobody:x:65532:\n');
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** The tar of a Debian package: an ar archive whose member data.tar.xz it is. */
function dataOf(deb) {
  for (let at = 8; at < deb.length; ) {
    const name = deb.toString('latin1', at, at + 16).trim();
    const size = Number(deb.toString('latin1', at + 48, at + 58));
    if (name.startsWith('data.tar.xz'))
      return execFileSync('xz', ['-dc'], { input: deb.subarray(at + 60, at + 60 + size), maxBuffer: 2 ** 31 });
    at += 60 + size + (size % 2);
  }
  throw new Error('a Debian package without data.tar.xz');
}

/** Node.js and the libraries, as components of a bill of materials. */
export function components({ lock, arch, nodeDir, withBase }) {
  const { name } = lock.node.packages[arch];
  const node = {
    type: 'platform',
    name: 'node',
    version: lock.node.version,
    license: 'MIT',
    purl: `pkg:npm/${name}@${lock.node.version}`,
    sha256: sha256(readFileSync(join(nodeDir, 'bin/node'))),
  };
  const distribution = `distro=debian-${lock.base.distribution}`;
  const base = lock.base.packages[arch].map((one) => ({
    name: one.name,
    version: one.version,
    purl: `pkg:deb/debian/${encodeURIComponent(one.name)}@${encodeURIComponent(one.version)}?arch=${arch}&${distribution}`,
  }));
  return withBase ? [node, ...base] : [node];
}
