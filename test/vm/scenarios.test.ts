/** Attached mode on machines that boot, with a real kubelet, containerd and API server: `npm run test:vm`. */
import { expect, test } from 'vitest';
import { describeInMachines } from './describe.js';
import type { VmNode } from './node.js';

const trial = '/run/systemd/system/kubelet.service.d/zz-relet-90-trial.conf';

/** The kubelet exits with it some seconds after its start. */
const crashes = 'evictionHard: {memory.available: bogus}';

/** Stops the next process of the kubelet as soon as it runs, so that it does not answer. Before that it is a process of systemd. */
const hangNext = `cat >/run/hang <<'END'
old=$(systemctl show --value -p MainPID kubelet)
while pid=$(systemctl show --value -p MainPID kubelet); [ $pid = 0 ] || [ $pid = $old ]; do sleep 0.1; done
until [ "$(readlink /proc/$pid/exe)" = /usr/bin/kubelet ]; do sleep 0.1; done
kill -STOP $pid
END
systemd-run --quiet --unit=hang sh /run/hang`;

/** The kubelet was started with the config on trial. */
const untilTrial = `show() { systemctl show --value -p $1 kubelet; }
until [ -e ${trial} ] && [ "$(show InvocationID)" != "$(cat /run/relet/before)" ] && [ "$(show MainPID)" != 0 ]; do sleep 0.1; done`;
/** Not restarted: it is as dead as on a node without one. */
const killAgentInTrial = `${untilTrial}; systemctl kill --signal=KILL relet-agent; systemctl stop relet-agent`;

const invocation = (node: VmNode) => node.machine.sh('systemctl show --value -p InvocationID kubelet');

/** Until systemd has ended the trial: by a crash, a deadline or an order of the agent. */
const untilTrialEnded = (node: VmNode) =>
  node.machine.until('the trial ended', async () => (await node.machine.run(`test -e ${trial}`)).code === 1);

async function keep(node: VmNode, maxPods: number): Promise<void> {
  await node.assign(maxPods);
  await node.untilRuns(maxPods);
  await node.untilLastKnownGood(maxPods);
}

const conditionOf = async (node: VmNode, type: string) =>
  (await node.status()).conditions?.find((condition) => condition.type === type);

