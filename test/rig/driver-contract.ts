/** The contract of a driver: every driver passes these tests (process.test.ts, fake.test.ts and test/systemd.test.ts run them). */
import { describe, expect, test } from 'vitest';
import type { Exit, KubeletDriver, Port, StartedConfig } from '../../src/agent/drivers/driver.js';

/** Behaviour of a kubelet with a config that the rig makes. A kubelet that exits logs `Error: it exits with 3` before. */
export type Conduct = 'runs' | 'exits with 3' | 'ignores a stop';

export interface DriverRig {
  driver: KubeletDriver;
  /** Another driver for the same machine, as after a kill -9 of relet: what the first one started lives on. */
  restartedDriver(): Promise<KubeletDriver>;
  /** A config with which the kubelet behaves like this. */
  config(conduct: Conduct): StartedConfig;
  /** The config files of the kubelets that are running. */
  running(): (string | undefined)[];
  /** Resolves when this is so. */
  until(satisfied: () => boolean | Promise<boolean>): Promise<unknown>;
  /** Ends the kubelet with a signal that the driver did not send. */
  kill(signal: NodeJS.Signals): void;
  /** The port that the kubelet opens. */
  port: Port;
  replaceBinary(version: string): void;
  removeBinary(): void;
  /** Lets the grace period of a stop pass. */
  passGracePeriod(): Promise<void>;
}

export interface ContractOptions {
  /** The kubelet is in a unit: one is always there, also after a stop of the driver or a crash. Default false. */
  inUnit?: boolean;
}

