/** The systemd driver on a real systemd, booted in a container: `npm run test:systemd`. */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { StartedConfig } from '../src/agent/drivers/driver.js';
import { testDriver } from './rig/driver-contract.js';
import { describeOnSystemd } from './systemd-machine.js';
import { contractRig, local, SystemdRig } from './systemd-rig.js';

describeOnSystemd('the contract of drivers', (machine, root) => {
  testDriver(`systemd (${root})`, () => contractRig(machine()), { inUnit: true });
});

describeOnSystemd('a kubelet in its own unit', (machine) => {
  const createRig = async (options = {}) => SystemdRig.create(machine(), { restartSec: 1, ...options });
  /** With a config that is kept, and that every boot starts. */
  const createWithGood = async (options = {}) => {
    const rig = await createRig(options);
    const good = await rig.startAndKeep(rig.config('runs'));
    await rig.stop();
    return { rig, good };
  };

  describe('start', () => {
    test('the kubelet that runs is adopted, with the local config and with another one', async () => {
      const rig = await createRig();
      const first = await rig.invocation();
      await rig.start(local);
      expect(await rig.invocation()).toBe(first);
      const config = rig.config('runs');
      await rig.start(config);
      const second = await rig.invocation();
      expect(second).not.toBe(first);
      await rig.open();
      await rig.start(config);
      expect(await rig.invocation()).toBe(second);
    });

    test('a switch is one restart, with the command of the unit, its variables, and the config last', async () => {
      const rig = await createRig();
      writeFileSync(rig.machine.path('/var/lib/kubelet/kubeadm-flags.env'), 'KUBELET_KUBEADM_ARGS="--v=2 --x=a b"\n');
      const before = rig.starts().length;
      await rig.start(rig.config('runs'));
      expect(rig.starts()).toHaveLength(before + 1);
      const { args = [] } = rig.starts().at(-1)!;
      expect(args.slice(0, -1)).toEqual([
        '--config=/var/lib/kubelet/config.yaml',
        `--healthz-port=${rig.port}`,
        '--v=2',
        '--x=a',
        'b',
      ]);
      expect(args.at(-1)).toMatch(/^--config=\/var\/lib\/relet\/configs\/[0-9a-f]{64}\/kubelet\.yaml$/);
    });

    test('a config that passed its trial is kept without a restart, and every boot starts it', async () => {
      const rig = await createRig();
      const config = rig.config('runs');
      await rig.start(config);
      const invocation = await rig.invocation();
      await rig.driver.unit.confirmHealthy();
      await rig.driver.unit.keep(config);
      expect(await rig.invocation()).toBe(invocation);
      await rig.reboot();
      await rig.untilRunning(config);
    });

    test('the local config is tried and kept like any other', async () => {
      const { rig, good } = await createWithGood();
      await rig.start(local);
      await rig.reboot();
      await rig.untilRunning(good);
      await rig.open();
      await rig.startAndKeep(local);
      await rig.reboot();
      await rig.untilRunning(local);
    });
  });

  describe('a config on trial that crashes', () => {
    test('is reported exit by exit, and rolled back at the third', async () => {
      const { rig, good } = await createWithGood();
      const bad = rig.config('exits with 3');
      const exit = { code: 3, signal: null, requested: false };
      expect(await rig.driver.start(bad)).toEqual(exit);
      expect(await rig.driver.start(bad)).toEqual(exit);
      expect(await rig.driver.start(bad)).toEqual({ ...exit, rolledBack: true });
      await rig.untilRunning(good);
    });

    test('a config that crashes the kubelet is rolled back by systemd alone, and the next agent learns of every exit', async () => {
      const { rig, good } = await createWithGood();
      const bad = rig.config('exits with 3');
      await rig.driver.start(bad);
      await rig.driver.close();
      await rig.untilRunning(good);
      const driver = await rig.open();
      const exits = [await driver.start(bad), await driver.start(bad), await driver.start(bad)];
      expect(exits.map(({ code, rolledBack }) => [code, rolledBack])).toEqual([
        [3, undefined],
        [3, undefined],
        [3, true],
      ]);
      await rig.start(good);
      expect(driver.unit.notices()).toEqual([]);
    });

    test('is not blamed for restarts and kills by an operator', async () => {
      const { rig } = await createWithGood();
      const config = rig.config('runs');
      await rig.start(config);
      for (let time = 0; time < 6; time++) {
        const before = await rig.invocation();
        await rig.systemctl(time % 2 === 0 ? 'restart kubelet' : 'kill --signal=KILL --kill-who=main kubelet');
        await rig.untilRestarted(before);
        await rig.untilRunning(config);
      }
      expect(await rig.systemctl('is-active kubelet')).toBe('active');
    });
  });

  describe('a config on trial that hangs', () => {
    test('is rolled back at the deadline without an agent, and the next agent tries it again', async () => {
      const { rig, good } = await createWithGood({ healthDeadlineMs: 2000 });
      const bad = rig.config('hangs');
      await rig.start(bad);
      await rig.driver.close();
      await rig.untilRunning(good);
      const driver = await rig.open({ trial: { durationMs: 600_000, healthDeadlineMs: 60_000, failedStarts: 3 } });
      await rig.start(bad);
      expect(driver.unit.notices()).toMatchObject([{ reason: 'NoAgent' }]);
    });

    test('has no deadline once it was healthy', async () => {
      const { rig } = await createWithGood({ healthDeadlineMs: 2000 });
      const config = rig.config('runs');
      await rig.start(config);
      await rig.driver.unit.confirmHealthy();
      expect(await rig.timers()).toBe('');
      expect(rig.running()).toEqual([config.file]);
    });

    test('keeps its deadline when systemd is reloaded meanwhile', async () => {
      const { rig, good } = await createWithGood({ healthDeadlineMs: 4000 });
      const elapse = async () => rig.systemctl('show --value -p NextElapseUSecMonotonic relet-deadline.timer');
      await rig.start(rig.config('hangs'));
      await rig.driver.close();
      const armed = await elapse();
      await rig.systemctl('daemon-reload');
      await rig.systemctl('daemon-reexec');
      expect(await elapse()).toBe(armed);
      await rig.untilRunning(good);
    });
  });

  describe('a kept config that no longer starts', () => {
    test('is replaced by the local config without an agent; the next boot tries it again', async () => {
      const rig = await createRig();
      const good = rig.config('needs');
      writeFileSync(rig.machine.path('/etc/needed'), '');
      await rig.startAndKeep(good);
      await rig.machine.sh('rm /etc/needed');
      await rig.reboot();
      await rig.untilRunning(local);
      const driver = await rig.open();
      expect(driver.unit.notices()).toMatchObject([{ reason: 'FellBackToLocal' }]);
      writeFileSync(rig.machine.path('/etc/needed'), '');
      await rig.reboot();
      await rig.untilRunning(good);
    });

    test('returns when the local config crashes as well: what fails is not the config', async () => {
      const rig = await createRig();
      writeFileSync(rig.machine.path('/etc/needed'), '');
      writeFileSync(rig.localFile, '# needs /etc/needed\n');
      const good = rig.config('needs');
      await rig.startAndKeep(good);
      await rig.driver.close();
      await rig.machine.sh('rm /etc/needed && systemctl restart kubelet');
      const fellBack = () => rig.starts().some(({ args }, at) => at > 2 && !args?.at(-1)?.includes('/var/lib/relet/'));
      await rig.until('the local config was tried', fellBack);
      await rig.until('the kept one is tried again', () => isKept(rig.starts().at(-1)?.args));
      // However long it lasts, there is no third switch.
      const starts = rig.starts().length;
      await rig.until('five more starts', () => rig.starts().length >= starts + 5);
      expect(
        rig
          .starts()
          .slice(starts)
          .every(({ args }) => isKept(args)),
      ).toBe(true);
      writeFileSync(rig.machine.path('/etc/needed'), '');
      await rig.untilRunning(good);
      await rig.open();
      await rig.start(good);
    });
  });

  describe('the agent is killed, and the machine is booted again, after', () => {
    interface Step {
      name: string;
      /** Resolves with the config that runs then. */
      take(rig: SystemdRig, good: StartedConfig): Promise<StartedConfig>;
      boots: 'it' | 'the kept one';
    }
    const steps: Step[] = [
      { name: 'the adoption', take: (rig, good) => rig.start(good), boots: 'it' },
      { name: 'a switch', take: (rig) => rig.started('runs'), boots: 'the kept one' },
      {
        name: 'the first healthy answer',
        take: async (rig) => {
          const config = await rig.started('runs');
          await rig.driver.unit.confirmHealthy();
          return config;
        },
        boots: 'the kept one',
      },
      { name: 'the promotion', take: (rig) => rig.startAndKeep(rig.config('runs')), boots: 'it' },
      { name: 'the promotion of local', take: (rig) => rig.startAndKeep(local), boots: 'it' },
      {
        name: 'a rollback',
        take: async (rig, good) => {
          await rig.started('runs');
          return rig.start(good);
        },
        boots: 'it',
      },
      {
        name: 'the staging of a config',
        take: async (rig, good) => {
          await rig.start(good);
          await rig.driver.unit.stage(rig.config('runs'));
          return good;
        },
        boots: 'it',
      },
    ];

    test.each(steps)('$name', async ({ take, boots }) => {
      const { rig, good } = await createWithGood();
      const config = await take(rig, good);
      const invocation = await rig.invocation();
      await rig.open();
      await rig.start(config);
      expect(await rig.invocation()).toBe(invocation);
      await rig.reboot('powerCycle');
      await rig.untilRunning(boots === 'it' ? config : good);
      await rig.open();
      await rig.start(config);
      expect(rig.driver.unit.notices()).toEqual([]);
    });
  });
});

const isKept = (args: string[] | undefined) => args?.at(-1)?.includes('/var/lib/relet/') === true;
