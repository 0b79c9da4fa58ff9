/** `npm run setup` knows every program that a test needs, and where it may not install it names what is skipped. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const filesUnder = (top: string, kind: RegExp) =>
  readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => kind.test(name))
    .map((name) => readFileSync(join(root, top, name), 'utf8'));

/** On a PATH without any program nothing can be installed. */
function setupWithoutPrograms(): { status: number | null; stdout: string } {
  const empty = temporaryDir();
  return spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: root, env: { PATH: empty }, encoding: 'utf8' });
}

test('without apt-get, setup prints each missing program with the tests that are skipped, and succeeds', () => {
  const { status, stdout } = setupWithoutPrograms();
  expect(status).toBe(0);
  expect(stdout).toContain('setup: some tests will be skipped. To install: apt-get install kubernetes-client jq curl');
  expect(stdout).toMatch(/^ {2}kubectl \(Debian: kubernetes-client\) not found, skipped: the cluster suite/m);
});

test('setup knows every program that a test or a page needs', () => {
  const { stdout } = setupWithoutPrograms();
  const tests = [...filesUnder('src', /\.test\.ts$/), ...filesUnder('test', /\.ts$/)];
  const used = [
    ...tests.flatMap((text) => [...text.matchAll(/(?<![.\w])(?:needs|has)\('([^)]*)'\)/g)].map(([, list]) => list!)),
    ...filesUnder('docs', /\.md$/).flatMap((text) => [...text.matchAll(/needs=(\S+)/g)].map(([, list]) => list!)),
  ].flatMap((list) => list.split(/[', ]+/));
  expect(used).toContain('kubectl');
  expect(used).toContain('jq');
  expect(used.filter((name) => !stdout.includes(`  ${name} (`))).toEqual([]);
});

test('npm test installs nothing', () => {
  for (const script of ['test', 'build', 'check', 'programs'])
    expect(readFileSync(join(root, 'scripts', `${script}.mjs`), 'utf8')).not.toMatch(/apt-get|setup\.mjs/);
});

test('CI runs the test command of the README, as it is', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const shown = /To test everything:\n\n```sh[^\n]*\n(.+)\n```/.exec(readme)?.[1];
  expect(shown).toBeDefined();
  expect(readFileSync(join(root, '.ci/run'), 'utf8').trimEnd().split('\n').at(-1)).toBe(shown);
});
