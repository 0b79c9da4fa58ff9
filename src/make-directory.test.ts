/** Creating directories with their parents, and paths where none can be created. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDir } from '../test/temporary-dir.js';
import { makeDirectory } from './make-directory.js';

test('creates a directory with its parents, and accepts one that exists', () => {
  const dir = temporaryDir();
  makeDirectory(join(dir, 'a/b/c'));
  makeDirectory(join(dir, 'a/b/c'));
  expect(statSync(join(dir, 'a/b/c')).mode & 0o777).toBe(0o700);
  writeFileSync(join(dir, 'file'), '');
  expect(() => makeDirectory(join(dir, 'file'))).toThrow('EEXIST');
  expect(() => makeDirectory(join(dir, 'file/below'))).toThrow();
});

test.skipIf(!existsSync('/proc/self'))('fails at once where no directory can be created', () => {
  expect(() => makeDirectory('/proc/relet/store')).toThrow('ENOENT');
});
