/** The whole flow of a node in memory: no process, no socket, no disk, no real time. */
import { describe, expect, test, vi } from 'vitest';
import { behaviours, bootFlowRig, createFlowRig, type FlowRig, sourceNamed } from '../../test/rig/memory-node.js';
import type { ExactRef } from '../api/config-ref.js';
import type { KubeObject } from '../api/object.js';
import { configMaps } from '../kube/resource-type.js';
import { previousConfigRecord } from './candidates.js';
import { stateFilesRecord } from './owed.js';
import { configOk } from './report/report.js';
import { trialRecord } from './trial/trial.js';

const crashLoop = 'rolled back: the kubelet kept crashing with this config, see Kubelet log for details';
const notHealthy = 'rolled back: the kubelet was not healthy in time with this config, see Kubelet log for details';
const unparsable = 'failed to load config, see Kubelet log for details';
const invalid = 'failed to validate config, see Kubelet log for details';

describe('assignments', () => {
  test('nothing assigned runs local', async () => {
    const rig = await bootFlowRig();
    await rig.until('local is reported', async () => rig.starts.length === 1);
    await rig.clock.advance(1000);
    expect(await rig.status()).toEqual({});
    expect(rig.starts).toEqual(['local']);
  });

  test('a good config becomes active, and last known good after its trial', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    await rig.clock.advance(590_000);
    expect(await rig.status()).not.toHaveProperty('lastKnownGood', 'good');
    await rig.clock.advance(40_000);
    expect(await rig.status()).toEqual({ assigned: 'good', active: 'good', lastKnownGood: 'good' });
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('a rejected config never stops the kubelet', async () => {
    const rig = await bootFlowRig();
    await rig.makeLastKnownGood('good');
    await rig.assign('bad', 'kubeAPIQPS: -1');
    await rig.untilStatus({ assigned: 'bad', active: 'good', lastKnownGood: 'good', error: invalid });
    expect(rig.starts).toEqual(['local', 'good']);
  });

  test('with --on-change=exit, changes that keep coming are delayed by the relet that is started next', async () => {
    const rig = await createFlowRig();
    const delayed = () => rig.logLines.filter((line) => line.includes('config keeps changing')).length;
    for (const [name, delays] of [
      ['first', 0],
      ['second', 0],
      ['third', 1],
    ] as const) {
      rig.boot({ onChange: 'exit', restartLimit: { burst: 2, intervalMs: 60_000 } });
      let code: number | undefined;
      void rig.ended.then((ended) => (code = ended));
      await rig.assign(name, `# ${name}`);
      await rig.until(`relet exits for the ${name} config`, () => code === 0);
      expect(delayed()).toBe(delays);
    }
    expect(rig.starts).toEqual(['local', 'first', 'second']);
  });

  test('a reset returns to local', async () => {
    const rig = await bootFlowRig();
    await rig.makeLastKnownGood('good');
    await rig.point(null);
    await rig.until('all local', async () => Object.values(await rig.status()).every((value) => value === undefined));
    expect(rig.starts).toEqual(['local', 'good', 'local']);
  });

  test('the same bytes under another name do not restart the kubelet', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    await rig.activate('same');
    expect(rig.starts).toEqual(['local', 'good']);
  });
});

