/** The directory of a lab: its flag in printed commands, and which files belong to it. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { dataDirFlag, openSystemDirectory } from './directory.js';

test('commands have --data-dir only for a directory that is not the default', () => {
  expect(dataDirFlag(join(homedir(), '.relet'))).toBe('');
  expect(dataDirFlag('/srv/relet')).toBe(' --data-dir /srv/relet');
});

test('a directory in which a relet before 0.1.0 restored a backup is still usable, and --fresh clears it', () => {
  const dir = temporaryDir();
  for (const name of ['store', 'store-before-2026-01-01T00-00-00-000Z']) mkdirSync(join(dir, name));
  openSystemDirectory(dir).clear();
  expect(readdirSync(dir)).toEqual([]);
  writeFileSync(join(dir, 'store-of-mine'), '');
  expect(() => openSystemDirectory(dir)).toThrow("has 'store-of-mine' in it");
});
