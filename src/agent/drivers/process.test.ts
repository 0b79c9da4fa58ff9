/** The process driver passes the contract; and what only it promises: environment, orphans by token, signals. */
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../test/eventually.js';
import { freePort } from '../../../test/free-port.js';
import { fullFiles } from '../../../test/rig/crash-disk.js';
import { type Conduct, type DriverRig, testDriver } from '../../../test/rig/driver-contract.js';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { type Files, realFiles } from '../../atomic-file.js';
import { systemClock } from '../../clock.js';
import { silentLog } from '../../log.js';
import { identify, kill, stopProcess, systemProcesses } from '../../proc.js';
import { Locked } from '../../process-lock.js';
import { systemRandom } from '../../random.js';
import { openDirectory } from '../state/directory.js';
import { type Child, childRecord, childStarter, childTokenVariable, type StartChild } from './child.js';
import { commandRunner } from './command.js';
import { exitCode } from './driver.js';
import { ProcessDriver } from './process.js';

const sleeper = ['sleep', '600'];
const env = { PATH: process.env.PATH };
const local = { source: undefined, file: undefined };

function endAfterwards(child: Child): Child {
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child;
}

function createDriver(
  dir: string,
  options: Partial<ConstructorParameters<typeof ProcessDriver>[0]> = {},
  files: Files = realFiles,
) {
  const { state, lock, writable } = openDirectory({ dir, host: systemProcesses, log: silentLog, files });
  lock.release();
  return new ProcessDriver({
    command: sleeper,
    args: () => [],
    env,
    run: commandRunner(env),
    state,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    stopGraceMs: 5000,
    place: { dir, writable },
    ...options,
  });
}

const orders: Record<Conduct, string> = { runs: '', 'exits with 3': '# exit 3', 'ignores a stop': '# ignore SIGTERM' };

async function createRig(): Promise<DriverRig> {
  const root = temporaryDir();
  const dir = join(root, 'dynamic-config');
  const starts = join(root, 'starts');
  const binary = join(root, 'kubelet.mjs');
  const port = await freePort();
  const log = join(root, 'log');
  const variables = { ...env, FAKE_KUBELET_LOG: starts, FAKE_KUBELET_ERRORS: log };
  const logPlaces = { files: [log], journal: false };
  const replaceBinary = (version: string) => {
    rmSync(binary, { force: true });
    copyFileSync(join(import.meta.dirname, '../../../test/fake-kubelet.mjs'), binary);
    writeFileSync(binary, readFileSync(binary, 'utf8').replace("?? 'v1.32.1'", `?? '${version}'`));
    chmodSync(binary, 0o755);
  };
  replaceBinary('v1.32.1');
  const args = (file: string | undefined) => [...(file ? [`--config=${file}`] : []), `--healthz-port=${port}`];
  const startChild: StartChild = (command, token) => endAfterwards(childStarter(variables)(command, token));
  const driver = () => createDriver(dir, { command: [binary], args, startChild, stopGraceMs: 300, logPlaces });
  const started = () => {
    if (!existsSync(starts)) return [];
    const lines = readFileSync(starts, 'utf8').split('\n').slice(0, -1);
    return lines
      .map((line) => JSON.parse(line) as { pid?: number; args?: string[]; configFile?: string })
      .filter(({ args }) => args);
  };
  const living = () => started().filter(({ pid }) => identify(pid!) !== undefined);
  return {
    driver: driver(),
    restartedDriver: async () => driver(),
    config(conduct) {
      const file = join(root, `${conduct}.yaml`);
      writeFileSync(file, `healthzPort: ${port}\n${orders[conduct]}\n`);
      return { source: undefined, file };
    },
    running: () => living().map(({ configFile }) => configFile),
    until: (satisfied) => eventually('as expected', satisfied),
    kill: (signal) => kill(living()[0]!.pid!, signal),
    port: { host: '127.0.0.1', port },
    replaceBinary,
    removeBinary: () => rmSync(binary),
    passGracePeriod: async () => {},
  };
}

testDriver('process', createRig);

const environmentOf = ({ process }: Child) =>
  Object.fromEntries(
    readFileSync(`/proc/${process!.pid}/environ`, 'utf8')
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  );

describe('the environment', () => {
  const surrounding = {
    PATH: process.env.PATH,
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '30000000',
    WATCHDOG_PID: '1234',
    [childTokenVariable]: 'of a relet around this one',
    KUBELET_EXTRA: 'stays',
  };

  test('the kubelet gets all of it and its token, but not the pid that the watchdog names', async () => {
    const child = endAfterwards(childStarter(surrounding)(sleeper, 'token'));
    // Between fork and exec the environment is still this process's own.
    await eventually('exec', () => environmentOf(child).KUBELET_EXTRA !== undefined);
    const { WATCHDOG_PID: _relet, ...expected } = surrounding;
    expect(environmentOf(child)).toEqual({ ...expected, [childTokenVariable]: 'token' });
  });

  test('a short command gets neither a token nor the socket of the service manager', async () => {
    const { stdout } = await commandRunner(surrounding)(['env'], 10_000);
    expect(stdout.trim().split('\n').sort()).toEqual([`KUBELET_EXTRA=stays`, `PATH=${process.env.PATH}`]);
  });
});

