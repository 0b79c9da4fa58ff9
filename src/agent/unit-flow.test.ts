/** The flow beside a kubelet in a unit of its own, on the whole agent in memory. The unit is scripted; test/systemd.test.ts has a real one. */
import { describe, expect, test } from 'vitest';
import { bootFlowRig, createFlowRig, type FlowRig, quietUnit } from '../../test/rig/memory-node.js';
import type { Notice, StartedConfig } from './drivers/driver.js';
import { requestRecord } from './requests.js';
import { resultsRecord } from './trial/trial.js';

class ScriptedUnit {
  readonly calls: string[] = [];
  seen: Notice[] = [];
  next: StartedConfig | undefined;
  now: StartedConfig | undefined;
  changed = () => {};
  running = async () => this.now;
  confirmHealthy = async () => void this.calls.push('confirmHealthy');
  keep = async ({ source }: StartedConfig) => void this.calls.push(`keep ${source?.name ?? 'local'}`);
  stage = async (config: StartedConfig) => {
    this.calls.push(`stage ${config.source?.name ?? 'local'}`);
    this.next = config;
  };
  rollBack = async (to: StartedConfig['source']) => {
    this.calls.push(`rollBack ${to?.name ?? 'local'}`);
    return true;
  };
  notices = () => this.seen;
  nextStart = () => this.next;
  forgetRemoval = async () => {
    this.calls.push('forgetRemoval');
    this.seen = [];
  };
  detach = quietUnit.detach;
  onChange = (listener: () => void) => {
    this.changed = listener;
  };
}

async function started() {
  const rig = await createFlowRig();
  const unit = new ScriptedUnit();
  rig.unit = unit;
  rig.boot();
  await rig.untilStatus({});
  await rig.clock.advance(1000);
  unit.calls.length = 0;
  return { rig, unit };
}

const removed: Notice = { reason: 'DropInRemoved', message: 'zz-relet-50-good.conf is gone from the host' };

describe('a config on trial', () => {
  test('is confirmed to the host when it is healthy, and kept there when its trial has passed', async () => {
    const { rig, unit } = await started();
    await rig.activate('good');
    await rig.clock.advance(5000);
    expect(unit.calls).toEqual(['confirmHealthy']);
    await rig.passTrial();
    expect(unit.calls).toEqual(['confirmHealthy', 'keep good']);
  });

  test('is confirmed although the host does not answer at first', async () => {
    const { rig, unit } = await started();
    let failures = 2;
    unit.confirmHealthy = async () => {
      if (failures-- > 0) throw new Error('no connection');
      unit.calls.push('confirmHealthy');
    };
    await rig.assign('good');
    await rig.until('confirmed', () => unit.calls.includes('confirmHealthy'));
  });

  test('that never was healthy is neither confirmed nor kept', async () => {
    const { rig, unit } = await started();
    await rig.assign('bad', '# never healthy');
    await rig.untilStatus({ assigned: 'bad', error: expectedError('was not healthy in time') });
    expect(unit.calls).not.toContain('keep bad');
  });

  test('has failed when the host has counted enough crashes, however many of them relet has seen', async () => {
    const rig = await createFlowRig();
    rig.exitsAre = { rolledBack: true };
    rig.boot();
    await rig.assign('bad', '# crashes');
    await rig.until('rolled back', async () => (await rig.status()).error?.startsWith('rolled back') === true);
    expect(rig.starts.filter((name) => name === 'bad')).toHaveLength(1);
  });

  test('of the local config is kept too, which removes the last known good from the host', async () => {
    const { rig, unit } = await started();
    await rig.makeLastKnownGood('good');
    await rig.point(null);
    await rig.until('local is kept', () => unit.calls.at(-1) === 'keep local');
  });
});

test('a config that the host rolled back at its deadline, while the agent was too slow to do it, has failed and is not tried again', async () => {
  const rig = await createFlowRig();
  rig.exitsAre = { overdue: true };
  rig.boot();
  await rig.assign('bad', '# is stopped');
  await rig.untilStatus({ assigned: 'bad', error: expectedError('was not healthy in time') });
  await rig.clock.advance(300_000);
  expect(rig.starts).toEqual(['local', 'bad', 'local']);
});

test('after a power cut in a trial, active is the config that the host has booted, until the retried one answers', async () => {
  const { rig, unit } = await started();
  await rig.makeLastKnownGood('good');
  unit.now = rig.machine.running!.config;
  await rig.assign('tried', 'maxPods: 99');
  await rig.untilStatus({ active: 'tried', lastKnownGood: 'good' });
  const healthyAfterMs = Number.POSITIVE_INFINITY;
  rig.machine.behaviour = () => ({ healthyAfterMs });
  await rig.reboot();
  await rig.untilStatus({ assigned: 'tried', active: 'good', lastKnownGood: 'good' });
  rig.machine.running!.behaviour.healthyAfterMs = 0;
  await rig.untilStatus({ active: 'tried' });
});

