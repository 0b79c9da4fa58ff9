/** A lock file lets one process in, in every order of steps, and is void when its holder is gone. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../test/eventually.js';
import { Program } from '../test/program.js';
import { temporaryDir } from '../test/temporary-dir.js';
import { type Files, realFiles } from './atomic-file.js';
import { bootId, identify, statOf } from './proc.js';
import { Locked, lockHolder, type Processes, takeLock } from './process-lock.js';

let directory: string;
let path: string;
beforeEach(() => {
  directory = temporaryDir();
  path = join(directory, 'lock');
});

const here = () => ({ path, host: { bootId, identify }, files: realFiles });
/** As a relet before 0.1.0 wrote it, and as this one does. */
const lockOf = (pid: number, startTime: string, boot = bootId()) =>
  `${JSON.stringify({ bootId: boot, process: { pid, startTime } })}\n`;

describe('a lock', () => {
  test('of another process that runs is respected, and not changed', () => {
    const text = lockOf(process.ppid, identify(process.ppid)!.startTime);
    writeFileSync(path, text);
    expect(() => takeLock(here())).toThrow(Locked);
    expect(() => takeLock(here())).toThrow(`another relet (pid ${process.ppid}) runs on this directory`);
    expect(lockHolder(here())?.pid).toBe(process.ppid);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(directory)).toEqual(['lock']);
  });

  test.each([
    ['of a process that is gone', lockOf(2 ** 22 + 1, '1')],
    ['of an earlier process with the same pid', lockOf(process.ppid, '1')],
    ['of an earlier boot', lockOf(process.ppid, identify(process.ppid)!.startTime, 'earlier')],
    ['that is empty', ''],
    ['that is not complete', '{"bootId":"'],
  ])('%s is void: it is taken, and released without a trace', (_name, text) => {
    writeFileSync(path, text);
    expect(lockHolder(here())).toBeUndefined();
    const lock = takeLock(here());
    expect(readFileSync(path, 'utf8')).toBe(lockOf(process.pid, identify(process.pid)!.startTime));
    lock.check();
    lock.release();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('of a zombie is void: its parent may never reap it', async () => {
    // The shell becomes `sleep`, which does not wait for the child of the shell. The shell itself would, so the child outlives it.
    const parent = new Program('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 1000']);
    try {
      const zombie = Number((await parent.printed(/\d+(?=\n)/))[0]);
      await eventually('the child is a zombie', () => statOf(zombie)?.state === 'Z');
      writeFileSync(path, lockOf(zombie, statOf(zombie)!.startTime));
      takeLock(here()).release();
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

class Killed extends Error {}

/** Processes that run one inside the other: `at(step)` is called before each file operation of a process. */
class Machine {
  readonly running = new Set<number>();

  /** True when the process got the lock, which it then keeps. */
  start(pid: number, at: (step: number) => void = () => {}): boolean {
    this.running.add(pid);
    let step = 0;
    const before =
      <A extends unknown[], R>(operation: (...args: A) => R) =>
      (...args: A): R => {
        at(step++);
        return operation(...args);
      };
    const { read, create, link, remove, stat } = realFiles;
    const files: Files = {
      ...realFiles,
      read: before(read),
      create: before(create),
      link: before(link),
      remove: before(remove),
      stat: before(stat),
    };
    const host: Processes = {
      bootId: () => 'boot',
      identify: (asked) => (this.running.has(asked) ? { pid: asked, startTime: String(asked) } : undefined),
    };
    try {
      takeLock({ path, host, files, pid });
      return true;
    } catch (error) {
      if (error instanceof Killed) this.running.delete(pid);
      else if (!(error instanceof Locked)) throw error;
      return false;
    }
  }
}

const steps = Array.from({ length: 20 }, (_, step) => step);

function restart(text: string | undefined): Machine {
  for (const name of readdirSync(directory)) rmSync(join(directory, name));
  if (text !== undefined) writeFileSync(path, text);
  return new Machine();
}

describe.each([
  ['free', undefined],
  ['void', lockOf(99, '1', 'boot')],
])('a lock that is %s', (_name, text) => {
  test('lets exactly one of three processes in, whichever step of one the others interrupt', () => {
    for (const first of steps)
      for (const second of steps) {
        const machine = restart(text);
        const entered: number[] = [];
        const enter = (pid: number, at?: (step: number) => void) => {
          if (machine.start(pid, at)) entered.push(pid);
        };
        let isThirdLeft = true;
        const third = (step: number) => {
          if (step !== second || !isThirdLeft) return;
          isThirdLeft = false;
          enter(3);
        };
        enter(1, (step) => {
          if (step === first) enter(2, third);
        });
        if (!machine.running.has(2)) enter(2, third);
        expect(entered, `interrupted at steps ${first} and ${second}`).toHaveLength(1);
      }
  });

  test('can be taken after a process was killed at any step of taking it', () => {
    for (const first of steps)
      for (const second of steps) {
        const machine = restart(text);
        const killAt = (limit: number) => (step: number) => {
          if (step >= limit) throw new Killed();
        };
        const isTaken = machine.start(1, killAt(first)) || machine.start(2, killAt(second));
        expect(machine.start(3), `killed at steps ${first} and ${second}`).toBe(!isTaken);
      }
  });
});
