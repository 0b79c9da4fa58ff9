/** Earlier editions of relet, from the history of this repository. A clone without that history skips what needs them. */
import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

const root = join(import.meta.dirname, '../..');

export const isInHistory = (commit: string): boolean =>
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0;

/** Why an edition cannot be built here, for the name of a test that is skipped then; undefined if it can. */
export function cannotBuild(commit: string): string | undefined {
  if (!isInHistory(commit)) return `commit ${commit} is not in this clone`;
  const { stdout } = spawnSync('git', ['show', `${commit}:package.json`], { cwd: root, encoding: 'utf8' });
  const { dependencies, devDependencies } = JSON.parse(stdout) as Record<string, Record<string, string>>;
  const packages = Object.keys({ ...dependencies, ...devDependencies });
  const missing = packages.filter((name) => !existsSync(join(root, 'node_modules', name)));
  return missing.length === 0 ? undefined : `commit ${commit} needs ${missing.join(', ')}`;
}

/** Puts the files of a commit into a directory, with the packages of this edition. */
export function unpackEdition(commit: string, dir: string, ...paths: string[]): void {
  const args = ['archive', commit, ...paths];
  const archive = spawnSync('git', args, { cwd: root, maxBuffer: 256 * 1024 * 1024 });
  expect(archive.status, archive.stderr.toString()).toBe(0);
  const unpacked = spawnSync('tar', ['x', '-C', dir], { input: archive.stdout });
  expect(unpacked.status, String(unpacked.stderr)).toBe(0);
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
}
