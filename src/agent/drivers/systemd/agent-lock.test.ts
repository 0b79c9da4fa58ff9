/** One agent per host. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Program } from '../../../../test/program.js';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import { takeAgentLock } from './agent-lock.js';

function newPath(): string {
  const root = temporaryDir();
  return join(root, 'run', 'agent.sock');
}

describe('the lock of an agent', () => {
  test('is refused to a second one, and free when the first has ended', async () => {
    const path = newPath();
    const first = await takeAgentLock(path);
    await expect(takeAgentLock(path)).rejects.toThrow('another relet agent runs on this host');
    first.check();
    await first.release();
    await (await takeAgentLock(path)).release();
  });

  test('is taken over from one that was killed', async () => {
    const path = newPath();
    await (await takeAgentLock(path)).release();
    const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
    await new Program(process.execPath, ['-e', script, path]).exited;
    const lock = await takeAgentLock(path);
    lock.check();
    await lock.release();
  });

  test('is no longer held when another agent has put its socket there', async () => {
    const path = newPath();
    const first = await takeAgentLock(path);
    renameSync(path, `${path}.first`);
    const second = await takeAgentLock(path);
    expect(() => first.check()).toThrow('another relet agent');
    second.check();
    await second.release();
    await first.release();
  });
});
