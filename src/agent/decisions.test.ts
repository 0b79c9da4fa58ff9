/** The pure decisions of the agent: trial, death, report, reference. Ids are those of the conformance list. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { betaError, Fault } from '../api/faults.js';
import { silentLog } from '../log.js';
import type { Verdicts } from './disk/verdicts.js';
import { eventObject } from './report/events.js';
import { newCounters, render } from './report/metrics.js';
import { configOk, type Report, statusConfig } from './report/report.js';
import { apiPath, describe as describeSource, type ExactSource, sameSource } from './source.js';
import { nodeNameFrom } from './sync/connect.js';
import { InPlaceSpread } from './sync/in-place.js';
import { statusPatch } from './sync/node-reference.js';
import { type ConfigMap, identityOf, payloadOf, resolve, targetOf } from './sync/resolve.js';
import { explain } from './trial/death.js';
import { Doubt } from './trial/doubt.js';
import {
  afterDeath,
  afterLook,
  beginOrResume,
  counts,
  defaultTrialLimits,
  type Health,
  type Look,
  type Trial,
  unhealthyBefore,
} from './trial/trial.js';

const source: ExactSource = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };
const configMap = (more: object = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'n', uid: 'u', resourceVersion: '1' },
  ...more,
});

describe('payload of a ConfigMap', () => {
  test.each([
    ['U2.1 none', undefined, 'ConfigMap must be non-nil'],
    [
      'U2.2 no uid',
      { ...configMap(), metadata: { name: 'n', resourceVersion: '1' } },
      'ConfigMap must have a non-empty UID',
    ],
    [
      'U2.3 no resourceVersion',
      { ...configMap(), metadata: { name: 'n', uid: 'u' } },
      'ConfigMap must have a non-empty ResourceVersion',
    ],
  ])('%s is refused', (_name, object, message) => {
    expect(() => identityOf(object as ConfigMap)).toThrow(
      expect.objectContaining({ reason: 'bad-object', cause: new Error(message) }),
    );
  });

  test('U2.4 a complete one is taken, with all it has', async () => {
    const object = configMap({ data: { kubelet: 'a' }, binaryData: { b: '' } });
    const taken = await resolve(targetOf({ configMap: source }), async () => object);
    expect(taken.payload).toMatchObject({ files: new Map([['kubelet', Buffer.from('a')]]), binaryKeys: ['b'] });
  });

  test('U2.5 and U2.6 it tells its uid and its version', () => {
    expect(identityOf(configMap())).toEqual({ uid: 'u', resourceVersion: '1' });
  });

  test.each([
    ['U2.7', undefined, []],
    ['U2.8', {}, []],
    [
      'U2.9',
      { a: '1', b: '2' },
      [
        ['a', Buffer.from('1')],
        ['b', Buffer.from('2')],
      ],
    ],
  ])('%s data becomes files', (_id, data, files) => {
    expect([...payloadOf(configMap({ data })).files]).toEqual(files);
  });
});

describe('the reference', () => {
  test('U3.1 a source without subfield is refused', () => {
    expect(() => targetOf({})).toThrow(expect.objectContaining({ reason: 'all-nil' }));
    expect(betaError(new Fault('all-nil', ''))).toBe(
      'failed to sync: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
    );
  });

  test('U3.2 a ConfigMap is taken as it is', () => {
    const { uid: _u, resourceVersion: _r, ...target } = source;
    expect(targetOf({ configMap: target })).toEqual(target);
  });

  test('U3.3 its uid is told', () => expect(describeSource(source)).toContain('UID: u, ResourceVersion: 1'));

  test('U3.4 its API path', () => expect(apiPath(source)).toBe('/api/v1/namespaces/ns/configmaps/n'));

  test.each(['U3.5', 'U3.10'])('%s what the server does not have is not found', async () => {
    const absent = resolve(targetOf({ configMap: source }), async () => {
      throw new Error('configmaps "n" not found');
    });
    await expect(absent).rejects.toMatchObject({
      reason: 'download',
      cause: { message: expect.stringContaining('not found') },
    });
  });

  // There is no cache beside the server, so upstream's three cases are one.
  test.each(['U3.6', 'U3.7', 'U3.9'])('%s what the server has is taken, with its uid and version', async () => {
    const found = await resolve(targetOf({ configMap: source }), async () => configMap({ data: { kubelet: 'a' } }));
    expect(found.source).toEqual(source);
  });

  test('an alpha reference must match the uid of what it finds', async () => {
    const target = targetOf({ configMapRef: { namespace: 'ns', name: 'n', uid: 'another' } });
    await expect(resolve(target, async () => configMap())).rejects.toMatchObject({
      reason: 'other-uid',
      about: { wanted: 'another', found: 'u' },
    });
  });

  test.each([
    ['U3.11', undefined, undefined, true],
    ['U3.12', undefined, source, false],
    ['U3.13', source, undefined, false],
    ['U3.14', source, { ...source }, true],
    ['U3.15', source, { ...source, kubeletConfigKey: 'other' }, false],
  ])('%s equality', (_id, a, b, same) => expect(sameSource(a, b)).toBe(same));
});

const before = { nodeReady: true, apiAnswered: true, staticPods: false };
const trial: Trial = { key: 'k', deaths: 0, healthyMs: 0, before, bootId: 'b' };
const well: Health = { alive: true, apiAnswers: true, readyAgain: true };
const seen = (change: Partial<Look> = {}): Look => ({
  trial,
  health: well,
  unhealthyMs: 0,
  apiSilentMs: 0,
  rebooted: false,
  ...change,
});

describe('a trial', () => {
  test.each<[string, Partial<Look>, string]>([
    ['goes on while time is left', {}, 'go-on'],
    ['ends well after its duration', { trial: { ...trial, healthyMs: 600_000 } }, 'graduate'],
    [
      'does not end well while the kubelet is not healthy',
      { trial: { ...trial, healthyMs: 600_000 }, health: { ...well, alive: false } },
      'go-on',
    ],
    [
      'fails when healthz is silent for the deadline',
      { health: { ...well, alive: false }, unhealthyMs: 60_000 },
      'unhealthy',
    ],
    [
      'fails when the Node is not Ready again',
      { health: { ...well, readyAgain: false }, unhealthyMs: 60_000 },
      'unhealthy',
    ],
    [
      'does not ask for a Ready that was not there before',
      {
        trial: { ...trial, before: { ...before, nodeReady: false } },
        health: { ...well, readyAgain: false },
        unhealthyMs: 60_000,
      },
      'go-on',
    ],
    [
      'an API outage is not blamed',
      { health: { alive: true, apiAnswers: false, readyAgain: false }, apiSilentMs: 600_000 },
      'go-on',
    ],
    [
      'an API that is gone with the switch lets nothing graduate',
      { trial: { ...trial, healthyMs: 600_000 }, health: { alive: true, apiAnswers: false, readyAgain: false } },
      'go-on',
    ],
    [
      'an API that was never there is not waited for',
      {
        trial: { ...trial, healthyMs: 600_000, before: { ...before, apiAnswered: false } },
        health: { alive: true, apiAnswers: false, readyAgain: false },
      },
      'graduate',
    ],
    [
      'with static pods a lost API is a failure',
      {
        trial: { ...trial, before: { ...before, staticPods: true } },
        health: { alive: true, apiAnswers: false, readyAgain: false },
        apiSilentMs: 60_000,
      },
      'no-api',
    ],
    [
      'but not after a reboot, when it may only be slow',
      {
        trial: { ...trial, before: { ...before, staticPods: true } },
        health: { alive: true, apiAnswers: false, readyAgain: false },
        apiSilentMs: 60_000,
        rebooted: true,
      },
      'go-on',
    ],
    [
      'after a reboot a Node may take its time',
      { health: { ...well, readyAgain: false }, unhealthyMs: 60_000, rebooted: true },
      'go-on',
    ],
  ])('%s', (_name, change, expected) => {
    const step = afterLook(seen(change), defaultTrialLimits);
    expect(step.kind === 'failed' ? step.reason : step.kind).toBe(expected);
  });

  test('a death sets healthy time to zero, and the third one ends it', () => {
    let now: Trial = { ...trial, healthyMs: 599_000 };
    for (const expected of ['go-on', 'go-on', 'failed']) {
      const after = afterDeath(now, 'exit code 1', defaultTrialLimits);
      expect(after.step.kind).toBe(expected);
      expect(after.trial.healthyMs).toBe(0);
      now = after.trial;
    }
  });

  test('the same bytes, version and flags go on; anything else begins anew', () => {
    const going = { ...trial, deaths: 2, healthyMs: 5 };
    expect(beginOrResume(going, { key: 'k', before, bootId: 'later' })).toEqual(going);
    expect(beginOrResume(going, { key: 'other', before, bootId: 'b' })).toEqual({ ...trial, key: 'other' });
  });

  test('time without the API that was there before does not count', () => {
    expect(counts(well, before)).toBe(true);
    expect(counts({ ...well, apiAnswers: false }, before)).toBe(false);
    expect(counts({ ...well, apiAnswers: false }, { ...before, apiAnswered: false })).toBe(true);
  });
});

test('time without health goes on over a restart of relet, and begins anew with the machine', () => {
  const before = { nodeReady: true, apiAnswered: true, staticPods: false };
  const trial = { key: 'k', deaths: 0, healthyMs: 0, before, bootId: 'a', unhealthy: { ms: 25_000, bootId: 'b' } };
  expect(unhealthyBefore(trial, 'b')).toBe(25_000);
  expect(unhealthyBefore(trial, 'c')).toBe(0);
  expect(unhealthyBefore(undefined, 'b')).toBe(0);
});

describe('who is to blame for a death', () => {
  const calm = { told: false, stopping: false, certificateExpired: false };
  test.each([
    ['an exit code of its own', { code: 1, signal: null }, calm, 'config'],
    ['a panic', { code: 2, signal: null }, calm, 'config'],
    ['a segmentation fault', { code: null, signal: 'SIGSEGV' as const }, calm, 'config'],
    ['a kill from outside', { code: null, signal: 'SIGKILL' as const }, calm, 'none'],
    ['a polite stop from outside', { code: 0, signal: null }, calm, 'none'],
    ['an expired certificate', { code: 1, signal: null }, { ...calm, certificateExpired: true }, 'none'],
    ['a machine going down', { code: 1, signal: null }, { ...calm, stopping: true }, 'none'],
    ['relet itself', { code: 143, signal: null }, { ...calm, told: true }, 'none'],
    ['a missing binary', { code: null, signal: null, error: new Error('ENOENT') }, calm, 'none'],
  ])('%s', (_name, exit, circumstances, blame) => expect(explain(exit, circumstances).blame).toBe(blame));

  test('where the fallback dies too, the config was not to blame, and its verdict is lifted', () => {
    const doubt = new Doubt(3);
    const fault = new Fault('crash-loop', '');
    const lifts = (healthy: boolean) => {
      const verdicts: Verdicts[] = [{ key: { kind: 'failed', reason: 'crash-loop', cause: '', at: '' } }];
      const memory = {
        verdicts: { read: () => verdicts[0], write: (value: Verdicts) => void verdicts.unshift(value) },
      };
      const run = { choice: { fault }, healthy, onTrial: false };
      return doubt.lifts(run as never, memory as never, silentLog) && Object.keys(verdicts[0]!).length === 0;
    };
    expect([false, false, true, false, false, false].map(lifts)).toEqual([false, false, false, false, false, true]);
  });
});

describe('the report', () => {
  const local: Report = {
    assigned: undefined,
    active: undefined,
    lastKnownGood: undefined,
    warnings: [],
    initConfig: false,
  };

  test('all local and well is an empty object', () => expect(statusConfig(local)).toEqual({}));

  test('an error of following stands before one of the config, and both keep the message', () => {
    const report: Report = {
      ...local,
      assigned: source,
      fault: new Fault('validate', ''),
      syncFault: new Fault('download', '', { name: 'n', namespace: 'ns' }),
    };
    expect(statusConfig(report).error).toBe('failed to sync: failed to download config, see Kubelet log for details');
    expect(configOk(report)).toEqual({
      status: 'False',
      message: 'using last-known-good (default)',
      reason: 'failed to sync, reason: failed to download ConfigMap with name "n" from namespace "ns"',
    });
  });

  test('a config that was just rolled back is not called the last known good while its kubelet still ends', () => {
    const report: Report = { ...local, assigned: source, active: source, fault: new Fault('unhealthy', '') };
    expect(configOk(report)).toMatchObject({ status: 'False', message: `using current (UID: "${source.uid}")` });
    expect(configOk({ ...report, active: undefined }).message).toBe('using last-known-good (default)');
  });

  test('a patch names what is gone as null, moves the transition only with the text, and is left out when nothing changes', () => {
    const now = new Date('2026-01-02T03:04:05.678Z');
    const version = '1.2.3';
    const annotations = { 'relet.dev/agent-version': version };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', annotations } };
    const patch = statusPatch(node, local, { now, version }) as { status: { config: object; conditions: object[] } };
    expect(patch.status.config).toEqual({ assigned: null, active: null, lastKnownGood: null, error: null });
    const condition = {
      type: 'ConfigOK',
      ...configOk(local),
      lastHeartbeatTime: '2026-01-02T03:04:05Z',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    };
    expect(patch.status.conditions).toEqual([condition]);
    const written = { ...node, status: { config: {}, conditions: [condition] } };
    expect(statusPatch(written, local, { now, version })).toBeUndefined();
    const later = statusPatch({ ...written, status: { ...written.status, config: { error: 'old' } } }, local, {
      now: new Date('2026-02-02T00:00:00Z'),
      version,
    }) as typeof patch;
    expect(later.status.conditions).toEqual([{ ...condition, lastHeartbeatTime: '2026-02-02T00:00:00Z' }]);
  });

  test('a Node tells beside its status who reports, and when a trial ends', () => {
    const now = new Date('2026-01-02T03:04:05Z');
    const told = (annotations: Record<string, string>, endsAt?: string) => {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', annotations } };
      const report = { ...local, ...(endsAt && { trial: { deaths: 0, healthySeconds: 1, endsAt } }) };
      const patch = statusPatch(node, report, { now, version: '2.0.0' }) as { metadata?: { annotations: object } };
      return patch.metadata?.annotations;
    };
    const same = { 'relet.dev/agent-version': '2.0.0' };
    expect(told({})).toEqual(same);
    expect(told(same)).toBeUndefined();
    const ends = '2026-01-02T03:14:05Z';
    expect(told(same, ends)).toEqual({ 'relet.dev/trial-ends': ends });
    const known = { ...same, 'relet.dev/trial-ends': ends };
    expect(told(known, '2026-01-02T03:14:08Z')).toBeUndefined();
    expect(told(known, '2026-01-02T03:15:00Z')).toEqual({ 'relet.dev/trial-ends': '2026-01-02T03:15:00Z' });
    expect(told(known)).toEqual({ 'relet.dev/trial-ends': null });
  });

  test('metrics have upstream’s names and one series each', () => {
    const text = render({
      report: { ...local, assigned: source, syncFault: new Fault('download', '') },
      counters: newCounters(),
      trialSeconds: 5,
      held: false,
    });
    expect(text).toContain(
      'kubelet_node_config_active{node_config_kubelet_key="",node_config_resource_version="",node_config_source="local",node_config_uid=""} 1',
    );
    expect(text).toContain(
      'kubelet_node_config_assigned{node_config_kubelet_key="kubelet",node_config_resource_version="1",node_config_source="/api/v1/namespaces/ns/configmaps/n",node_config_uid="u"} 1',
    );
    expect(text).toContain('kubelet_node_config_error 1');
    expect(text.match(/^kubelet_node_config_assigned\{/gm)).toHaveLength(1);
  });

  test('an event has upstream’s form, and fits', () => {
    const event = eventObject(
      'node-a',
      { type: 'Normal', reason: 'KubeletConfigChanged', message: 'm'.repeat(2000) },
      Date.UTC(2026, 0, 1),
      7,
    ) as { message: string };
    expect(event).toMatchObject({
      metadata: { namespace: 'default', name: expect.stringMatching(/^node-a\.[0-9a-f]+$/) },
      involvedObject: { kind: 'Node', name: 'node-a', uid: 'node-a' },
      source: { component: 'kubelet', host: 'node-a' },
      count: 1,
    });
    expect(event.message.length).toBe(1024);
  });
});

describe('small decisions', () => {
  test.each([
    ['the certificate wins', 'O=system:nodes\nCN=system:node:real', 'override', 'HOST', 'real'],
    ['then the override', 'CN=someone', ' Override ', 'HOST', 'override'],
    ['then the lower-cased host name', undefined, undefined, 'HOST.Example', 'host.example'],
  ])('node name: %s', (_name, subject, override, host, expected) =>
    expect(nodeNameFrom(subject, override, host)).toBe(expected),
  );

  test('an edit in place waits its part of the jitter, and a second edit does not wait again', async () => {
    const clock = new ManualClock();
    const spread = new InPlaceSpread(clock, 60_000, () => 0.5);
    const edited = { ...source, resourceVersion: '2' };
    expect(spread.waitMs(source, edited)).toBe(30_000);
    await clock.advance(20_000);
    expect(spread.waitMs(source, { ...source, resourceVersion: '3' })).toBe(10_000);
    await clock.advance(10_000);
    expect(spread.waitMs(source, { ...source, resourceVersion: '3' })).toBe(0);
    expect(spread.waitMs(source, { ...edited, name: 'other' })).toBe(0);
    expect(spread.waitMs(undefined, edited)).toBe(0);
  });
});
