/** The flow of one node on a real disk with real processes and without an API: what boots, and what is rolled back. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { corrupt, createRig } from '../../test/rig/process-node.js';
import { trialRecord } from './trial/trial.js';

describe('boot: order of trust', () => {
  test.each([
    ['nothing assigned runs local', {}, undefined, undefined],
    ['a good assignment runs', { assigned: 'good' }, '1', undefined],
    [
      'a bad assignment falls back to last known good',
      { assigned: 'bad', good: true },
      '2',
      'failed to validate config, see Kubelet log for details',
    ],
    [
      'a bad assignment without one falls back to local',
      { assigned: 'bad' },
      undefined,
      'failed to validate config, see Kubelet log for details',
    ],
    [
      'X8 an unreadable record falls back to last known good',
      { assigned: 'unreadable', good: true },
      '2',
      'failed to load config, see Kubelet log for details',
    ],
    [
      'X9 a lost checkpoint of both falls back to local',
      { assigned: 'bad', good: true, lost: true },
      undefined,
      'failed to validate config, see Kubelet log for details',
    ],
  ])('%s', async (_name, given: { assigned?: string; good?: boolean; lost?: boolean }, active, error) => {
    const rig = await createRig();
    if (given.assigned)
      rig.remember('assigned', '1', rig.config(...(given.assigned === 'bad' ? ['kubeAPIQPS: -1'] : [])));
    if (given.good) rig.remember('last-known-good', '2', rig.config('eventRecordQPS: 2'));
    if (given.assigned === 'unreadable') corrupt(join(rig.dir, 'meta', 'assigned'));
    if (given.lost) rmSync(join(rig.dir, 'checkpoints', 'uid-2'), { recursive: true });
    rig.boot();
    await rig.until('a report', () => rig.status() !== undefined);
    const status = rig.status()!;
    expect(status.active?.configMap?.resourceVersion).toBe(active);
    expect(status.error).toBe(error);
    expect(rig.starts()).toHaveLength(1);
    expect(rig.starts()[0]?.configFile).toBe(
      active && join(rig.dir, 'checkpoints', `uid-${active}`, active, 'kubelet'),
    );
    if (error) expect(rig.log()).toContain(error);
  });
});

describe('trial and rollback', () => {
  test('healthy time is counted once', async () => {
    const rig = await createRig();
    rig.remember('assigned', '1', rig.config());
    const begunMs = rig.clock.monotonic();
    rig.boot();
    const healthyMs = () => rig.state.read(trialRecord)?.healthyMs ?? 0;
    await rig.untilHealthy();
    // It is recorded once a minute.
    for (const least of [60_000, 120_000, 180_000]) {
      rig.clock.advance(60_000);
      await rig.until('counted', () => healthyMs() >= least);
      expect(healthyMs()).toBeLessThanOrEqual(rig.clock.monotonic() - begunMs);
    }
  });

  test('a config that kills the kubelet at its start is rolled back, and not tried again after a restart', async () => {
    const rig = await createRig();
    rig.remember('assigned', '1', rig.config('# exit 1'));
    rig.remember('last-known-good', '2', rig.config());
    rig.boot();
    await rig.until('rolled back', () => rig.status()?.active?.configMap?.resourceVersion === '2');
    expect(rig.status()?.error).toBe(
      'rolled back: the kubelet kept crashing with this config, see Kubelet log for details',
    );
    expect(rig.log()).toContain('the kubelet crashed 3 times, last: exit code 1');
    expect(rig.starts()).toHaveLength(4);
    await rig.stop();
    rig.boot();
    await rig.until('a report', () => rig.status()?.active !== undefined);
    expect(rig.starts()).toHaveLength(5);
    expect(rig.status()?.error).toContain('rolled back');
  });

  test('X3 a kubelet that dies seconds after each start is rolled back and never becomes last known good', async () => {
    const rig = await createRig();
    rig.remember('assigned', '1', rig.config('# die 100 2'));
    rig.boot();
    await rig.until(
      'local runs',
      () => rig.status()?.error !== undefined && rig.starts().at(-1)?.configFile === undefined,
    );
    expect(rig.state.lastKnownGood()).toEqual({ source: undefined });
    expect(rig.starts().filter(({ configFile }) => configFile !== undefined)).toHaveLength(3);
  });

  test('a config that never gets healthy is rolled back at the deadline', async () => {
    const rig = await createRig();
    rig.remember('assigned', '1', rig.config('# unhealthy'));
    rig.boot();
    await rig.until('started', () => rig.starts().length === 1);
    rig.clock.advance(59_000);
    await rig.until('looked', () => rig.state.read(trialRecord) !== undefined);
    expect(rig.starts()).toHaveLength(1);
    rig.clock.advance(2_000);
    await rig.until('local runs', () => rig.starts().length === 2 && rig.status()?.error !== undefined);
    expect(rig.status()?.error).toBe(
      'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details',
    );
  });

  test('X4 restarts from outside do not set a trial back', async () => {
    const rig = await createRig();
    const source = rig.remember('assigned', '1', rig.config());
    rig.boot();
    for (let restarts = 1; restarts <= 2; restarts++) {
      const before = rig.state.read(trialRecord)?.healthyMs ?? 0;
      await rig.untilHealthy();
      rig.clock.advance(300_000);
      await rig.until('counted', () => (rig.state.read(trialRecord)?.healthyMs ?? 600_000) >= before + 290_000);
      await rig.stop();
      rig.boot();
    }
    await rig.untilHealthy();
    rig.clock.advance(20_000);
    await rig.until('last known good', () => rig.status()?.lastKnownGood !== undefined);
    expect(rig.state.lastKnownGood()).toEqual({ source });
  });
});
