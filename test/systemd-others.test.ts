/** Changes by others to the kubelet's unit while relet is attached to it, on a real systemd: noticed, reported, never reverted. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { describeOnSystemd } from './systemd-machine.js';
import { local, SystemdRig } from './systemd-rig.js';

const base = '/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf';
const good = '/etc/systemd/system/kubelet.service.d/zz-relet-50-good.conf';

describeOnSystemd('what others do to the unit', (machine) => {
  const createRig = async (options = {}) => SystemdRig.create(machine(), { restartSec: 1, ...options });
  const createWithGood = async (options = {}) => {
    const rig = await createRig(options);
    const config = rig.config('runs');
    await rig.startAndKeep(config);
    return { rig, config };
  };
  const reasons = ({ driver }: SystemdRig) => driver.unit.notices().map(({ reason }) => reason);

  test('a changed command is repeated in the next start, and nothing restarts until then', async () => {
    const { rig, config } = await createWithGood();
    const before = await rig.invocation();
    await rig.machine.sh(`sed -i 's/--healthz-port/--new-flag=1 --healthz-port/' ${base} && systemctl daemon-reload`);
    await rig.untilNotice('BaseCommandChanged');
    expect(await rig.invocation()).toBe(before);
    expect(rig.driver.unit.nextStart()).toEqual(config);
    await rig.systemctl('restart kubelet');
    await rig.untilRestarted(before);
    await rig.untilRunning(config);
    expect(rig.starts().at(-1)!.args).toContain('--new-flag=1');
    await rig.start(config);
    await rig.driver.unit.confirmHealthy();
    await rig.driver.unit.keep(config);
    expect(reasons(rig)).toEqual([]);
  });

  test.each([
    ['deleted', `rm ${good} && systemctl daemon-reload`],
    ['reverted', 'systemctl revert kubelet'],
  ])('a drop-in that is %s stays away until something is started again', async (_how, command) => {
    const { rig, config } = await createWithGood();
    const before = await rig.invocation();
    await rig.machine.sh(command);
    await rig.untilNotice('DropInRemoved');
    expect(rig.driver.unit.nextStart()).toEqual(local);
    await rig.open();
    await rig.start(config);
    expect(reasons(rig)).toEqual(['DropInRemoved']);
    expect(await rig.invocation()).toBe(before);
    await rig.startAndKeep(rig.config('runs'));
    expect(reasons(rig)).toEqual([]);
  });

  test('a masked unit is waited for; the kubelet runs on', async () => {
    const { rig, config } = await createWithGood();
    await rig.systemctl('mask --runtime kubelet');
    const next = rig.config('runs');
    const started = rig.start(next);
    await rig.untilNotice('UnitMasked');
    expect(rig.running()).toEqual([config.file]);
    await rig.systemctl('unmask --runtime kubelet');
    await started;
    expect(reasons(rig)).toEqual([]);
  });

  test('a unit that an operator stopped is not started, neither by the agent nor at the deadline', async () => {
    const { rig } = await createWithGood({ healthDeadlineMs: 1500 });
    await rig.started('hangs');
    await rig.systemctl('stop kubelet');
    await rig.until('the deadline has passed', async () => (await rig.timers()) === '');
    expect(rig.running()).toEqual([]);
    await rig.stop();
    const next = rig.config('runs');
    const started = rig.start(next);
    await rig.untilNotice('UnitStopped');
    expect(rig.running()).toEqual([]);
    await rig.systemctl('start kubelet');
    await started;
    expect(reasons(rig)).toEqual([]);
  });

  test('a drop-in that sets a command after those of relet is not overruled', async () => {
    const { rig, config } = await createWithGood();
    const other = rig.machine.path('/etc/systemd/system/kubelet.service.d/zzz-site.conf');
    writeFileSync(other, '[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml\n');
    await rig.systemctl('daemon-reload');
    const started = rig.start(rig.config('runs'));
    await rig.untilNotice('CommandOverridden');
    expect(rig.running()).toEqual([config.file]);
    rmSync(other);
    await rig.systemctl('daemon-reload');
    await started;
    expect(reasons(rig)).toEqual([]);
  });

  describe('/etc', () => {
    test('that is read-only: a config is tried, and that it cannot be kept is reported', async () => {
      const rig = await createRig();
      mkdirSync(rig.machine.path('/etc/systemd/system/kubelet.service.d'), { recursive: true });
      const mounted = '/etc/systemd/system';
      await rig.machine.sh(`mount --bind ${mounted} ${mounted} && mount -o remount,ro,bind ${mounted}`);
      try {
        const config = rig.config('runs');
        await rig.startAndKeep(config);
        expect(reasons(rig)).toEqual(['NextStartNotKept']);
        expect(rig.running()).toEqual([config.file]);
        await rig.machine.sh(`umount ${mounted}`);
        await rig.driver.unit.keep(config);
        expect(reasons(rig)).toEqual([]);
      } finally {
        await rig.machine.run('umount', '-l', mounted);
      }
    });

    test('that forgets everything at a boot: the local config runs, and that is reported', async () => {
      const { rig, config } = await createWithGood();
      await rig.driver.close();
      await rig.machine.sh('rm -rf /etc/systemd/system/kubelet.service.d /etc/systemd/system/relet-*');
      await rig.reboot('powerCycle');
      await rig.untilRunning(local);
      await rig.open();
      expect(reasons(rig)).toEqual(['NextStartNotKept']);
      await rig.startAndKeep(config);
      expect(reasons(rig)).toEqual([]);
    });
  });

  test('a second agent is refused while the first one lives', async () => {
    const rig = await createRig();
    await expect(rig.openAnother()).rejects.toThrow('another relet agent runs on this host');
    await rig.driver.close();
    await (await rig.openAnother()).close();
  });

  test.each([
    ['the wrapper', '/usr/local/bin/relet kubelet --dynamic-config-dir=/d', 'ExecStart= starts relet'],
    ['a shell', "/bin/sh -c 'exec kubelet'", 'ExecStart= starts sh'],
  ])('%s in the unit is refused', async (_what, command, reason) => {
    const rig = await createRig();
    await rig.driver.close();
    writeFileSync(rig.machine.path(base), `[Service]\nExecStart=\nExecStart=${command}\n`);
    await rig.systemctl('daemon-reload');
    await expect(rig.openAnother()).rejects.toThrow(reason);
  });
});
