/** When a config that failed may be started again. */
import { describe, expect, test } from 'vitest';
import { mayRetry, pathsIn, retriesOnce } from './retry.js';
import { type Failure, resultsRecord } from './trial.js';

test('the paths in a config are found wherever they are', () => {
  const config = [
    'kind: KubeletConfiguration',
    'tlsCertFile: /pki/kubelet.crt',
    'authentication: {x509: {clientCAFile: /pki/ca.crt}}',
    'cgroupRoot: /',
    'clusterDNS: ["10.0.0.10"]',
    'staticPodPath: manifests',
    'allowedUnsafeSysctls: [/pki/ca.crt]',
  ].join('\n');
  expect(pathsIn(config)).toEqual(['/pki/ca.crt', '/pki/kubelet.crt']);
  expect(pathsIn('{')).toEqual([]);
});

const failure: Failure = {
  kind: 'failed',
  reason: 'CrashLoop',
  cause: 'crashed',
  at: new Date(0).toISOString(),
  environment: { binary: 'b', files: { '/a': '1' } },
};

describe('a failed config', () => {
  test.each<[string, Partial<Failure>, { binary?: string; files?: Record<string, string>; now: number }, boolean]>([
    ['stays failed while nothing changes', {}, { now: 1e9 }, false],
    ['is tried with another executable, at once', {}, { binary: 'c', now: 0 }, true],
    ['is tried a minute after it failed, when a file changed', {}, { files: { '/a': '2' }, now: 60_000 }, true],
    ['is not tried sooner', {}, { files: { '/a': '2' }, now: 59_999 }, false],
    ['waits twice as long after the second failure', { failures: 2 }, { files: { '/a': '2' }, now: 119_999 }, false],
    ['waits an hour at most', { failures: 50 }, { files: { '/a': '2' }, now: 3_600_000 }, true],
    ['is tried although the clock was set back', {}, { files: { '/a': '2' }, now: -1 }, true],
  ])('%s', (_name, change, { now, ...present }, expected) => {
    const environment = { binary: 'b', files: { '/a': '1' }, ...present };
    expect(mayRetry({ ...failure, ...change }, environment, now)).toBe(expected);
  });

  test('of an older record, which does not say what it depended on, stays failed', () => {
    const { environment: _absent, ...old } = failure;
    expect(mayRetry(old, { binary: 'c', files: {} }, 1e9)).toBe(false);
  });

  test('that was not healthy in time is started once more only if its fallback took as long', () => {
    const unhealthy: Failure = { ...failure, reason: 'NotHealthy', retryOnce: true };
    expect([true, false].map((tookLong) => retriesOnce(unhealthy, { tookLong }))).toEqual([true, false]);
    expect(retriesOnce({ ...failure, retryOnce: true }, { tookLong: false })).toBe(true);
    expect(retriesOnce(failure, { tookLong: true })).toBe(false);
  });

  test('has a record that is read with fields of a newer relet, and not with damaged ones', () => {
    expect(resultsRecord.is({ key: { ...failure, later: {} }, other: { kind: 'validated', failures: 1 } })).toBe(true);
    expect(resultsRecord.is({ key: { ...failure, environment: { binary: 'b', files: { '/a': 1 } } } })).toBe(false);
  });
});
