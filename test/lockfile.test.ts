/** `npm ci` verifies what it installs by the hashes of package-lock.json: so each entry has one, and none names a registry. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

interface Entry {
  version?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
}

const lockfile = readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8');

function withoutIntegrity(packages: Record<string, Entry>): string[] {
  return Object.entries(packages)
    .map(([path, entry]) => ({ ...entry, name: path.replace(/^.*node_modules\//, '') }))
    .filter(({ name, integrity, link }) => name !== '' && !integrity && !link)
    .map(({ name, version }) => `${name}@${version}`);
}

test('every package of the lockfile has a hash', () => {
  const { packages } = JSON.parse(lockfile) as { packages: Record<string, Entry> };
  expect(Object.keys(packages).length).toBeGreaterThan(100);
  expect(withoutIntegrity(packages)).toEqual([]);
});

test('a package without a hash is found', () => {
  const packages = {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '1.0.0', integrity: 'sha512-x' },
  };
  expect(withoutIntegrity(packages)).toEqual(['a@1.0.0']);
});

test('the lockfile names no registry', () => {
  expect(lockfile).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});
