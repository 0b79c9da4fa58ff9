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
      message: expect.stringMatching(/another way than the one before it\. v1\.34\.1 to v1\.37\.0: a: b; c: d$/),
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
        const { driver: _driver, kubeletLog: _log, ...kept } = status ?? {};
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
