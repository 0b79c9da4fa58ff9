/** The digest of the code that runs on a node, so that nodes with other code than the rest can be found. */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pkg from '../../../package.json' with { type: 'json' };
import { reletExecutable } from './kubelet-command.js';

/** Bundles that a node loads; the SBOM has the hash of each. */
const ofNode = /^node[\w-]*\.cjs$/;

/** Hashes the bundles as they are on disk. Undefined if they cannot be read, as when relet runs from its sources. */
export function codeDigest(dist = join(dirname(reletExecutable()), '../dist')): string | undefined {
  try {
    const hash = createHash('sha256');
    for (const name of readdirSync(dist)
      .filter((name) => ofNode.test(name))
      .sort())
      update(hash.update(name), join(dist, name));
    return `sha256:${hash.digest('hex')}`;
  } catch {
    return undefined;
  }
}

/** Hashes the file in parts: buffers of whole files, 2 MB in all, would fragment the memory of a long-running agent. */
function update(hash: Hash, path: string): void {
  const part = Buffer.allocUnsafeSlow(64 * 1024);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, part); read > 0; read = readSync(file, part)) hash.update(part.subarray(0, read));
  } finally {
    closeSync(file);
  }
}

/** The version that an agent reports: `0.1.0+3f2a9c01b7de`, with the first digits of the digest as build metadata. */
export function reportedVersion(digest = codeDigest()): string {
  return digest === undefined ? pkg.version : `${pkg.version}+${digest.slice('sha256:'.length, 'sha256:'.length + 12)}`;
}
