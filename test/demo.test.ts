/** `relet demo` tells the story and notices when it does not go as told. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { executable } from './run-relet.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'relet-demo-test-'));
  mkdirSync(join(dir, 'bin'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** With its temporary directory in ours, so that what it leaves behind is seen. */
function demo(): Promise<{ status: number | null; said: string }> {
  const env = { PATH: `${join(dir, 'bin')}:${process.env.PATH}`, HOME: dir, TMPDIR: dir };
  const child = spawn(process.execPath, [executable, 'demo', '--fast'], { env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, said })));
}

test('the story goes as told, and nothing is left of it', async () => {
  const { status, said } = await demo();
  expect(said).toContain('All of it went as told');
  expect(status).toBe(0);
  expect(said).toContain('$ relet set node-1 maxPods=150 --yes\n');
  expect(said).toMatch(/node-1: rolled back/);
  expect(readdirSync(dir)).toEqual(['bin']);
}, 120_000);

test('a step that does not go as told ends it with 1, and nothing is left of it', async () => {
  writeFileSync(join(dir, 'bin', 'kubectl'), '#!/bin/sh\necho out of order; exit 1\n');
  chmodSync(join(dir, 'bin', 'kubectl'), 0o755);
  const { status, said } = await demo();
  expect(said).toContain('This did not go as told: it ended with 1, not with 0');
  expect(status).toBe(1);
  expect(readdirSync(dir)).toEqual(['bin']);
}, 120_000);
