/** docs/fields.md and the tables of docs/upgrades.md are what the facts say. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newestMinor, oldestMinor } from '../src/config/model.js';

const root = join(import.meta.dirname, '..');

test('docs/fields.md and docs/upgrades.md are current', () => {
  const script = join(root, 'scripts', 'fact-pages.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

test('docs/upgrades.md has a table for each minor, newest first', () => {
  const page = readFileSync(join(root, 'docs', 'upgrades.md'), 'utf8');
  const minors = [...page.matchAll(/^## 1\.(\d+)\n\n\| what changes from 1\.(\d+) \| \|$/gm)].map(([, minor]) =>
    Number(minor),
  );
  expect(minors).toEqual(Array.from({ length: newestMinor - oldestMinor }, (_, index) => newestMinor - index));
});
