/** The status of a NodeConfig: what is shown beside an error, and when it is written. */
import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/eventually.js';
import { ManualClock } from '../../../test/manual-clock.js';
import { ConfigError, type ConfigErrorReason } from '../../api/config-error.js';
import type { NodeConfig } from '../../api/node-config.js';
import { ApiError } from '../../api/status.js';
import { silentLog } from '../../log.js';
import type { Report } from '../report/report.js';
import { NodeConfigReference, nextStatus } from './node-config-reference.js';

const local = { assigned: undefined, active: undefined, lastKnownGood: undefined, warnings: [], initConfig: false };
const failed = (reason: ConfigErrorReason, kubeletLog?: string[]): Report => ({
  ...local,
  driver: 'process',
  configError: new ConfigError(reason, ''),
  ...(kubeletLog && { kubeletLog }),
});
const about = { now: new Date(0), version: '1.2.3' };

describe('the log of a kubelet that crashed', () => {
  test('is shown beside the error that it explains, and not beside one of following the reference', () => {
    const report = failed('CrashLoop', ['panic']);
    expect(nextStatus({}, report, about).kubeletLog).toEqual(['panic']);
    const syncError = new ConfigError('DownloadFailed', '');
    expect(nextStatus({}, { ...report, syncError }, about).kubeletLog).toBeUndefined();
  });

  test('does not outlive the report that had it', () => {
    const present = nextStatus({}, failed('CrashLoop', ['panic']), about);
    expect(nextStatus(present, failed('CrashLoop'), about).kubeletLog).toBeUndefined();
  });
});

test('the answer to an analysis is in the status until the next one', () => {
  const observed = { id: 'gpu/1/1/1', signals: { restarts: [0, 2] as [number, number] } };
  const present = nextStatus({}, { ...local, observed }, about);
  expect(present.observed).toEqual(observed);
  expect(nextStatus(present, { ...local, observed: { ...observed, id: 'gpu/1/1/2' } }, about).observed?.id).toBe(
    'gpu/1/1/2',
  );
});

describe('the condition UnitOK', () => {
  const condition = (report: Partial<Report>) =>
    nextStatus({}, { ...local, ...report }, about).conditions?.find(({ type }) => type === 'UnitOK');
  const notices = [{ reason: 'UnitMasked' as const, message: 'the unit is masked' }];

  test.each(['systemd', 'k3s-server', 'k3s-agent', 'rke2-server', 'rke2-agent'] as const)(
    'is there for %s',
    (driver) => {
      expect(condition({ driver })).toMatchObject({ status: 'True', reason: 'UnitAsExpected' });
      expect(condition({ driver, notices })).toMatchObject({ status: 'False', reason: 'UnitMasked' });
    },
  );

  test('is absent where relet is the parent of the kubelet', () => {
    expect(condition({ driver: 'process' })).toBeUndefined();
  });
});

describe('the condition UpgradeRisk', () => {
  const condition = (report: Report, present = {}) =>
    nextStatus(present, report, about).conditions?.find(({ type }) => type === 'UpgradeRisk');
  const upgrade = { from: 'v1.34.1', to: 'v1.37.0', risk: 'changes' as const, details: ['a: b', 'c: d'] };

  test('is absent while the kubelet was never replaced', () => {
    expect(condition(local)).toBeUndefined();
  });

  test('names the versions and the fields while another kubelet is installed, and is False when the upgrade is over', () => {
    const present = nextStatus({}, { ...local, upgrade }, about);
    expect(condition({ ...local, upgrade })).toMatchObject({
      status: 'True',
      reason: 'NewKubeletChangesMeaning',
      message: expect.stringMatching(/differently than the previous one\. v1\.34\.1 to v1\.37\.0: a: b; c: d$/),
    });
    expect(condition({ ...local, upgrade: { ...upgrade, risk: 'rejected' } })?.reason).toBe('NewKubeletRejectsConfig');
    expect(condition(local, present)).toMatchObject({ status: 'False', reason: 'NoUpgradeRisk' });
    const harmless = { ...upgrade, risk: 'none' as const, details: [] };
    expect(condition({ ...local, upgrade: harmless })).toMatchObject({ status: 'False', reason: 'NoUpgradeRisk' });
  });
});