describe('rollback', () => {
  test('a crash loop rolls back to the last known good, and is not tried again after a restart', async () => {
    const rig = await bootFlowRig();
    await rig.makeLastKnownGood('good');
    await rig.assign('bad', '# crashes');
    await rig.untilStatus({ assigned: 'bad', active: 'good', lastKnownGood: 'good', error: crashLoop });
    expect(rig.starts).toEqual(['local', 'good', 'bad', 'bad', 'bad', 'good']);
    await rig.stop();
    rig.boot();
    await rig.clock.advance(60_000);
    expect(rig.starts.slice(6)).toEqual(['good']);
  });

  test('the lines of the kubelet that crashed are beside its error only, also after a restart of relet', async () => {
    const rig = await bootFlowRig();
    await rig.assign('bad', '# crashes');
    await rig.untilStatus({ error: crashLoop });
    const crashed = { driver: 'fake', kubeletLog: ['panic: crashes', 'goroutine 1 [running]:'] };
    expect(rig.reporter.report).toMatchObject(crashed);
    const cause = 'panic: crashes; the kubelet crashed 3 times, last: exit code 1';
    expect(rig.reporter.report?.configError?.cause).toHaveProperty('message', expect.stringContaining(cause));
    expect((await rig.events()).find(({ reason }) => reason === 'KubeletConfigRolledBack')?.message).toContain(cause);
    await rig.stop();
    rig.boot();
    await rig.until('a report', () => rig.reporter.report !== undefined);
    expect(rig.reporter.report).toMatchObject(crashed);
    await rig.assign('invalid', 'kubeAPIQPS: -1');
    await rig.untilStatus({ error: invalid });
    expect(rig.reporter.report).not.toHaveProperty('kubeletLog');
    await rig.activate('good');
    expect(rig.reporter.report).not.toHaveProperty('kubeletLog');
  });

  test('a kubelet whose log cannot be read does not show the lines of an earlier one', async () => {
    const rig = await bootFlowRig();
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
    const rig = await bootFlowRig();
    await rig.assign('bad', line);
    await rig.until('started', () => rig.starts.includes('bad'));
    await rig.clock.advance(59_000);
    expect(rig.starts).toEqual(['local', 'bad']);
    await rig.clock.advance(3000);
    expect(rig.starts).toEqual(['local', 'bad', 'local']);
    await rig.untilStatus({ assigned: 'bad', active: undefined, error: notHealthy } as never);
  });

  test('a kubelet killed from outside is started again, and its config is not blamed', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    for (let kills = 0; kills < 4; kills++) {
      rig.machine.kill('SIGKILL');
      await rig.clock.advance(70_000);
    }
    expect(rig.starts).toEqual(['local', 'good', 'good', 'good', 'good', 'good']);
    expect((await rig.status()).error).toBeUndefined();
  });
});

