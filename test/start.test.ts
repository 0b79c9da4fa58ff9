/** The README's start line, in a copy of the sources: it builds, and brings the system up. */
import { cpSync, existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Program } from './program.js';
import { temporaryDir } from './temporary-dir.js';

const root = join(import.meta.dirname, '..');
const dir = temporaryDir();

test('npm start builds and brings the system up; Ctrl-C ends it', async () => {
  for (const name of ['package.json', 'bin', 'deploy', 'scripts', 'src', 'tsconfig.json', 'tsconfig.types.json'])
    cpSync(join(root, name), join(dir, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const npm = new Program('npm', ['start'], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, npm_config_update_notifier: 'false' },
    isGroup: true,
  });
  onTestFinished(() => npm.end());
  await npm.printed(/Ctrl-C stops it/);
  for (const name of ['node-1', 'node-2', 'node-3']) expect(npm.output).toMatch(new RegExp(`${name} +Ready after`));
  // As a terminal does it: to the whole group.
  npm.kill('SIGINT');
  await npm.ended;
  expect(npm.output).toContain("stopped; 'relet up' resumes it");
  expect(existsSync(join(dir, '.relet', 'lock'))).toBe(false);
});
