/** The README's start line, in a copy of the sources: it builds, and brings the system up. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const dir = mkdtempSync(join(tmpdir(), 'relet-start-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('npm start builds and brings the system up; Ctrl-C ends it', async () => {
  for (const name of ['package.json', 'bin', 'deploy', 'scripts', 'src', 'tsconfig.json', 'tsconfig.types.json'])
    cpSync(join(root, name), join(dir, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const child = spawn('npm', ['start'], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, npm_config_update_notifier: 'false' },
    detached: true,
  });
  let said = '';
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const up = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('Ctrl-C stops it')) resolve();
      });
    ended.then(() => reject(new Error(`it ended:\n${said}`)));
  });
  await up;
  for (const name of ['node-1', 'node-2', 'node-3']) expect(said).toMatch(new RegExp(`${name} +Ready after`));
  // As a terminal does it: to the whole group.
  process.kill(-child.pid!, 'SIGINT');
  await ended;
  expect(said).toContain("stopped; 'relet up' resumes it");
  expect(existsSync(join(dir, '.relet', 'lock'))).toBe(false);
});
