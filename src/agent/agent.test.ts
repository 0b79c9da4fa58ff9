/** The flow of one node without an API: what boots, what is rolled back, what is left alone. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { corrupt, createRig, type Rig, sourceOf } from '../../test/agent-rig.js';
import { childRecord } from './drivers/child.js';
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
    for (const least of [30_000, 60_000, 90_000, 120_000]) {
      rig.clock.advance(30_000);
      await rig.until('counted', () => healthyMs() >= least);
      expect(healthyMs()).toBeLessThanOrEqual(rig.clock.monotonic() - begunMs);
    }
  });

  test('a healthy config is last known good after the trial, not before', async () => {
    const rig = await createRig();
    const source = rig.remember('assigned', '1', rig.config());
    rig.boot();
    await rig.untilHealthy();
    rig.clock.advance(590_000);
    await rig.until('counted', () => (rig.state.read(trialRecord)?.healthyMs ?? 0) >= 590_000);
    expect(rig.state.lastKnownGood()).toEqual({ source: undefined });
    rig.clock.advance(10_001);
    await rig.until('last known good', () => rig.status()?.lastKnownGood !== undefined);
    expect(rig.state.lastKnownGood()).toEqual({ source });
    expect(rig.starts()).toHaveLength(1);
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

  test('a kubelet killed from outside is started again and its config is not blamed', async () => {
    const rig = await createRig();
    rig.remember('assigned', '1', rig.config());
    rig.boot();
    for (let kills = 1; kills <= 4; kills++) {
      await rig.until('started', () => rig.starts().length === kills);
      process.kill(rig.starts().at(-1)!.pid, 'SIGKILL');
      await rig.until('seen', () => rig.log().split('killed from outside by SIGKILL').length === kills + 1);
      rig.clock.advance(60_000);
    }
    await rig.until('started again', () => rig.starts().length === 5);
    expect(rig.state.read(trialRecord)?.deaths).toBe(0);
    expect(rig.status()?.error).toBeUndefined();
    expect(rig.status()?.assigned?.configMap).toEqual(sourceOf('1'));
  });
});

describe('a last known good that no longer works', () => {
  /** A node at rest with a config whose kubelet needs a file, which is then deleted. */
  const withoutItsFile = async (order: string, { local = [] as string[], names = true } = {}) => {
    const rig = await createRig();
    const file = join(rig.dir, '..', 'needed');
    writeFileSync(file, '');
    rig.breakLocal(...local.map((line) => `# ${line} ${file}`));
    const orders = [`# ${order} ${file}`, ...(names ? [`resolvConf: ${file}`] : [])];
    const source = rig.remember('assigned', '1', rig.config(...orders));
    rig.boot();
    await rig.until('active', () => rig.status()?.active !== undefined);
    await rig.passTrial();
    await rig.until('last known good', () => rig.status()?.lastKnownGood !== undefined);
    await rig.stop();
    rmSync(file);
    return { rig, file, source };
  };
  const configs = (rig: Rig) => rig.starts().map(({ configFile }) => (configFile === rig.localFile ? 'local' : 'it'));
  /** Lets the kubelet crash as often as that, without the pauses in between. */
  const crash = async (rig: Rig, times: number) => {
    const crashes = () => rig.log().split('blame=config').length - 1;
    while (crashes() < times) {
      const before = crashes();
      await rig.until('crashed', () => {
        // Between kubelets only: the time of a kubelet that starts is its own.
        if (rig.state.read(childRecord) === undefined) rig.clock.advance(1000);
        return crashes() > before;
      });
    }
  };
  const crashLoop = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';

  test('falls back to local when it crashes at every start, and runs again when the file it names is back', async () => {
    const { rig, file, source } = await withoutItsFile('needs');
    rig.boot();
    await rig.until('crashed', () => rig.status()?.error !== undefined);
    expect(rig.status()).toMatchObject({
      active: { configMap: source },
      error: 'the kubelet crashed with this config and is started again, see Kubelet log for details',
      condition: { status: 'False', message: 'using current (UID: "uid-1")' },
    });
    // Three failed starts, local, once more, local for good.
    const expected = ['it', 'it', 'it', 'it', 'local', 'it', 'local'];
    await rig.until('local runs', () => rig.starts().length === expected.length && rig.status()?.error === crashLoop);
    await rig.until('active', () => rig.status()?.active === undefined);
    expect(configs(rig)).toEqual(expected);
    expect(rig.log()).toContain('the kubelet crashed 3 times, last: exit code 1');
    const { assigned, lastKnownGood, condition } = rig.status()!;
    expect({ assigned: assigned?.configMap, lastKnownGood }).toEqual({ assigned: source, lastKnownGood: undefined });
    expect(condition).toMatchObject({ status: 'False', message: 'using last-known-good (default)' });
    writeFileSync(file, 'back');
    rig.clock.advance(130_000);
    await rig.until('it runs', () => rig.status()?.active !== undefined);
    expect(rig.status()).toMatchObject({ active: { configMap: source } });
    expect(rig.status()?.error).toBeUndefined();
    // It has to prove itself again.
    expect(rig.state.read(trialRecord)).toMatchObject({ deaths: 0 });
    await rig.passTrial();
    await rig.until('last known good', () => rig.status()?.lastKnownGood !== undefined);
  });

  test('falls back to local when relet is restarted after each crash', async () => {
    const { rig } = await withoutItsFile('needs');
    for (const crashes of [1, 2]) {
      rig.boot();
      await rig.until('counted', () => rig.state.read(trialRecord)?.deaths === crashes);
      await rig.stop();
    }
    const before = rig.starts().length;
    rig.boot();
    await rig.until('local runs', () => configs(rig).at(-1) === 'local');
    expect(configs(rig).slice(before, before + 2)).toEqual(['it', 'local']);
  });

  test('falls back to local when it is not healthy in time, also summed over restarts of relet', async () => {
    const { rig } = await withoutItsFile('healthy with');
    rig.boot();
    await rig.until('started', () => rig.starts().length === 2);
    rig.clock.advance(40_000);
    await rig.until('counted', () => (rig.state.read(trialRecord)?.unhealthy?.ms ?? 0) >= 40_000);
    expect(rig.status()?.active).toBeUndefined();
    await rig.stop();
    rig.boot();
    await rig.until('started', () => rig.starts().length === 3);
    rig.clock.advance(20_000);
    await rig.until('local runs', () => rig.status()?.error?.includes('was not healthy in time') ?? false);
    expect(configs(rig)).toEqual(['it', 'it', 'it', 'local']);
  });

  test('runs again when what was broken broke the local config too', async () => {
    const { rig, file, source } = await withoutItsFile('needs', { local: ['needs'], names: false });
    rig.boot();
    await crash(rig, 5);
    writeFileSync(file, '');
    rig.clock.advance(60_000);
    await rig.until('it runs', () => rig.status()?.active !== undefined && rig.status()?.error === undefined);
    expect(rig.status()).toMatchObject({ active: { configMap: source } });
    expect(configs(rig).slice(-3)).toEqual(['local', 'local', 'it']);
  });

  test('is started by turns with local while both crash', async () => {
    const { rig } = await withoutItsFile('needs', { local: ['needs'], names: false });
    rig.boot();
    await crash(rig, 9);
    expect(configs(rig)).toEqual(['it', ...['it', 'it', 'it'], ...['local', 'local', 'local'], ...['it', 'it', 'it']]);
  });

  test('is not blamed for kills from outside', async () => {
    const { rig, file } = await withoutItsFile('needs');
    writeFileSync(file, '');
    rig.boot();
    for (let kills = 1; kills <= 4; kills++) {
      await rig.until('started', () => rig.starts().length === kills + 1);
      process.kill(rig.starts().at(-1)!.pid, 'SIGKILL');
      await rig.until('seen', () => rig.log().split('killed from outside by SIGKILL').length === kills + 1);
      rig.clock.advance(60_000);
    }
    await rig.until('started again', () => rig.starts().length === 6);
    expect(configs(rig)).not.toContain('local');
    expect(rig.status()?.error).toBeUndefined();
  });
});