describe('a last known good that no longer works', () => {
  /** A node that has stopped with a last known good, and then lost a file that its kubelet needs. */
  async function withoutItsFile(...lines: string[]) {
    const rig = await bootFlowRig();
    await rig.makeLastKnownGood('good', ...lines);
    await rig.stop();
    rig.missing.add('/needed');
    return { rig, startsSince: () => rig.starts.slice(2) };
  }
  const deaths = (rig: FlowRig) => rig.state.read(trialRecord)?.deaths;

  test('falls back to local when it crashes at every start, and runs again when the file it names is back', async () => {
    const { rig, startsSince } = await withoutItsFile('# needs /needed', 'resolvConf: /needed');
    rig.boot();
    const update = vi.spyOn(rig.reporter, 'update');
    await rig.untilStatus({
      assigned: 'good',
      active: 'good',
      error: 'the kubelet crashed with this config and is started again, see Kubelet log for details',
    });
    expect(configOk(rig.reporter.report!)).toMatchObject({
      status: 'False',
      message: expect.stringContaining('using current'),
    });
    await rig.untilStatus({ assigned: 'good', error: crashLoop });
    // Three failed starts, local, once more, local for good.
    await rig.until('local for good', () => rig.starts.length === 8);
    const reports = update.mock.calls.map(([report]) => report);
    const rolledBack = reports.findIndex(({ configError }) => configError?.reason === 'CrashLoop');
    expect(reports.slice(rolledBack).filter(({ lastKnownGood }) => lastKnownGood !== undefined)).toEqual([]);
    expect(startsSince()).toEqual(['good', 'good', 'good', 'local', 'good', 'local']);
    await rig.untilStatus({ assigned: 'good', active: undefined, lastKnownGood: undefined, error: crashLoop } as never);
    rig.missing.clear();
    await rig.clock.advance(200_000);
    expect(await rig.status()).toMatchObject({ assigned: 'good', active: 'good', error: undefined });
    // It is on trial again.
    expect(deaths(rig)).toBe(0);
    await rig.passTrial();
    expect(await rig.status()).toMatchObject({ lastKnownGood: 'good' });
  });

  test('falls back to local when relet is restarted after each crash', async () => {
    const { rig, startsSince } = await withoutItsFile('# needs /needed');
    for (const crashes of [1, 2]) {
      rig.boot();
      await rig.until('counted', () => deaths(rig) === crashes);
      await rig.stop();
    }
    rig.boot();
    await rig.until('local runs', () => startsSince().includes('local'));
    expect(startsSince().slice(0, 4)).toEqual(['good', 'good', 'good', 'local']);
  });

  test('falls back to local when it is not healthy in time, also summed over restarts of relet', async () => {
    const { rig, startsSince } = await withoutItsFile();
    rig.machine.behaviour = ({ file }) => (file ? behaviours['# never healthy'] : {});
    rig.boot();
    await rig.until('started', () => startsSince().length === 1);
    await rig.clock.advance(40_000);
    expect(startsSince()).toEqual(['good']);
    await rig.stop();
    rig.boot();
    await rig.until('started', () => startsSince().length === 2);
    await rig.clock.advance(22_000);
    expect(startsSince()).toEqual(['good', 'good', 'local']);
    await rig.untilStatus({ error: notHealthy });
  });

  test('is started by turns with local while both crash, and runs again when both can', async () => {
    const { rig, startsSince } = await withoutItsFile();
    const crashes = { ...behaviours['# crashes'], healthyAfterMs: Number.POSITIVE_INFINITY };
    rig.machine.behaviour = () => (rig.missing.has('/needed') ? crashes : {});
    rig.boot();
    await rig.until('crashed', () => startsSince().length === 9);
    const thrice = (config: string) => [config, config, config];
    expect(startsSince()).toEqual([...thrice('good'), ...thrice('local'), ...thrice('good')]);
    await rig.until('local again', () => startsSince().length === 11);
    rig.missing.clear();
    await rig.untilStatus({ assigned: 'good', active: 'good', error: undefined as never });
    expect(startsSince().slice(-3)).toEqual(['local', 'local', 'good']);
  });

  test('is not blamed for kills from outside', async () => {
    const { rig, startsSince } = await withoutItsFile();
    rig.boot();
    for (let kills = 1; kills <= 4; kills++) {
      await rig.until('started', () => startsSince().length === kills);
      rig.machine.kill('SIGKILL');
    }
    await rig.until('started again', () => startsSince().length === 5);
    expect(startsSince()).not.toContain('local');
    expect((await rig.status()).error).toBeUndefined();
  });
});