export function testDriver(
  name: string,
  createRig: () => Promise<DriverRig>,
  { inUnit = false }: ContractOptions = {},
): void {
  const local: StartedConfig = { source: undefined, file: undefined };
  /** Resolves when it is up: a process has a moment in which it does not handle signals yet. */
  const start = async (
    { driver, port, running, until }: DriverRig,
    config: StartedConfig,
    by = driver,
  ): Promise<Start> => {
    const exit = by.start(config);
    await until(async () => running().includes(config.file) && (await by.portOwners([port]))?.[0] === 'kubelet');
    return { exit };
  };

  describe(`${name} driver: the lifetime of a kubelet`, () => {
    test('it runs with the config that it was started with, and with none for local', async () => {
      const rig = await createRig();
      const config = rig.config('runs');
      const { exit } = await start(rig, config);
      expect(rig.running()).toEqual([config.file]);
      await rig.driver.stop();
      await exit;
      await start(rig, local);
      expect(rig.running()).toEqual([undefined]);
    });

    test('an exit that was not requested is reported with its code', async () => {
      const rig = await createRig();
      expect(await rig.driver.start(rig.config('exits with 3'))).toEqual({ code: 3, signal: null, requested: false });
      if (!inUnit) expect(rig.running()).toEqual([]);
    });

    test('a kill from outside is reported with its signal, and as not requested', async () => {
      const rig = await createRig();
      const { exit } = await start(rig, rig.config('runs'));
      rig.kill('SIGKILL');
      expect(await exit).toEqual({ code: null, signal: 'SIGKILL', requested: false });
    });

    test('a stop ends the run and is reported as requested, also when it is asked for twice', async () => {
      const rig = await createRig();
      const config = rig.config('runs');
      const { exit } = await start(rig, config);
      await Promise.all([rig.driver.stop(), rig.driver.stop()]);
      expect(rig.running()).toEqual(inUnit ? [config.file] : []);
      expect(await exit).toMatchObject({ requested: true });
    });

    test('it has exited or is left alone when the agent ends, and start returns', async () => {
      const rig = await createRig();
      const { exit } = await start(rig, rig.config('runs'));
      await rig.driver.shutdown('SIGTERM');
      expect(await exit).toMatchObject({ requested: true });
    });

    test.skipIf(inUnit)('one that ignores a stop is killed after the grace period', async () => {
      const rig = await createRig();
      const { exit } = await start(rig, rig.config('ignores a stop'));
      const stopped = rig.driver.stop();
      await rig.passGracePeriod();
      await stopped;
      expect(await exit).toEqual({ code: null, signal: 'SIGKILL', requested: true });
      expect(rig.running()).toEqual([]);
    });

    test('a stop without a start does nothing', async () => {
      const { driver, running } = await createRig();
      const before = running();
      await driver.stop();
      await driver.shutdown('SIGTERM');
      expect(running()).toEqual(before);
    });

    test('there are never two', async () => {
      const rig = await createRig();
      const config = rig.config('runs');
      await start(rig, config);
      expect(() => rig.driver.start(local)).toThrow('one is running');
      expect(rig.running()).toEqual([config.file]);
    });

    test('the exit of the next kubelet is not reported as requested', async () => {
      const rig = await createRig();
      const first = await start(rig, rig.config('runs'));
      await rig.driver.stop();
      await first.exit;
      expect(await rig.driver.start(rig.config('exits with 3'))).toMatchObject({ code: 3, requested: false });
    });
  });

  describe(`${name} driver: a kubelet that an earlier relet left running`, () => {
    test('does not run beside the one of the next relet', async () => {
      const rig = await createRig();
      await start(rig, rig.config('runs'));
      const next = await rig.restartedDriver();
      await next.recover();
      await start(rig, local, next);
      expect(rig.running()).toEqual([undefined]);
    });

    test('need not be there', async () => {
      const { driver, running } = await createRig();
      const before = running();
      await driver.recover();
      expect(running()).toEqual(before);
    });
  });

  describe(`${name} driver: the binary`, () => {
    test('a replaced one has another fingerprint, and its version is known before it is started', async () => {
      const { driver, replaceBinary } = await createRig();
      replaceBinary('v1.31.4');
      const before = driver.fingerprint();
      expect(await driver.version()).toBe('v1.31.4');
      expect(driver.fingerprint()).toBe(before);
      replaceBinary('v1.32.1');
      expect(driver.fingerprint()).not.toBe(before);
      expect(await driver.version()).toBe('v1.32.1');
    });

    test('a missing one has no version, and its start ends with an error', async () => {
      const { driver, removeBinary, config } = await createRig();
      removeBinary();
      expect(driver.fingerprint()).toBe('');
      await expect(driver.version()).rejects.toThrow();
      expect(await driver.start(config('runs'))).toMatchObject({ error: expect.any(Error), requested: false });
    });
  });

  describe(`${name} driver: the machine`, () => {
    test('has the same boot id until it is booted', async () => {
      const { driver, restartedDriver } = await createRig();
      expect(driver.bootId()).not.toBe('');
      expect((await restartedDriver()).bootId()).toBe(driver.bootId());
    });

    test('is not shutting down during a test', async () => {
      expect(await (await createRig()).driver.isHostStopping()).toBe(false);
    });

    test('there is no log before a kubelet was started; then it is that of the last one', async () => {
      const rig = await createRig();
      expect(await rig.driver.kubeletLog()).toBeUndefined();
      await rig.driver.start(rig.config('exits with 3'));
      expect(await rig.driver.kubeletLog()).toMatchObject({ error: 'it exits with 3' });
      await start(rig, rig.config('runs'));
      expect((await rig.driver.kubeletLog())?.error).toBeUndefined();
    });

    test('a port belongs to the kubelet that listens on it, to nobody else, and cannot be known without a kubelet', async () => {
      const rig = await createRig();
      expect(await rig.driver.portOwners([rig.port])).toBeUndefined();
      const { exit } = await start(rig, rig.config('runs'));
      expect(await rig.driver.portOwners([rig.port])).toEqual(['kubelet']);
      expect(await rig.driver.portOwners([])).toEqual([]);
      await rig.driver.stop();
      await exit;
      expect(await rig.driver.portOwners([rig.port])).toBeUndefined();
    });
  });
}

/** Wrapped, so that an await does not wait for the exit. */
interface Start {
  exit: Promise<Exit>;
}
