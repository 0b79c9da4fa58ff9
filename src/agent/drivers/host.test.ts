/** The seam to the machine, on this machine: who gets which environment, who is found again, how a process is ended. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FullDisk } from '../../../test/crash-disk.js';
import { eventually } from '../../../test/eventually.js';
import { type Files, realFiles } from '../../atomic-file.js';
import { systemClock } from '../../clock.js';
import { silentLog } from '../../log.js';
import { childTokenVariable } from '../state/child-record.js';
import { openDirectory } from '../state/directory.js';
import { type Child, createHost, exitCode, type Host, stopProcess } from './host.js';
import { KubeletProcess } from './kubelet-process.js';

const sleeper = ['sleep', '600'];

function endAfterwards(child: Child): Child {
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child;
}

const environmentOf = ({ process }: Child) =>
  Object.fromEntries(
    readFileSync(`/proc/${process!.pid}/environ`, 'utf8')
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );

describe('the environment', () => {
  const env = {
    PATH: process.env.PATH,
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '30000000',
    WATCHDOG_PID: '1234',
    [childTokenVariable]: 'of a relet around this one',
    KUBELET_EXTRA: 'stays',
  };

  test('the kubelet gets all of it and its token, but not the pid that the watchdog would have meant', async () => {
    const child = endAfterwards(createHost(env).start(sleeper, 'token'));
    // Between fork and exec the environment is still this process's own.
    await eventually('exec', () => environmentOf(child).KUBELET_EXTRA !== undefined);
    const { WATCHDOG_PID: _relet, ...expected } = env;
    expect(environmentOf(child)).toEqual({ ...expected, [childTokenVariable]: 'token' });
  });

  test('who is only asked gets neither a token nor a way to the service manager', async () => {
    const { stdout } = await createHost(env).ask(['env'], 10_000);
    expect(stdout.trim().split('\n').sort()).toEqual([`KUBELET_EXTRA=stays`, `PATH=${process.env.PATH}`]);
  });
});

test('of one that says too much, its last words are heard', async () => {
  const script = 'head -c 3000000 /dev/zero | tr "\\0" x; echo; echo verdict';
  const { stdout } = await createHost({ PATH: process.env.PATH }).ask(['sh', '-c', script], 10_000);
  expect(stdout.length).toBe(1_000_000);
  expect(stdout.endsWith('x\nverdict\n')).toBe(true);
});

describe('a kubelet of an earlier relet', () => {
  const kubeletProcess = (dir: string, host: Host, files: Files = realFiles) => {
    const { memory, lock, writable } = openDirectory({ dir, host, log: silentLog, files });
    lock.release();
    const place = { dir, writable };
    return new KubeletProcess({ host, memory, clock: systemClock, log: silentLog, stopGraceMs: 5000, place });
  };
  const newDir = () => {
    const root = mkdtempSync(join(tmpdir(), 'relet-host-'));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    return join(root, 'dynamic-config');
  };

  test.each([
    ['by its pid', (child: Child) => child],
    // What a kill -9 between the start and the second write of the record leaves behind.
    [
      'by the token it carries, when relet died before it knew the pid',
      (child: Child) => ({ ...child, process: undefined }),
    ],
  ])('is found %s, and stopped', async (_how, asSeen) => {
    const dir = newDir();
    const real = createHost({ PATH: process.env.PATH });
    const children: Child[] = [];
    const host: Host = {
      ...real,
      start(command, token) {
        children.push(endAfterwards(real.start(command, token)));
        return { ...asSeen(children[0]!), exited: new Promise(() => {}) };
      },
    };
    void kubeletProcess(dir, host).start(sleeper, { source: undefined });
    const stranger = endAfterwards(real.start(sleeper, 'another token'));
    await kubeletProcess(dir, real).stopOrphan();
    expect(await children[0]!.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(real.identify(stranger.process!.pid)).toEqual(stranger.process);
  });

  test('is found by its place when a full disk took no record of it; what it started itself is left alone', async () => {
    const dir = newDir();
    const real = createHost({ PATH: process.env.PATH });
    const children: Child[] = [];
    const host: Host = {
      ...real,
      start(command, token) {
        for (let i = 0; i < 2; i++) children.push(endAfterwards(real.start(command, token)));
        return { ...children[0]!, exited: new Promise(() => {}) };
      },
    };
    void kubeletProcess(dir, host, new FullDisk(0)).start(sleeper, { source: undefined });
    const stranger = endAfterwards(real.start(sleeper, `token@${dir}/another`));
    await kubeletProcess(dir, real, new FullDisk(0)).stopOrphan();
    expect(await children[0]!.exited).toEqual({ code: null, signal: 'SIGTERM' });
    for (const other of [children[1]!, stranger]) expect(real.identify(other.process!.pid)).toEqual(other.process);
  });

  test('is not looked for after a reboot: its pid is another’s by then', async () => {
    const dir = newDir();
    const host = createHost({ PATH: process.env.PATH });
    const child = endAfterwards(host.start(sleeper, 'token'));
    const before = { ...host, bootId: () => 'an earlier boot' };
    const { memory, lock } = openDirectory({ dir, host, log: silentLog });
    memory.child.write({ token: 'token', bootId: before.bootId(), process: child.process! });
    lock.release();
    await kubeletProcess(dir, host).stopOrphan();
    expect(host.identify(child.process!.pid)).toEqual(child.process);
  });
});

describe('ending a process', () => {
  test('one that does not heed SIGTERM is killed after the grace', async () => {
    const host = createHost({ PATH: process.env.PATH });
    const child = endAfterwards(host.start(['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'], 'token'));
    const stopped = stopProcess(host, child.process!, { graceMs: 300, clock: systemClock });
    expect(await child.exited).toMatchObject({ signal: expect.stringMatching(/^SIG(KILL|TERM)$/) });
    expect(await stopped).toBe(true);
    expect(await stopProcess(host, child.process!, { graceMs: 0, clock: systemClock })).toBe(false);
  });

  test.each([
    [{ code: 3, signal: null }, 3],
    [{ code: null, signal: 'SIGKILL' as const }, 137],
    [{ code: null, signal: null, error: new Error('ENOENT') }, 127],
  ])('%j ends relet as a shell would', (exit, code) => expect(exitCode(exit)).toBe(code));
});