describe('a definition of an earlier relet, which drops fields that it does not know', () => {
  test('does not make the node write its status again and again', async () => {
    let object: NodeConfig = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name: 'n' } };
    let updates = 0;
    const client = {
      get: async () => object,
      patch: async () => {},
      update: async (_type: unknown, _place: unknown, { status, ...rest }: NodeConfig) => {
        updates++;
        const { driver: _driver, kubeletLog: _log, lease: _lease, trialSeconds: _trial, ...kept } = status ?? {};
        object = { ...rest, status: kept };
        return object;
      },
    };
    const reference = new NodeConfigReference({
      client: client as never,
      name: 'n',
      version: '1.2.3',
      clock: new ManualClock(),
      log: silentLog,
    });
    const { signal } = new AbortController();
    for (let writes = 0; writes < 3; writes++) await reference.write(failed('CrashLoop', ['panic']), signal);
    expect(updates).toBe(1);
    await reference.write(failed('NotHealthy'), signal);
    expect(updates).toBe(2);
  });
});

describe('the lease of the agent', () => {
  const minute = 60_000;

  function setUp(status: NodeConfig['status'] = {}) {
    const clock = new ManualClock();
    const server = {
      object: { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig', metadata: { name: 'n' }, status } as NodeConfig,
      updates: 0,
    };
    const client = {
      get: async () => server.object,
      patch: async () => {},
      update: async (_type: unknown, _place: unknown, object: NodeConfig) => {
        server.updates++;
        server.object = object;
        return object;
      },
    };
    const options = { client: client as never, name: 'n', version: '1.2.3', clock, log: silentLog };
    const reference = new NodeConfigReference(options);
    const write = (report: Report = local) => reference.write(report, new AbortController().signal);
    return { clock, server, write, lease: () => server.object.status?.lease };
  }

  test('is renewed alone only when nothing else has renewed it lately', async () => {
    const { clock, server, write, lease } = setUp();
    await write();
    expect([server.updates, lease()]).toEqual([1, { renewTime: '2026-01-01T00:00:00Z', durationSeconds: 600 }]);
    await clock.advance(2 * minute);
    await write();
    expect(server.updates).toBe(1);
    await write(failed('CrashLoop'));
    expect([server.updates, lease()?.renewTime]).toEqual([2, '2026-01-01T00:02:00Z']);
    await clock.advance(4.5 * minute);
    await write(failed('CrashLoop'));
    expect([server.updates, lease()?.renewTime]).toEqual([3, '2026-01-01T00:06:30Z']);
  });

  test('is renewed at once by an agent that finds an old one, or one of the future', async () => {
    for (const renewTime of ['2025-12-31T00:00:00Z', '2026-02-01T00:00:00Z']) {
      const { write, lease } = setUp({ lease: { renewTime, durationSeconds: 600 } });
      await write();
      expect(lease()?.renewTime).toBe('2026-01-01T00:00:00Z');
    }
  });

  test('a report says that the agent is there again, where the controller missed it', async () => {
    const missing = {
      type: 'AgentMissing',
      status: 'True',
      reason: 'Silent',
      message: '',
      lastTransitionTime: '',
    } as const;
    const { server, write } = setUp({ conditions: [missing] });
    await write();
    const found = server.object.status?.conditions?.find(({ type }) => type === 'AgentMissing');
    expect(found).toMatchObject({ status: 'False', reason: 'AgentReports' });
  });
});

describe('the condition of the Node', () => {
  test('is written also where the NodeConfig may not be', async () => {
    const patches: object[] = [];
    const client = {
      get: async ({ resource }: { resource: string }) => {
        if (resource === 'nodeconfigs') throw new ApiError(403, 'Forbidden', 'forbidden');
        return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u' } };
      },
      patch: async (_type: unknown, _place: unknown, patch: object) => patches.push(patch),
    };
    const options = { client: client as never, name: 'n', version: '1.2.3', clock: new ManualClock(), log: silentLog };
    const writing = new NodeConfigReference(options).write(failed('ReferenceUnreadable'), new AbortController().signal);
    await expect(writing).rejects.toThrow('forbidden');
    await eventually('written', () => patches.length > 0);
    expect(patches).toMatchObject([{ status: { conditions: [{ reason: 'ReferenceUnreadable' }] } }]);
  });
});