describe('a machine that goes down', () => {
  const goingDown = () => ({ isHostStopping: async () => true });

  test('ends kubelets by the way, and no config is blamed', async () => {
    const rig = await createRig({ driver: goingDown });
    rig.remember('assigned', '1', rig.config('# die 100 1'));
    rig.boot();
    for (let crashes = 1; crashes <= 4; crashes++) {
      await rig.until('exited', () => rig.log().split('the machine is going down').length === crashes + 1);
      rig.clock.advance(60_000);
    }
    expect(rig.state.read(trialRecord)?.deaths).toBe(0);
    expect(rig.starts().every(({ configFile }) => configFile !== undefined)).toBe(true);
  });

  test('gets no new config any more: what is asked for counts from the next boot on', async () => {
    const rig = await createRig({ driver: goingDown });
    rig.remember('assigned', '1', rig.config());
    rig.boot();
    await rig.until('active', () => rig.status()?.active !== undefined);
    await rig.ask({ verb: 'use-local' });
    expect(rig.log()).toContain('the machine is going down, the kubelet is not restarted');
    expect(rig.starts()).toHaveLength(1);
    await rig.stop();
    rig.boot({ driver: () => ({}) });
    await rig.until('local', () => rig.starts().length === 2);
    expect(rig.starts()[1]?.configFile).toBeUndefined();
  });
});