test('the end of a very long output is kept', async () => {
  const script = 'head -c 3000000 /dev/zero | tr "\\0" x; echo; echo end';
  const { stdout } = await commandRunner(env)(['sh', '-c', script], 10_000);
  expect(stdout.length).toBe(1_000_000);
  expect(stdout.endsWith('x\nend\n')).toBe(true);
});

describe('a kubelet of an earlier relet', () => {
  const start = childStarter(env);

  test.each([
    ['by its pid', (child: Child) => child],
    // The record as a kill -9 between the start and its second write leaves it.
    [
      'by its token, when relet was killed before it knew the pid',
      (child: Child) => ({ ...child, process: undefined }),
    ],
  ])('is found %s, and stopped', async (_how, asSeen) => {
    const dir = join(temporaryDir(), 'dynamic-config');
    const children: Child[] = [];
    const startChild: StartChild = (command, token) => {
      children.push(endAfterwards(start(command, token)));
      return { ...asSeen(children[0]!), exited: new Promise(() => {}) };
    };
    void createDriver(dir, { startChild }).start(local);
    const stranger = endAfterwards(start(sleeper, 'another token'));
    await createDriver(dir).recover();
    expect(await children[0]!.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(identify(stranger.process!.pid)).toEqual(stranger.process);
  });

  test('is found by its directory when a full disk took no record of it; its own processes are left alone', async () => {
    const dir = join(temporaryDir(), 'dynamic-config');
    const children: Child[] = [];
    const startChild: StartChild = (command, token) => {
      for (let i = 0; i < 2; i++) children.push(endAfterwards(start(command, token)));
      return { ...children[0]!, exited: new Promise(() => {}) };
    };
    void createDriver(dir, { startChild }, fullFiles).start(local);
    const stranger = endAfterwards(start(sleeper, `token@${dir}/another`));
    await createDriver(dir, {}, fullFiles).recover();
    expect(await children[0]!.exited).toEqual({ code: null, signal: 'SIGTERM' });
    for (const other of [children[1]!, stranger]) expect(identify(other.process!.pid)).toEqual(other.process);
  });

  test('is not looked for after a reboot: its pid is another’s by then', async () => {
    const dir = join(temporaryDir(), 'dynamic-config');
    const child = endAfterwards(start(sleeper, 'token'));
    const { state, lock } = openDirectory({ dir, host: systemProcesses, log: silentLog });
    state.write(childRecord, { token: 'token', bootId: 'an earlier boot', process: child.process! });
    lock.release();
    await createDriver(dir).recover();
    expect(identify(child.process!.pid)).toEqual(child.process);
  });
});

test('of two relets that found the lock free at the same moment, the one that lost it starts no kubelet', () => {
  const dir = join(temporaryDir(), 'dynamic-config');
  const { state, lock } = openDirectory({ dir, host: systemProcesses, log: silentLog });
  // Another living process wrote the lock after us.
  const other = { bootId: systemProcesses.bootId(), process: identify(process.ppid) };
  writeFileSync(join(dir, 'meta', 'lock'), JSON.stringify(other));
  const started: string[][] = [];
  const driver = new ProcessDriver({
    command: ['kubelet'],
    args: () => [],
    env,
    run: commandRunner(env),
    state,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    stopGraceMs: 0,
    mayStart: lock.check,
    startChild(command) {
      started.push(command);
      return { process: undefined, exited: new Promise(() => {}), kill() {} };
    },
  });
  expect(() => driver.start(local)).toThrow(new Locked(join(dir, 'meta', 'lock'), identify(process.ppid)!));
  expect(started).toEqual([]);
  lock.release();
  expect(existsSync(join(dir, 'meta', 'lock'))).toBe(true);
});

test('relet exits with a kubelet that is aborted for the watchdog', async () => {
  const driver = createDriver(join(temporaryDir(), 'dynamic-config'));
  const exit = driver.start(local);
  driver.abort();
  expect(await exit).toEqual({ code: null, signal: 'SIGABRT', requested: false, last: true });
});

describe('ending a process that is not a child', () => {
  test('one that ignores SIGTERM is killed after the grace period', async () => {
    const command = ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'];
    const child = endAfterwards(childStarter(env)(command, 'token'));
    const stopped = stopProcess(child.process!, { graceMs: 300, clock: systemClock });
    expect(await child.exited).toMatchObject({ signal: expect.stringMatching(/^SIG(KILL|TERM)$/) });
    expect(await stopped).toBe(true);
    expect(await stopProcess(child.process!, { graceMs: 0, clock: systemClock })).toBe(false);
  });

  test.each([
    [{ code: 3, signal: null }, 3],
    [{ code: null, signal: 'SIGKILL' as const }, 137],
    [{ code: null, signal: null, error: new Error('ENOENT') }, 127],
  ])('%j ends relet as a shell would', (exit, code) => expect(exitCode(exit)).toBe(code));
});