describe('restarts of the machine and of relet', () => {
  test('a reboot in the middle of a trial continues the trial, and blames nothing', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    await rig.clock.advance(400_000);
    await rig.reboot();
    await rig.clock.advance(100_000);
    expect(await rig.status()).toMatchObject({ assigned: 'good', active: 'good' });
    expect((await rig.status()).lastKnownGood).toBeUndefined();
    await rig.clock.advance(150_000);
    expect(await rig.status()).toMatchObject({ lastKnownGood: 'good' });
  });

  test('an operator’s stop ends the kubelet with relet, and is not a crash', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    expect(await rig.stop()).toBe(0);
    expect(rig.machine.running).toBeUndefined();
    rig.boot();
    await rig.untilStatus({ assigned: 'good', active: 'good' });
    expect(rig.state.read(trialRecord)).toMatchObject({ deaths: 0 });
  });

  test('a kubelet that ignores the stop is killed, and the next config runs', async () => {
    const rig = await bootFlowRig();
    await rig.activate('stubborn', '# ignores a stop');
    await rig.activate('next');
    expect(rig.starts).toEqual(['local', 'stubborn', 'next']);
  });

  test('a machine that shuts down blames nothing and starts nothing new', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    rig.machine.isStopping = true;
    await rig.assign('next');
    await rig.untilStatus({ assigned: 'next' });
    expect(rig.starts).toEqual(['local', 'good']);
    expect(rig.state.read(trialRecord)).toMatchObject({ deaths: 0 });
  });

  test('kubelets that exit while the machine shuts down are not crashes of their config', async () => {
    const rig = await bootFlowRig();
    await rig.until('local runs', () => rig.starts.length === 1);
    rig.machine.behaviour = ({ file }) => (file ? behaviours['# crashes'] : {});
    await rig.assign('good');
    await rig.until('started', () => rig.starts.length === 2);
    rig.machine.isStopping = true;
    await rig.until('started again', () => rig.starts.length === 6);
    expect(rig.starts.slice(1)).not.toContain('local');
    expect(rig.state.read(trialRecord)).toMatchObject({ deaths: 0 });
  });

  test('use-local while the machine shuts down applies from the next boot on', async () => {
    const rig = await bootFlowRig();
    await rig.activate('good');
    rig.machine.isStopping = true;
    await rig.request({ verb: 'use-local' });
    await rig.clock.advance(1000);
    expect(rig.logLines.join('')).toContain('host is shutting down, kubelet not restarted');
    expect(rig.starts).toEqual(['local', 'good']);
    await rig.reboot();
    await rig.until('local', () => rig.starts.length === 3);
    expect(rig.starts).toEqual(['local', 'good', 'local']);
  });
});

test('a held node follows no assignment until it is released', async () => {
  const rig = await bootFlowRig();
  await rig.until('local runs', () => rig.starts.length === 1);
  await rig.request({ verb: 'hold', why: 'a disk is replaced' });
  await rig.assign('good');
  await rig.clock.advance(60_000);
  expect(rig.starts).toEqual(['local']);
  await rig.request({ verb: 'release' });
  await rig.untilStatus({ assigned: 'good', active: 'good' });
});

test('a person who wants local while another config is validated gets local', async () => {
  const rig = await bootFlowRig();
  await rig.activate('first');
  rig.validationMs = 5000;
  await rig.assign('second');
  await rig.clock.advance(3000);
  const asked = rig.request({ verb: 'use-local' });
  await rig.clock.advance(60_000);
  await asked;
  expect(rig.starts).toEqual(['local', 'first', 'local']);
  expect(rig.state.assigned()).toEqual({ source: undefined });
  await rig.request({ verb: 'release' });
  await rig.untilStatus({ assigned: 'second', active: 'second' });
});

test('a change that is taken back while it is validated restarts nothing, and is in the log', async () => {
  const rig = await bootFlowRig('NodeConfig');
  await rig.activate('first');
  rig.validationMs = 5000;
  await rig.assign('second');
  await rig.clock.advance(3000);
  await rig.point(sourceNamed('first'));
  await rig.clock.advance(60_000);
  expect(rig.starts).toEqual(['local', 'first']);
  expect(rig.log()).toContain('change taken back during validation, keeping the current config');
});

test('a config that passes its trial while the next one is validated, and rejected, runs on', async () => {
  const rig = await createFlowRig();
  rig.boot();
  await rig.assign('first');
  await rig.untilStatus({ active: 'first' });
  await rig.passTrial();
  await rig.assign('second', 'maxPods: 50');
  await rig.untilStatus({ active: 'second' });
  await rig.clock.advance(590_000);
  rig.validationMs = 60_000;
  await rig.assign('bad', 'kubeAPIQPS: -1');
  await rig.clock.advance(240_000);
  await rig.untilStatus({ assigned: 'bad', active: 'second', lastKnownGood: 'second', error: invalid });
  expect(rig.starts).toEqual(['local', 'first', 'second']);
});

test('a hold while another config is validated does not start the one that failed again', async () => {
  const rig = await bootFlowRig();
  await rig.assign('bad', '# crashes');
  await rig.untilStatus({ assigned: 'bad', error: crashLoop });
  const { starts } = rig;
  rig.validationMs = 5000;
  await rig.assign('second');
  await rig.clock.advance(3000);
  await rig.request({ verb: 'hold', why: 'a disk is replaced' });
  await rig.clock.advance(60_000);
  expect(rig.starts).toEqual(starts);
  await rig.request({ verb: 'release' });
  await rig.untilStatus({ assigned: 'second', active: 'second' });
});

