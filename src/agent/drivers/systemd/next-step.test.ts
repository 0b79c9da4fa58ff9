/** The next step of the driver in every state of the unit, without a unit. */
import { describe, expect, test } from 'vitest';
import { type HostView, hasExited, nextConfig, nextStep } from './next-step.js';
import type { UnitState } from './systemd.js';
import { noticesOf, removedDropIn, type Seen, type UnitRecord } from './unit-record.js';

const base = { text: '/usr/bin/kubelet $ARGS', digest: 'base' };
const header = (config: string, of = base.digest) => ({ config, base: of });

function unit(state: Partial<UnitState> = {}): UnitState {
  return {
    loadState: 'loaded',
    activeState: 'active',
    subState: 'running',
    invocationId: 'i1',
    mainPid: 7,
    hasJob: false,
    unitFileState: 'enabled',
    fragmentPath: '/usr/lib/systemd/system/kubelet.service',
    dropInPaths: [],
    needDaemonReload: false,
    execStart: [],
    environment: [],
    user: '',
    environmentFiles: [],
    result: 'success',
    execMainCode: 0,
    execMainStatus: 0,
    execMainStartUs: 0,
    ...state,
  };
}

const view = (change: Partial<HostView> = {}, state: Partial<UnitState> = {}): HostView => ({
  own: {},
  base,
  running: 'local',
  obstacle: undefined,
  ...change,
  unit: unit(state),
});

const crashed = { activeState: 'activating', subState: 'auto-restart', mainPid: 0 };
const trialOverGood = { trial: header('new'), good: header('good') };

describe('the next step', () => {
  test.each<[string, HostView, string, string]>([
    ['a kubelet that runs the config is adopted', view(), 'local', 'adopt'],
    ['also while its drop-in is gone', view({ running: 'new' }), 'new', 'adopt'],
    ['another config is a switch', view(), 'new', 'switch'],
    ['over a kept one too', view({ running: 'good', own: { good: header('good') } }), 'new', 'switch'],
    [
      'local over a kept one is a trial of local',
      view({ running: 'good', own: { good: header('good') } }),
      'local',
      'switch',
    ],
    ['what was kept comes back by a rollback', view({ running: 'new', own: trialOverGood }), 'good', 'roll back'],
    ['local, where nothing was kept', view({ running: 'new', own: { trial: header('new') } }), 'local', 'roll back'],
    ['one trial follows another', view({ running: 'new', own: trialOverGood }), 'newer', 'switch'],
    ['a trial that crashed is awaited', view({ running: undefined, own: trialOverGood }, crashed), 'new', 'wait'],
    ['but not one of another config', view({ running: undefined, own: trialOverGood }, crashed), 'newer', 'switch'],
    ['a kubelet that has not been restarted yet is', view({ own: trialOverGood }), 'new', 'restart'],
    [
      'a process that is not the kubelet yet is awaited',
      view({ running: undefined, own: trialOverGood }),
      'new',
      'wait',
    ],
    ['not while that is under way', view({ own: trialOverGood }, { hasJob: true }), 'new', 'wait'],
    [
      'a unit that failed for good is started',
      view({ running: undefined }, { activeState: 'failed', mainPid: 0 }),
      'local',
      'restart',
    ],
    ['a unit that stops is left alone', view({}, { activeState: 'deactivating' }), 'new', 'wait'],
    [
      'after a fallback the kept one is a trial',
      view({ own: { good: header('good'), fallback: header('local') } }),
      'good',
      'switch',
    ],
    [
      'and local needs none',
      view({ running: undefined, own: { good: header('good'), fallback: header('local') } }, crashed),
      'local',
      'wait',
    ],
    ['a kept one with an old command is a trial', view({ own: { good: header('good', 'old') } }), 'good', 'switch'],
  ])('%s', (_name, seen, wanted, expected) => expect(nextStep(seen, wanted).kind).toBe(expected));

  test.each<[string, HostView]>([
    ['UnitStopped', view({ running: undefined }, { activeState: 'inactive', mainPid: 0 })],
    ['UnitMasked', view({ base: undefined }, { unitFileState: 'masked' })],
    ['UnitMasked', view({ base: undefined }, { loadState: 'masked', unitFileState: '' })],
    ['CommandOverridden', view({ obstacle: 'zzz.conf sets ExecStart=' })],
  ])('%s: nothing is done, and that is reported', (reason, seen) => {
    expect(nextStep(seen, 'new')).toMatchObject({ kind: 'wait', notice: { reason } });
    expect(nextStep({ ...seen, running: 'new' }, 'new').kind).toBe('adopt');
  });

  test('the trial is what starts next, then the fallback, then what was kept, then local', () => {
    const [trial, fallback, good] = [header('t'), header('local'), header('g')];
    expect(nextConfig({ own: { trial, fallback, good } })).toBe('t');
    expect(nextConfig({ own: { fallback, good } })).toBe('local');
    expect(nextConfig({ own: { good } })).toBe('g');
    expect(nextConfig({ own: {} })).toBe('local');
  });

  test.each<[string, Partial<UnitState>, boolean]>([
    ['runs', {}, false],
    ['is stopping: its exit is not recorded yet', { activeState: 'deactivating', subState: 'stop-post' }, false],
    ['waits for a restart', crashed, true],
    ['waits for a restart, in the words of systemd 254', { ...crashed, subState: 'auto-restart-queued' }, true],
    ['failed', { activeState: 'failed' }, true],
    ['was stopped', { activeState: 'inactive' }, true],
    ['was started again', { invocationId: 'i2' }, true],
  ])('a kubelet that %s', (_name, state, exited) => expect(hasExited(unit(state), 'i1')).toBe(exited));
});

