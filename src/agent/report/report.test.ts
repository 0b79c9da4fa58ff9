/** The report of a node as status, condition, annotations, metrics and events: pure functions. */
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../api/config-error.js';
import type { ExactRef } from '../../api/config-ref.js';
import { statusPatch } from '../sync/node-reference.js';
import { eventObject } from './events.js';
import { newCounters, render } from './metrics.js';
import { configOk, type Report, statusConfig } from './report.js';

const source: ExactRef = { namespace: 'ns', name: 'n', uid: 'u', resourceVersion: '1', kubeletConfigKey: 'kubelet' };

const leaseFrom = (at: Date) =>
  JSON.stringify({ renewTime: at.toISOString().replace(/\.\d+Z$/, 'Z'), durationSeconds: 600 });

describe('the report', () => {
  const local: Report = {
    assigned: undefined,
    active: undefined,
    lastKnownGood: undefined,
    warnings: [],
    initConfig: false,
  };

  test('all local and well is an empty object', () => expect(statusConfig(local)).toEqual({}));

  test('an error about the reference is shown before one about the config, and both keep the message', () => {
    const report: Report = {
      ...local,
      assigned: source,
      configError: new ConfigError('ValidationFailed', ''),
      syncError: new ConfigError('DownloadFailed', '', { name: 'n', namespace: 'ns' }),
    };
    expect(statusConfig(report).error).toBe('failed to sync: failed to download config, see Kubelet log for details');
    expect(configOk(report)).toEqual({
      status: 'False',
      message: 'using last-known-good (default)',
      reason: 'failed to sync, reason: failed to download ConfigMap with name "n" from namespace "ns"',
    });
  });

  const failed = new ConfigError('ParseFailed', '');
  const other = { ...source, uid: 'v' };
  test.each<[Partial<Report>, string, string]>([
    [{}, 'using current (default)', 'current is set to the local default, and no init config was provided'],
    [
      { initConfig: true },
      'using current (init)',
      'current is set to the local default, and an init config was provided',
    ],
    [{ assigned: source, active: source }, 'using current (UID: "u")', 'passing all checks'],
    [
      { assigned: source, configError: failed },
      'using last-known-good (default)',
      'failed to parse current (UID: "u")',
    ],
    [
      { assigned: source, configError: failed, initConfig: true },
      'using last-known-good (init)',
      'failed to parse current (UID: "u")',
    ],
    [
      { assigned: source, active: other, lastKnownGood: other, configError: failed },
      'using last-known-good (UID: "v")',
      'failed to parse current (UID: "u")',
    ],
  ])('ConfigOK has a message of DKC alpha: %o', (report, message, reason) => {
    const status = report.configError ? 'False' : 'True';
    expect(configOk({ ...local, ...report })).toEqual({ status, message, reason });
  });

  test('a config that was just rolled back is not called the last known good while its kubelet still ends', () => {
    const report: Report = {
      ...local,
      assigned: source,
      active: source,
      configError: new ConfigError('NotHealthy', ''),
    };
    expect(configOk(report)).toMatchObject({ status: 'False', message: `using current (UID: "${source.uid}")` });
    expect(configOk({ ...report, active: undefined }).message).toBe('using last-known-good (default)');
  });

  test('a patch names what is gone as null, moves the transition only with the text, and is left out when nothing changes', () => {
    const now = new Date('2026-01-02T03:04:05.678Z');
    const version = '1.2.3';
    const annotations = { 'relet.dev/agent-version': version, 'relet.dev/agent-lease': leaseFrom(now) };
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

  test('annotations of a Node show the version of the agent, and when a trial ends', () => {
    const now = new Date('2026-01-02T03:04:05Z');
    const annotated = (annotations: Record<string, string>, endsAt?: string) => {
      const status = { config: {}, conditions: [{ type: 'ConfigOK', ...configOk(local) }] };
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', annotations }, status };
      const report = { ...local, ...(endsAt && { trial: { deaths: 0, healthySeconds: 1, endsAt } }) };
      const patch = statusPatch(node, report, { now, version: '2.0.0' }) as
        | { metadata: { annotations: object } }
        | undefined;
      return patch?.metadata.annotations;
    };
    const lease = { 'relet.dev/agent-lease': leaseFrom(now) };
    const same = { 'relet.dev/agent-version': '2.0.0', ...lease };
    expect(annotated({})).toEqual(same);
    expect(annotated(same)).toBeUndefined();
    const ends = '2026-01-02T03:14:05Z';
    expect(annotated(same, ends)).toEqual({ 'relet.dev/trial-ends': ends, ...lease });
    const known = { ...same, 'relet.dev/trial-ends': ends };
    expect(annotated(known, '2026-01-02T03:14:08Z')).toBeUndefined();
    const moved = '2026-01-02T03:15:00Z';
    expect(annotated(known, moved)).toEqual({ 'relet.dev/trial-ends': moved, ...lease });
    expect(annotated(known)).toEqual({ 'relet.dev/trial-ends': null, ...lease });
  });

  test('a Node that shows everything is written again only to renew the lease of the agent', () => {
    const now = new Date('2026-01-02T03:04:05Z');
    const minutesLater = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
    const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } };
    const first = statusPatch(bare, local, { now, version: '2.0.0' }) as { metadata: object; status: object };
    const node = {
      ...bare,
      metadata: { ...bare.metadata, ...first.metadata },
      status: { ...first.status, config: {} },
    };
    const patchAt = (at: Date) =>
      statusPatch(node, local, { now: at, version: '2.0.0' }) as { metadata: object } | undefined;
    expect(patchAt(minutesLater(2))).toBeUndefined();
    const renewed = { annotations: { 'relet.dev/agent-lease': leaseFrom(minutesLater(3)) } };
    expect(patchAt(minutesLater(3))?.metadata).toEqual(renewed);
  });

  test('metrics have upstream’s names and one series each', () => {
    const text = render({
      report: { ...local, assigned: source, syncError: new ConfigError('DownloadFailed', '') },
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