describeInMachines('attached mode', (created) => {
  test('the machine is one of today: systemd as process 1, cgroup v2, AppArmor', async () => {
    const { machine } = created();
    expect(await machine.sh('cat /proc/1/comm; stat -f -c %T /sys/fs/cgroup')).toBe('systemd\ncgroup2fs');
    expect(await machine.sh('cat /sys/module/apparmor/parameters/enabled')).toBe('Y');
  });

  test('detaching and attaching again, and a kill of the agent, restart no kubelet', async () => {
    const node = created();
    const before = await invocation(node);
    await node.machine.sh('relet detach --host && systemctl kill --signal=KILL relet-agent');
    await node.until('held', async () => (await node.status()).held !== undefined);
    await node.machine.sh('until relet node release; do sleep 1; done');
    await node.until('released', async () => (await node.status()).held === undefined);
    await node.untilRuns(110);
    expect(await invocation(node)).toBe(before);
    const check = await node.machine.sh('relet agent --check');
    expect(check).toContain('unit:     kubelet.service, as kubeadm sets it up');
    expect(check).toContain('would:    change nothing');
  });

  test('a config becomes active and last known good, and a reboot starts it', async () => {
    const node = created();
    await keep(node, 50);
    await node.machine.reboot();
    await node.untilRuns(50);
    expect((await node.status()).config?.error).toBeUndefined();
  });

  test('a config that crashes the kubelet is rolled back, with the last line of the kubelet', async () => {
    const node = created();
    await node.force(51, crashes);
    await node.untilReason('CrashLoop');
    await node.untilRuns(110);
    const { cause, kubeletLog } = await node.status();
    expect(cause).toContain('quantities must match');
    expect(kubeletLog?.join('\n')).toContain('quantities must match');
  });

  test('a kubelet that hangs with a config is rolled back by the agent', async () => {
    const node = created();
    await node.machine.sh(hangNext);
    await node.assign(52);
    await node.untilReason('NotHealthy');
    await node.untilRuns(110);
  });

  test('systemd alone rolls back a crash, the agent being dead', async () => {
    const node = created();
    await keep(node, 53);
    await node.force(54, crashes);
    await node.machine.sh(killAgentInTrial);
    await untilTrialEnded(node);
    await node.until('runs what was kept', async () => (await node.runs()) === 53);
    await node.machine.sh('systemctl start relet-agent');
    await node.untilReason('CrashLoop');
    await node.untilRuns(53);
  });

  test('systemd alone rolls back a hang at its deadline, and the next agent tries the config again', async () => {
    const node = created();
    await node.machine.sh(hangNext);
    await node.assign(55);
    await node.machine.sh(killAgentInTrial);
    await untilTrialEnded(node);
    await node.until('runs what was kept', async () => (await node.runs()) === 110);
    await node.machine.sh('systemctl start relet-agent');
    await node.untilRuns(55);
  });

  test('a power cut in the trial of a config that crashes boots what was kept', async () => {
    const node = created();
    await keep(node, 56);
    await node.force(57, crashes);
    await node.machine.sh(untilTrial);
    await node.machine.cutPower();
    await node.until('runs what was kept', async () => (await node.runs()) === 56);
    await node.untilReason('CrashLoop');
    await node.untilRuns(56);
  });

  test('containerd down at boot takes neither config away', async () => {
    const node = created();
    await keep(node, 58);
    await node.machine.sh('systemctl mask -q containerd && sync');
    await node.machine.cutPower();
    // Three crashes of each config, and one more.
    await node.machine.sh(
      'until [ $(journalctl -b -u kubelet | grep -c "Main process exited") -ge 7 ]; do sleep 1; done',
    );
    await node.machine.sh('systemctl unmask -q containerd && systemctl start containerd');
    await node.untilRuns(58);
    expect((await node.status()).config).toMatchObject({ lastKnownGood: { configMap: { name: 'pods-58' } } });
  });

  test('on a full disk the kubelet keeps its config, and gets the new one when there is room', async () => {
    const node = created();
    const before = await invocation(node);
    await node.machine.sh(
      'dd if=/dev/zero of=/fill bs=1M status=none; dd if=/dev/zero of=/fill2 bs=1k status=none; sync',
    );
    await node.assign(59);
    await node.until('reported', async () => /NotSaved$/.test((await conditionOf(node, 'ConfigOK'))?.reason ?? ''));
    expect(await invocation(node)).toBe(before);
    await node.machine.sh('rm /fill /fill2');
    await node.untilRuns(59);
  });

  test('with /etc read-only a config runs, and the status says that a boot will not start it', async () => {
    const node = created();
    await node.machine.sh('mount --bind /etc /etc && mount -o remount,bind,ro /etc');
    await node.assign(60);
    await node.untilCondition('UnitOK', 'NextStartNotKept');
    await node.untilRuns(60);
    await node.machine.cutPower();
    await node.untilRuns(60);
    await node.untilLastKnownGood(60);
    await node.untilCondition('UnitOK', 'UnitAsExpected');
  });

  test.each(['+1 day', '-30 minutes'])('a clock that jumps by %s in a trial ends nothing', async (jump) => {
    const node = created();
    await node.assign(61);
    await node.machine.sh(untilTrial);
    await node.machine.sh(`date -s "${jump}"`);
    await node.untilLastKnownGood(61);
    expect(await node.runs()).toBe(61);
  });

  test('systemd re-executed in a trial continues it', async () => {
    const node = created();
    await node.assign(62);
    await node.machine.sh(`${untilTrial}; systemctl daemon-reexec`);
    await node.untilRuns(62);
    await node.untilLastKnownGood(62);
  });

  test('a journal that drops lines does not stop a rollback', async () => {
    const node = created();
    await node.machine.sh(
      'mkdir -p /etc/systemd/journald.conf.d && printf "[Journal]\\nRateLimitIntervalSec=1h\\nRateLimitBurst=1\\n" >/etc/systemd/journald.conf.d/limit.conf && systemctl restart systemd-journald',
    );
    await node.force(63, crashes);
    await node.untilReason('CrashLoop');
    await node.untilRuns(110);
  });

  test('an edited unit keeps its edit, and the config', async () => {
    const node = created();
    await keep(node, 64);
    await node.machine.sh(
      'mkdir -p /etc/systemd/system/kubelet.service.d && printf "[Service]\\nExecStart=\\nExecStart=/usr/bin/kubelet \\$KUBELET_KUBECONFIG_ARGS \\$KUBELET_CONFIG_ARGS \\$KUBELET_KUBEADM_ARGS --v=3\\n" >/etc/systemd/system/kubelet.service.d/override.conf && systemctl daemon-reload',
    );
    await node.untilCondition('UnitOK', 'BaseCommandChanged');
    await node.machine.sh('systemctl restart kubelet');
    await node.untilCondition('UnitOK', 'UnitAsExpected');
    await node.untilRuns(64);
    expect(await node.machine.sh("tr '\\0' ' ' </proc/$(pidof kubelet)/cmdline")).toContain(' --v=3 ');
  });

  test('a config that starves the services of the host is rejected; forced, it is rolled back and leaves no limit', async () => {
    const node = created();
    const starves = ['enforceNodeAllocatable: [pods, system-reserved]', 'systemReservedCgroup: /system.slice'];
    await node.assign(65, ...starves, 'systemReserved: {memory: 30Mi}');
    await node.untilReason('HostWouldStarve');
    await node.force(66, ...starves, 'systemReserved: {memory: 30Mi}');
    await node.untilReason('NotHealthy');
    await node.untilRuns(110);
    expect(await node.machine.sh('cat /sys/fs/cgroup/system.slice/memory.max')).toBe('max');
    expect(await node.machine.sh('ls /run/systemd/system.control 2>/dev/null || true')).not.toContain('system.slice');
  });

  test('a config that only a boot shows to fail is rejected; forced, the boot ends with the local config', async () => {
    const node = created();
    await node.assign(67, 'protectKernelDefaults: true');
    await node.untilReason('StartWouldFail');
    await node.force(68, 'protectKernelDefaults: true');
    await node.untilRuns(68);
    await node.untilLastKnownGood(68);
    await node.machine.cutPower();
    await node.untilCondition('BootRisk', 'CrashedAtBoot');
    await node.until('runs something', async () => (await node.runs()) !== undefined);
  });
});
