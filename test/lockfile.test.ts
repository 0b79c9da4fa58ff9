/** `npm ci` verifies what it installs by the hashes of package-lock.json: so each entry has one, and none names a registry. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface Entry {
  version?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  optional?: boolean;
}

/** Builds for other platforms whose hash no registry at hand served when they were locked. Only to be shortened. */
const knownWithout: [prefix: string, version: string][] = [
  ['@biomejs/cli-', '2.6.6'],
  ['@msgpackr-extract/msgpackr-extract-', '3.0.7'],
  ['@oxc-parser/binding-', '0.155.0'],
  ['@rolldown/binding-', '1.2.19'],
];

const lockfile = readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8');

function withoutIntegrity(packages: Record<string, Entry>): string[] {
  return Object.entries(packages)
    .map(([path, entry]) => ({ ...entry, name: path.replace(/^.*node_modules\//, '') }))
    .filter(({ name, integrity, link }) => name !== '' && !integrity && !link)
    .filter(
      ({ name, version, optional }) =>
        !(optional && knownWithout.some(([prefix, at]) => name.startsWith(prefix) && version === at)),
    )
    .map(({ name, version }) => `${name}@${version}`);
}

test('every package of the lockfile has a hash', () => {
  const { packages } = JSON.parse(lockfile) as { packages: Record<string, Entry> };
  expect(Object.keys(packages).length).toBeGreaterThan(100);
  expect(withoutIntegrity(packages)).toEqual([]);
});

test('a package without a hash, or another version of one that is known to have none, is found', () => {
  const packages = {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '1.0.0', integrity: 'sha512-x' },
    'node_modules/@biomejs/cli-darwin-x64': { version: '9.9.9', optional: true },
  };
  expect(withoutIntegrity(packages)).toEqual(['a@1.0.0', '@biomejs/cli-darwin-x64@9.9.9']);
});

test('the lockfile names no registry', () => {
  expect(lockfile).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});
