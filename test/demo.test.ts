/** `relet demo` shows what relet does, and notices when a step fails. */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { startRelet } from './program.js';
import { temporaryDir } from './temporary-dir.js';

let dir: string;
beforeEach(() => {
  dir = temporaryDir();
  mkdirSync(join(dir, 'bin'));
});

/** With its temporary directory in ours, so that what it leaves behind is seen. */
async function demo(): Promise<{ status: number | null; output: string }> {
  const env = { PATH: `${join(dir, 'bin')}:${process.env.PATH}`, HOME: dir, TMPDIR: dir, RELET_COLUMNS: '80' };
  const program = startRelet(['demo', '--fast'], { env });
  const { status } = await program.ended;
  return { status, output: program.output };
}

test('the demo works as described, and nothing is left of it', async () => {
  const { status, output } = await demo();
  expect(output).toContain('Everything worked as described');
  expect(status).toBe(0);
  expect(output).toContain('$ relet set node-1 maxPods=150 --yes\n');
  expect(output).toMatch(/node-1: rolled back/);
  // The output of a command fits the screen; only commands themselves and paths may be longer.
  const printed = output.split('\n').filter((line) => !line.startsWith('$ '));
  expect(printed.filter((line) => line.length > 80 && line.trim().includes(' '))).toEqual([]);
  expect(readdirSync(dir)).toEqual(['bin']);
});

test('a step that fails ends the demo with exit code 1, and nothing is left of it', async () => {
  // The first step is the start of the cluster, and what it prints goes through grep.
  writeFileSync(join(dir, 'bin', 'grep'), '#!/bin/sh\ncat >/dev/null; exit 1\n');
  chmodSync(join(dir, 'bin', 'grep'), 0o755);
  const { status, output } = await demo();
  expect(output).toContain('This step did not work as described: it exited with 1, not with 0');
  expect(status).toBe(1);
  expect(readdirSync(dir)).toEqual(['bin']);
});
