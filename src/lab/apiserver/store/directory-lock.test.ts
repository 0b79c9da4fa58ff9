/** The lock of a store's directory: a living holder keeps it, an ended one does not, and a failed attempt leaves nothing behind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../../test/eventually.js';
import { isHeldDirectory, lockDirectory } from './directory-lock.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relet-lock-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function stat(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** As the process itself would write it. */
function lockAs(pid: number): void {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  writeFileSync(join(directory, 'lock'), `${pid} ${stat(pid)[19]} ${boot}\n`);
}

describe.skipIf(!existsSync('/proc/self/stat'))('the lock of a directory', () => {
  test('a living process keeps it', () => {
    const unlock = lockDirectory(directory);
    let refusal: unknown;
    try {
      lockDirectory(directory);
    } catch (error) {
      refusal = error;
    }
    expect(isHeldDirectory(refusal)).toBe(true);
    unlock();
    lockDirectory(directory)();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('a zombie does not keep it: its parent may never reap it', async () => {
    // The shell becomes `sleep`, which does not wait for the child that the shell had.
    const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 1000'], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [line] = await once(parent.stdout, 'data');
      const zombie = Number(String(line).trim());
      await eventually('the child is a zombie', () => stat(zombie)[0] === 'Z');
      lockAs(zombie);
      const unlock = lockDirectory(directory);
      expect(readFileSync(join(directory, 'lock'), 'utf8')).toMatch(new RegExp(`^${process.pid} `));
      unlock();
    } finally {
      parent.kill('SIGKILL');
    }
  });
});