describe('a drop-in that somebody removed', () => {
  async function afterRevert() {
    const found = await started();
    const { rig, unit } = found;
    await rig.makeLastKnownGood('good');
    unit.seen = [removed];
    unit.now = { source: undefined, file: undefined };
    unit.changed();
    return found;
  }

  test('is not a reason to restart a kubelet that runs', async () => {
    const { rig } = await afterRevert();
    const { starts } = rig;
    await rig.clock.advance(3_600_000);
    expect(rig.starts).toEqual(starts);
    expect(await rig.status()).toMatchObject({ active: 'good' });
  });

  test('is not written again after the next start: the node runs its local config and reports why', async () => {
    const { rig } = await afterRevert();
    rig.machine.kill('SIGTERM');
    await rig.until('local', () => rig.starts.at(-1) === 'local');
    await rig.until('reported', async () => (await rig.status()).error?.includes('drop-in') === true);
    const { starts } = rig;
    await rig.clock.advance(3_600_000);
    expect(rig.starts).toEqual(starts);
  });

  test('is written again for another assignment', async () => {
    const { rig, unit } = await afterRevert();
    rig.machine.kill('SIGTERM');
    await rig.until('local', () => rig.starts.at(-1) === 'local');
    await rig.activate('next');
    expect(unit.calls).toContain('forgetRemoval');
  });

  test('is written again when a person on the host asks for a retry', async () => {
    const { rig } = await afterRevert();
    rig.machine.kill('SIGTERM');
    await rig.until('local', () => rig.starts.at(-1) === 'local');
    await rig.request({ verb: 'retry' });
    await rig.untilStatus({ active: 'good' });
    expect(Object.values(rig.state.read(resultsRecord) ?? {}).map(({ kind }) => kind)).not.toContain('failed');
  });
});

describe('an overlay whose local file changed', () => {
  const file = '/var/lib/kubelet/config.yaml';
  const local = (maxPods: number) =>
    `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: ${maxPods}\n`;

  async function merged(overlay = 'config: {eventBurst: 7}') {
    const found = await started();
    const { rig, unit } = found;
    rig.local = { [file]: local(110) };
    await rig.assignOverlay('overlay', overlay);
    await rig.untilStatus({ active: 'overlay' });
    unit.now = rig.machine.started.at(-1);
    await rig.passTrial();
    unit.calls.length = 0;
    return found;
  }

  test('is merged again and staged for the next start, and the kubelet runs on', async () => {
    const { rig, unit } = await merged();
    const { starts } = rig;
    rig.local = { [file]: local(120) };
    await rig.clock.advance(70_000);
    expect(unit.calls).toEqual(['stage overlay']);
    expect(unit.next?.source?.mergedDigest).not.toBe(unit.now?.source?.mergedDigest);
    expect(rig.starts).toEqual(starts);
    expect(rig.reporter.latest).toMatchObject({
      notices: [{ reason: 'StaleMerge' }],
      nextStart: 'kube-system/overlay/kubelet',
    });
  });

  test('is merged again when the kubelet is replaced, and staged where that gives another document', async () => {
    // The thresholds that the overlay leaves out are the kubelet's own, and 1.20 has fewer of them.
    const { rig, unit } = await merged('config: {evictionHard: {memory.available: 200Mi}}');
    rig.machine.replaceBinary('v1.20.0');
    await rig.clock.advance(130_000);
    expect(unit.calls).toEqual(['stage overlay']);
    expect(unit.next?.source?.mergedDigest).not.toBe(unit.now?.source?.mergedDigest);
  });

  test('is not staged when it is rejected as it would be merged now, and the report shows why', async () => {
    const { rig, unit } = await merged();
    rig.local = { [file]: local(-1) };
    await rig.clock.advance(70_000);
    expect(unit.calls).toEqual([]);
    expect(rig.reporter.latest.notices?.[0]).toMatchObject({ reason: 'StaleMerge' });
  });

  test('is as before when the change is taken back', async () => {
    const { rig, unit } = await merged();
    rig.local = { [file]: local(120) };
    await rig.clock.advance(70_000);
    rig.local = { [file]: local(110) };
    await rig.clock.advance(70_000);
    expect(unit.next?.source?.mergedDigest).toBe(unit.now?.source?.mergedDigest);
    expect(rig.reporter.latest.notices).toBeUndefined();
  });

  test('is not restarted by a new agent, which only stages it', async () => {
    const { rig, unit } = await merged();
    await rig.stop();
    rig.local = { [file]: local(120) };
    rig.boot();
    await rig.untilStatus({ active: 'overlay' });
    await rig.clock.advance(600_000);
    expect(unit.calls).toContain('stage overlay');
    expect(rig.startedDocuments.at(-1)).toContain('maxPods: 110');
  });

  /** The next start was staged, and a reboot lost that: the old document runs. */
  async function rebooted() {
    const found = await merged();
    const { rig, unit } = found;
    rig.local = { [file]: local(120) };
    await rig.clock.advance(70_000);
    unit.next = undefined;
    await rig.reboot();
    await rig.until('the old one first', () => rig.startedDocuments.at(-1)?.includes('maxPods: 110') === true);
    return found;
  }

  test('is restarted once with what was staged when a reboot lost that', async () => {
    const { rig, unit } = await rebooted();
    await rig.until('then the new one', () => rig.startedDocuments.at(-1)?.includes('maxPods: 120') === true, 5000);
    unit.now = rig.machine.started.at(-1);
    const { starts } = rig;
    await rig.clock.advance(3_600_000);
    expect(rig.starts).toEqual(starts);
  });

  test('is not restarted after a reboot when the change is taken back before', async () => {
    const { rig } = await rebooted();
    await rig.until('the restart is announced', () => rig.reporter.latest.notices?.[0]?.reason === 'StaleMerge');
    rig.local = { [file]: local(110) };
    const { starts } = rig;
    await rig.clock.advance(600_000);
    expect(rig.starts).toEqual(starts);
    expect(rig.reporter.latest.notices).toBeUndefined();
  });
});

const expectedError = (part: string) =>
  `rolled back: the kubelet ${part} with this config, see Kubelet log for details`;

test('a request that was left while no relet ran is done at its start', async () => {
  const rig: FlowRig = await bootFlowRig();
  await rig.activate('good');
  await rig.stop();
  rig.leaveRequest({ verb: 'use-local' });
  rig.boot();
  await rig.until('local', () => rig.starts.at(-1) === 'local');
  expect(rig.state.read(requestRecord)).toBeUndefined();
});
