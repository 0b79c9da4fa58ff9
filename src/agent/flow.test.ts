/** The whole flow of a node in memory: no process, no socket, no disk, no real time. */
import { describe, expect, test } from 'vitest';
import { createFlowRig } from '../../test/flow-rig.js';
import { trialRecord } from './trial/trial.js';

const crashLoop = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';
const notHealthy = 'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details';
const invalid = 'failed to validate config, see Kubelet log for details';

describe('assignments', () => {
  test('nothing assigned runs local', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.until('local is reported', async () => rig.starts.length === 1);
    await rig.clock.advance(1000);
    expect(await rig.status()).toEqual({});
    expect(rig.starts).toEqual(['local']);
  });

  test('a good config becomes active, and last known good after its trial', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ assigned: 'good', active: 'good' });
    await rig.clock.advance(590_000);
    expect(await rig.status()).not.toHaveProperty('lastKnownGood', 'good');
    await rig.clock.advance(40_000);
    expect(await rig.status()).toEqual({ assigned: 'good', active: 'good', lastKnownGood: 'good' });
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('a rejected config never stops the kubelet', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    await rig.passTrial();
    await rig.assign('bad', 'kubeAPIQPS: -1');
    await rig.untilStatus({ assigned: 'bad', active: 'good', lastKnownGood: 'good', error: invalid });
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('a reset returns to local', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    await rig.passTrial();
    await rig.point(null);
    await rig.until('all local', async () => Object.values(await rig.status()).every((value) => value === undefined));
    expect(rig.starts).toEqual(['local', 'good', 'local']);
  });

  test('the same bytes under another name do not restart the kubelet', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    await rig.assign('same');
    await rig.untilStatus({ assigned: 'same', active: 'same' });
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('configs that change all the time restart the kubelet at growing distances', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.until('local runs', () => rig.starts.length === 1);
    for (let change = 1; change <= 28; change++) {
      await rig.assign(`c${change}`, `eventRecordQPS: ${change}`);
      await rig.clock.advance(500);
    }
    // At 0, 1, 3 and 7 s, and not before 15 s again.
    expect(rig.starts.length).toBe(5);
    await rig.untilStatus({ assigned: 'c28', active: 'c28' });
  });
});