test('a config that is assigned while the state files of the one before are put back is the one that starts', async () => {
  const rig = await createFlowRig();
  const putBack = () => rig.clock.sleep(5000);
  rig.stateFiles = { setAside: async () => {}, putBack, clear: async () => {} };
  rig.boot();
  await rig.activate('first');
  const { source } = rig.state.assigned() as { source: ExactRef };
  rig.state.write(stateFilesRecord, { at: '2026-01-01T00:00:00Z', source, isAside: true });
  await rig.assign('second', '# crashes');
  await rig.until('the kubelet is stopped', () => !rig.machine.isHealthy);
  await rig.activate('third');
  expect(rig.starts).toEqual(['local', 'first', 'third']);
});

describe('overlays', () => {
  const local = (...lines: string[]) => ({
    '/etc/kubelet.yaml': ['apiVersion: kubelet.config.k8s.io/v1beta1', 'kind: KubeletConfiguration', ...lines].join(
      '\n',
    ),
  });
  const running = (rig: FlowRig) => rig.startedDocuments.at(-1);

  /** A node that runs an overlay as its last known good. */
  async function overlaid(...lines: string[]) {
    const rig = await createFlowRig();
    rig.local = local('eventBurst: 7', ...lines);
    rig.boot();
    await rig.assignOverlay('over', 'config:', '  maxPods: 50');
    await rig.untilStatus({ active: 'over' });
    await rig.passTrial();
    return rig;
  }

  test('the kubelet runs the local config with the overlay over it, and the checkpoint stays the payload', async () => {
    const rig = await overlaid();
    expect(running(rig)).toContain('eventBurst: 7');
    expect(running(rig)).toContain('maxPods: 50');
    expect(await rig.status()).toEqual({ assigned: 'over', active: 'over', lastKnownGood: 'over' });
    const { source } = rig.state.lastKnownGood() as { source: ExactRef };
    expect(rig.state.checkpoints.load(source).config.toString()).toMatch(/^apiVersion: relet.dev/);
    expect(rig.state.documents.read(source.mergedDigest!)).toBe(running(rig));
  });

  test('a reference of DKC alpha leads to it too', async () => {
    const rig = await createFlowRig();
    rig.local = local('eventBurst: 7');
    rig.boot();
    await rig.assignOverlay('over', 'config:', '  maxPods: 50');
    await rig.untilStatus({ active: 'over' });
    await rig.point(null);
    await rig.until('local', () => rig.starts.at(-1) === 'local');
    const { metadata } = await rig.client.get<KubeObject>(configMaps, { name: 'over', namespace: 'kube-system' });
    await rig.point({ configMapRef: { name: 'over', namespace: 'kube-system', uid: metadata.uid } });
    await rig.untilStatus({ assigned: 'over', active: 'over' });
    expect(running(rig)).toContain('eventBurst: 7');
    expect(running(rig)).toContain('maxPods: 50');
  });

  test('an edit of the local file takes effect at the next start, on trial', async () => {
    const rig = await overlaid();
    rig.local = local('eventBurst: 8');
    await rig.annotate('over');
    await rig.clock.advance(60_000);
    expect(rig.starts).toEqual(['local', 'over']);
    await rig.reboot();
    await rig.until('started', () => rig.starts.length === 3);
    expect(running(rig)).toContain('eventBurst: 8');
    expect(rig.state.read(trialRecord)).toBeDefined();
    await rig.passTrial();
    expect(rig.state.read(trialRecord)).toBeUndefined();
    const { source } = rig.state.lastKnownGood() as { source: ExactRef };
    expect(rig.state.documents.read(source.mergedDigest!)).toBe(running(rig));
  });

  test('a local file with which the kubelet crashes is rolled back to the document that ran before', async () => {
    const rig = await overlaid();
    const before = running(rig);
    rig.local = local('clusterDomain: crashes');
    await rig.reboot();
    await rig.untilStatus({ assigned: 'over', active: 'over', lastKnownGood: 'over', error: crashLoop });
    expect(running(rig)).toBe(before);
    rig.local = local('eventBurst: 9');
    await rig.until('tried again after the local file changed', () => running(rig) !== before, 10_000);
    expect(running(rig)).toContain('eventBurst: 9');
    await rig.untilStatus({ active: 'over', error: undefined as never });
  });

  test('an overlay that cannot be merged never stops the kubelet', async () => {
    const rig = await overlaid();
    await rig.assignOverlay('bad', 'config:', '  maxPods: many');
    await rig.untilStatus({ assigned: 'bad', active: 'over', lastKnownGood: 'over', error: unparsable });
    expect(rig.starts).toEqual(['local', 'over']);
  });

  test('two overlays with the same result do not restart the kubelet', async () => {
    const rig = await overlaid();
    await rig.assignOverlay('same', 'config: {maxPods: 50, eventBurst: 7}');
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'over' });
    await rig.passTrial();
    await rig.untilStatus({ assigned: 'same', active: 'same', lastKnownGood: 'same' });
    expect(rig.starts).toEqual(['local', 'over']);
  });

  test('from a whole config to an overlay and back', async () => {
    const rig = await overlaid();
    await rig.makeLastKnownGood('whole', 'maxPods: 60');
    expect(rig.state.lastKnownGood()).not.toHaveProperty('source.mergedDigest');
    await rig.assignOverlay('again', 'config: {clusterDomain: crashes}');
    await rig.untilStatus({ assigned: 'again', active: 'whole', lastKnownGood: 'whole', error: crashLoop });
    await rig.point(null);
    await rig.until('local', () => rig.starts.at(-1) === 'local');
  });

  test('a reset to a local config that crashes returns to the config before it, although another was assigned and rejected', async () => {
    const rig = await bootFlowRig();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good', lastKnownGood: undefined as never });
    const crashes = { ...behaviours['# crashes'], healthyAfterMs: Number.POSITIVE_INFINITY };
    rig.machine.behaviour = ({ file }) => (file ? {} : crashes);
    await rig.point(null);
    await rig.until('local was started', () => rig.starts.at(-1) === 'local');
    await rig.assign('bad', 'kubeAPIQPS: -1');
    await rig.until('it is started again', () => rig.starts.at(-1) === 'good');
    await rig.untilStatus({ assigned: 'bad', active: 'good', error: invalid });
    expect(rig.starts.slice(-4)).toEqual(['local', 'local', 'local', 'good']);
  });

  test('a reset to a local config that crashes returns to the config that was healthy last, also if that was not the one it replaced', async () => {
    const rig = await bootFlowRig();
    await rig.assign('good');
    await rig.untilStatus({ active: 'good', lastKnownGood: undefined as never });
    const crashes = { ...behaviours['# crashes'], healthyAfterMs: Number.POSITIVE_INFINITY };
    rig.machine.behaviour = ({ source }) =>
      source === undefined ? crashes : source.name === 'good' ? {} : behaviours['# never healthy'];
    await rig.assign('never', '# never healthy');
    await rig.until('started', () => rig.starts.at(-1) === 'never');
    await rig.point(null);
    await rig.untilStatus({ active: 'good', error: crashLoop });
    expect(rig.starts.slice(-5)).toEqual(['never', 'local', 'local', 'local', 'good']);
  });

  test('a reset keeps the merged document as the previous config until local is healthy', async () => {
    const rig = await overlaid();
    rig.machine.behaviour = () => behaviours['# never healthy'];
    await rig.point(null);
    await rig.until('local was started', () => rig.starts.at(-1) === 'local');
    expect(rig.state.read(previousConfigRecord)).toHaveProperty('mergedDigest');
  });
});
