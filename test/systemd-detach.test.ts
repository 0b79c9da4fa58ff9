/** relet leaves a real systemd as it found it, however often it came. */
import { expect, test } from 'vitest';
import { describeOnSystemd } from './systemd-machine.js';
import { local, SystemdRig } from './systemd-rig.js';

const rounds = Number(process.env.DETACH_ROUNDS || 100);

describeOnSystemd('detach', (machine) => {
  test('the unit is byte for byte what it was, and the kubelet is not restarted', async () => {
    const rig = await SystemdRig.create(machine(), { restartSec: 1 });
    const before = await rig.unitFiles();
    await rig.startAndKeep(rig.config('runs'));
    await rig.startAndKeep(local);
    const invocation = await rig.invocation();
    await rig.driver.unit.detach();
    await rig.driver.close();
    expect(await rig.invocation()).toBe(invocation);
    expect(await rig.unitFiles()).toBe(before);
  });

  test('in the middle of a trial nothing of it is left either', async () => {
    const rig = await SystemdRig.create(machine(), { restartSec: 1 });
    const before = await rig.unitFiles();
    await rig.startAndKeep(rig.config('runs'));
    await rig.started('runs');
    expect(await rig.unitFiles()).not.toBe(before);
    await rig.driver.unit.detach();
    expect(await rig.unitFiles()).toBe(before);
    expect(await rig.timers()).toBe('');
  });

  test(`${rounds} rounds of install and detach leave nothing`, { timeout: rounds * 20_000 }, async () => {
    const rig = await SystemdRig.create(machine(), { kubelet: 'hollow' });
    const unit = await rig.unitFiles();
    await rig.start(local);
    await rig.driver.unit.detach();
    await rig.driver.close();
    const before = await rig.everything();
    // The directory of the agent's lock stays until the next boot.
    expect(before.filter((line) => line.includes('relet'))).toEqual(['/run/relet']);
    for (let round = 0; round < rounds; round++) {
      await rig.open();
      await rig.startAndKeep(rig.config('runs'));
      await rig.startAndKeep(local);
      await rig.driver.unit.detach();
      await rig.driver.close();
      expect(await rig.unitFiles()).toBe(unit);
      expect(await rig.everything()).toEqual(before);
    }
  });
});