describe('rollback', () => {
  test('a crash loop rolls back to the last known good, and is not tried again after a restart', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    await rig.passTrial();
    await rig.assign('bad', '# crashes');
    await rig.untilStatus({ assigned: 'bad', active: 'good', lastKnownGood: 'good', error: crashLoop });
    expect(rig.starts).toEqual(['local', 'good', 'bad', 'bad', 'bad', 'good']);
    await rig.stop();
    rig.boot();
    await rig.clock.advance(60_000);
    expect(rig.starts.slice(6)).toEqual(['good']);
  });

  test('the lines of the kubelet that crashed are beside its error only, also after a restart of relet', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('bad', '# crashes');
    await rig.untilStatus({ error: crashLoop });
    const crashed = { driver: 'fake', kubeletLog: ['panic: crashes', 'goroutine 1 [running]:'] };
    expect(rig.reporter.report).toMatchObject(crashed);
    const cause = 'panic: crashes; the kubelet crashed 3 times, last: exit code 1';
    expect(rig.reporter.report?.configError?.cause).toHaveProperty('message', expect.stringContaining(cause));
    expect((await rig.events()).find(({ reason }) => reason === 'KubeletConfigRolledBack')?.message).toContain(cause);
    await rig.stop();
    rig.boot();
    await rig.untilStatus({ error: crashLoop });
    expect(rig.reporter.report).toMatchObject(crashed);
    await rig.assign('invalid', 'kubeAPIQPS: -1');
    await rig.untilStatus({ error: invalid });
    expect(rig.reporter.report).not.toHaveProperty('kubeletLog');
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    expect(rig.reporter.report).not.toHaveProperty('kubeletLog');
  });

  test('a kubelet whose log cannot be read does not show the lines of an earlier one', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('bad', '# crashes');
    await rig.untilStatus({ error: crashLoop });
    rig.machine.behaviour = ({ file }) => (file ? { exits: { afterMs: 10, code: 2 } } : {});
    await rig.request({ verb: 'retry' });
    await rig.until('failed again', () => rig.starts.length === 9);
    expect(rig.starts.slice(5)).toEqual(['bad', 'bad', 'bad', 'local']);
    await rig.untilStatus({ error: crashLoop });
    expect(rig.reporter.report).not.toHaveProperty('kubeletLog');
  });

  test.each(['# never healthy', '# port taken'])('%s is rolled back at the deadline', async (line) => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('bad', line);
    await rig.until('started', () => rig.starts.includes('bad'));
    await rig.clock.advance(59_000);
    expect(rig.starts).toEqual(['local', 'bad']);
    await rig.clock.advance(3000);
    expect(rig.starts).toEqual(['local', 'bad', 'local']);
    await rig.untilStatus({ assigned: 'bad', active: undefined, error: notHealthy } as never);
  });

  test('a last known good that no longer starts falls back to local, and runs again when its file is back', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good', '# needs /needed', 'resolvConf: /needed');
    await rig.untilStatus({ active: 'good' });
    await rig.passTrial();
    await rig.stop();
    rig.missing.add('/needed');
    rig.boot();
    await rig.untilStatus({ error: crashLoop });
    // Three failed starts, local, once more, local for good.
    await rig.until('local for good', () => rig.starts.length === 8);
    expect(rig.starts.slice(2)).toEqual(['good', 'good', 'good', 'local', 'good', 'local']);
    rig.missing.clear();
    await rig.clock.advance(200_000);
    expect(await rig.status()).toMatchObject({ assigned: 'good', active: 'good' });
  });

  test('a kubelet killed from outside is started again, and its config is not blamed', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    for (let kills = 0; kills < 4; kills++) {
      rig.machine.kill('SIGKILL');
      await rig.clock.advance(70_000);
    }
    expect(rig.starts).toEqual(['local', 'good', 'good', 'good', 'good', 'good']);
    expect((await rig.status()).error).toBeUndefined();
  });
});

describe('restarts of the machine and of relet', () => {
  test('a reboot in the middle of a trial continues the trial, and blames nothing', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    await rig.clock.advance(400_000);
    await rig.reboot();
    await rig.clock.advance(100_000);
    expect(await rig.status()).toMatchObject({ assigned: 'good', active: 'good' });
    expect((await rig.status()).lastKnownGood).toBeUndefined();
    await rig.clock.advance(150_000);
    expect(await rig.status()).toMatchObject({ lastKnownGood: 'good' });
  });

  test('an operator’s stop ends the kubelet with relet, and is not a crash', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    expect(await rig.stop()).toBe(0);
    expect(rig.machine.running).toBeUndefined();
    rig.boot();
    await rig.untilStatus({ assigned: 'good', active: 'good' });
    expect(rig.state.read(trialRecord)).toMatchObject({ deaths: 0 });
  });

  test('a kubelet that ignores the stop is killed, and the next config runs', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('stubborn', '# ignores a stop');
    await rig.untilStatus({ active: 'stubborn' });
    await rig.assign('next');
    await rig.untilStatus({ active: 'next' });
    expect(rig.starts).toEqual(['local', 'stubborn', 'next']);
  });

  test('a machine that shuts down blames nothing and starts nothing new', async () => {
    const rig = await createFlowRig();
    rig.boot();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good' });
    rig.machine.isStopping = true;
    await rig.assign('next');
    await rig.untilStatus({ assigned: 'next' });
    expect(rig.starts).toEqual(['local', 'good']);
    expect(rig.state.read(trialRecord)).toMatchObject({ deaths: 0 });
  });
});

test('a held node follows no assignment until it is released', async () => {
  const rig = await createFlowRig();
  rig.boot();
  await rig.until('local runs', () => rig.starts.length === 1);
  await rig.request({ verb: 'hold', why: 'a disk is replaced' });
  await rig.assign('good');
  await rig.clock.advance(60_000);
  expect(rig.starts).toEqual(['local']);
  await rig.request({ verb: 'release' });
  await rig.untilStatus({ assigned: 'good', active: 'good' });
});
