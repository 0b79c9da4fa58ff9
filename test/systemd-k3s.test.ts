/** Kubelets inside k3s and below RKE2 on a real systemd, with a stand-in that ends as these two do: `npm run test:systemd`. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { testDriver } from './rig/driver-contract.js';
import { describeOnSystemd, type Machine } from './systemd-machine.js';
import { contractRig, embeddings, local, type RigOptions, SystemdRig } from './systemd-rig.js';

describeOnSystemd('the contract of drivers, a kubelet inside k3s', (machine, root) => {
  testDriver(`k3s (${root})`, () => contractRig(machine(), { embedding: 'k3s' }), { inUnit: true });
});

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`;

async function create(machine: Machine, options: RigOptions): Promise<SystemdRig> {
  return SystemdRig.create(machine, { restartSec: 1, ...options });
}

/** With a config that is kept, and that every boot starts. */
async function createWithGood(machine: Machine, options: RigOptions) {
  const rig = await create(machine, options);
  const good = await rig.startAndKeep(rig.config('runs'));
  await rig.stop();
  return { rig, good };
}

describeOnSystemd('a kubelet that is a part of', (machine) => {
  describe.each(['k3s', 'rke2'] as const)('%s', (embedding) => {
    const installed = `${embeddings[embedding].configDir}/zz-relet.conf`;

    test('a config on trial is one restart, and only the first one reloads systemd', async () => {
      const rig = await create(machine(), { embedding });
      const reloads = async () =>
        Number(await rig.machine.sh('journalctl -q -o cat | grep -c "^Reloading\\." || true'));
      const before = await reloads();
      await rig.started('runs');
      expect(await reloads()).toBe(before + 1);
      const starts = rig.starts().length;
      const config = await rig.started('runs');
      await rig.driver.unit.confirmHealthy();
      await rig.driver.unit.keep(config);
      await rig.start(local);
      expect(rig.starts()).toHaveLength(starts + 2);
      expect(await reloads()).toBe(before + 1);
    });

    test('a config that passed its trial is what every boot starts; local has no file', async () => {
      const { rig, good } = await createWithGood(machine(), { embedding });
      await rig.reboot();
      await rig.untilRunning(good);
      await rig.open();
      await rig.startAndKeep(local);
      expect(existsSync(rig.machine.path(installed))).toBe(false);
      await rig.reboot();
      await rig.untilRunning(local);
    });

    test.each(['reboot', 'powerCycle'] as const)('a %s in a trial boots the last known good', async (how) => {
      const { rig, good } = await createWithGood(machine(), { embedding });
      const config = await rig.started('runs');
      await rig.reboot(how);
      await rig.untilRunning(good);
      await rig.open();
      await rig.start(config);
      expect(rig.driver.unit.notices()).toEqual([]);
    });

    test('a config with which the kubelet hangs is rolled back at the deadline without an agent', async () => {
      const { rig, good } = await createWithGood(machine(), { embedding, healthDeadlineMs: 4000 });
      await rig.started('hangs');
      await rig.driver.close();
      await rig.untilRunning(good);
      expect(await rig.timers()).toBe('');
    });

    test('a kubelet that never started, since the API server was away, does not count against the config', async () => {
      const { rig } = await createWithGood(machine(), { embedding, healthDeadlineMs: 2000 });
      writeFileSync(rig.machine.path('/etc/api-away'), '');
      const config = rig.config('runs');
      rig.begin(config);
      await rig.until('the deadline was looked at and put off', async () => {
        const [, , , since] = readFileSync(rig.machine.path('/run/relet/started'), 'utf8').trim().split(' ');
        const begun = Number(await rig.systemctl(`show --value -p ExecMainStartTimestampMonotonic ${rig.unit}`)) / 1e6;
        return begun > 0 && Number(since) > begun + 3;
      });
      rmSync(rig.machine.path('/etc/api-away'));
      await rig.untilRunning(config);
      await rig.driver.unit.confirmHealthy();
      expect(existsSync(rig.machine.path('/run/relet/trial'))).toBe(true);
    });

    test('a restart or a kill by an operator does not count against the config', async () => {
      const { rig } = await createWithGood(machine(), { embedding });
      const config = await rig.started('runs');
      for (let time = 0; time < 4; time++) {
        const before = await rig.invocation();
        await rig.systemctl(time % 2 === 0 ? `restart ${rig.unit}` : `kill --signal=KILL --kill-who=main ${rig.unit}`);
        await rig.untilRestarted(before);
        await rig.untilRunning(config);
      }
    });

    test('detach leaves nothing, and the kubelet runs on', async () => {
      const rig = await create(machine(), { embedding });
      // The directory is systemd's own, and the socket is that of this agent.
      const everything = async () =>
        (await rig.everything()).filter((path) => !/^\/run\/(systemd\/transient|relet\/agent\.sock)/.test(path));
      const before = await everything();
      const text = await rig.unitFiles();
      await rig.startAndKeep(rig.config('runs'));
      await rig.startAndKeep(local);
      const invocation = await rig.invocation();
      await rig.driver.unit.detach();
      await rig.driver.close();
      expect(await rig.unitFiles()).toBe(text);
      expect(await everything()).toEqual(before);
      expect(await rig.invocation()).toBe(invocation);
    });
  });

  describe('k3s', () => {
    const embedding = 'k3s';

    test.each([
      ['its exit code', false],
      ['0, as since 1.32.10, 1.33.6, 1.34.2 and 1.35.0', true],
    ])('a crash is rolled back by systemd alone at the third exit, also with %s', async (_name, exitsWith0) => {
      const { rig, good } = await createWithGood(machine(), { embedding });
      if (exitsWith0) writeFileSync(rig.machine.path('/etc/exits-with-0'), '');
      const bad = rig.config('exits with 3');
      const first = await rig.driver.start(bad);
      expect(first).toMatchObject(exitsWith0 ? { code: 0, byItself: true } : { code: 3 });
      await rig.driver.close();
      await rig.untilRunning(good);
      const driver = await rig.open();
      const exits = [await driver.start(bad), await driver.start(bad), await driver.start(bad)];
      expect(exits.map(({ rolledBack }) => rolledBack)).toEqual([undefined, undefined, true]);
    });

    test('a last known good that no longer starts is replaced by local, and tried again at the next boot', async () => {
      const rig = await create(machine(), { embedding });
      writeFileSync(rig.machine.path('/etc/needed'), '');
      const good = await rig.startAndKeep(rig.config('needs'));
      await rig.machine.sh('rm /etc/needed');
      await rig.reboot();
      await rig.untilRunning(local);
      const driver = await rig.open();
      expect(driver.unit.notices()).toMatchObject([{ reason: 'FellBackToLocal' }]);
      writeFileSync(rig.machine.path('/etc/needed'), '');
      await rig.reboot();
      await rig.untilRunning(good);
    });

    test('relet agent --check finds the unit, the flags in its journal and its kubeconfig, and changes nothing', async () => {
      const rig = await create(machine(), { embedding });
      writeFileSync(rig.machine.path('/var/lib/rancher/k3s/agent/kubelet.kubeconfig'), kubeconfig);
      await rig.driver.close();
      const relet = ['/usr/bin/node', '/opt/relet/bin/relet.cjs', 'agent', '--check', '--node-name=vm'];
      const { stdout, code } = await rig.machine.run(...relet);
      expect(stdout).toContain('unit:     k3s.service, as k3s sets it up');
      expect(stdout).toContain('cluster:  /var/lib/rancher/k3s/agent/kubelet.kubeconfig');
      expect(stdout).toContain('kubelet:  /usr/local/bin/k3s (v1.32.1)');
      expect(stdout).toContain('would:    change nothing');
      expect(code).toBe(0);
    });

    test('without the script of relet every start is with the local config', async () => {
      const { rig } = await createWithGood(machine(), { embedding });
      await rig.machine.sh('rm -rf /var/lib/relet');
      await rig.systemctl(`restart ${rig.unit}`);
      await rig.untilRunning(local);
    });

    test('a drop-in of others that the kubelet reads later is reported, and nothing is restarted', async () => {
      const rig = await create(machine(), { embedding });
      await rig.start(local);
      const invocation = await rig.invocation();
      writeFileSync(rig.machine.path(`${embeddings.k3s.configDir}/zzz.conf`), '');
      await rig.stop();
      rig.begin(rig.config('runs'));
      await rig.untilNotice('CommandOverridden');
      expect(await rig.invocation()).toBe(invocation);
    });
  });
});