describe('what others did', () => {
  const record: UnitRecord = { bootId: 'b1', hasConfigDir: false, configs: {} };
  const seen = (change: Partial<Seen> = {}): Seen => ({
    record,
    bootId: 'b1',
    hasFallbackUnit: true,
    before: undefined,
    fellBack: undefined,
    ...change,
  });
  const withGood: UnitRecord = { ...record, good: 'g' };
  const reasons = (on: HostView, about: Seen) => noticesOf(on, about).map(({ reason }) => reason);

  test.each<[string, HostView, Partial<Seen>, 'trial' | 'good' | undefined]>([
    ['a trial that is gone was removed', view(), { record: { ...record, trial: 't' } }, 'trial'],
    ['not by a reboot', view(), { record: { ...record, trial: 't' }, bootId: 'b2' }, undefined],
    ['a kept config that is gone was removed', view(), { record: withGood }, 'good'],
    ['also before a reboot', view(), { record: withGood, bootId: 'b2' }, 'good'],
    [
      'not where /etc forgets everything',
      view(),
      { record: withGood, bootId: 'b2', hasFallbackUnit: false },
      undefined,
    ],
    ['not while it is there', view({ own: { good: header('g') } }), { record: withGood }, undefined],
    ['what relet did not put is not missed', view(), {}, undefined],
  ])('%s', (_name, on, about, expected) => expect(removedDropIn(on, seen(about))).toBe(expected));

  test('is reported with one reason each', () => {
    expect(reasons(view(), seen())).toEqual([]);
    expect(reasons(view({}, { unitFileState: 'masked-runtime' }), seen())).toEqual(['UnitMasked']);
    expect(reasons(view(), seen({ record: withGood }))).toEqual(['DropInRemoved']);
    const forgetful = seen({ record: withGood, bootId: 'b2', hasFallbackUnit: false });
    expect(reasons(view(), forgetful)).toEqual(['NextStartNotKept']);
    expect(reasons(view({ own: { good: header('g', 'old') } }), seen({ record: withGood }))).toEqual([
      'BaseCommandChanged',
    ]);
    const fellBack = view({ own: { good: header('g'), fallback: header('local') } });
    expect(reasons(fellBack, seen({ record: withGood, fellBack: 'g' }))).toEqual(['FellBackToLocal']);
  });

  test('a changed command is reported until the kubelet was started with it', () => {
    const own = { trial: header('g'), good: header('g', 'old') };
    const about = seen({ record: { ...withGood, trial: 'g' }, before: 'i1' });
    expect(reasons(view({ own }), about)).toEqual(['BaseCommandChanged']);
    expect(reasons(view({ own }, { invocationId: 'i2' }), about)).toEqual([]);
  });
});
