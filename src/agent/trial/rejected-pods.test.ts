/** Which pods count as rejected by the kubelet that was just restarted. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import type { KubeObject } from '../../api/object.js';
import { PodCheck, rejectedPods, rejectedRunning, rejectedUids } from './rejected-pods.js';

const startedAt = Date.parse('2026-03-01T12:00:00Z');
const outOfPods = "Node didn't have enough resource: pods, requested: 1, used: 5, capacity: 5";

function pod(name: string, status: object, metadata: object = {}): KubeObject {
  const created = { creationTimestamp: '2026-01-01T00:00:00Z', uid: `uid-of-${name}`, namespace: 'default' };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...created, ...metadata }, status } as KubeObject;
}

const failed = (reason: string, message = '') => ({ phase: 'Failed', reason, message });

describe('pods rejected after a restart', () => {
  test('a pod that ran before the restart is named', () => {
    const before = rejectedUids([pod('web', { phase: 'Running' })]);
    const pods = [pod('web', failed('OutOfpods', `Pod was rejected: ${outOfPods}`))];
    expect(rejectedPods(pods, { before, startedAt })).toEqual([
      `pod default/web was rejected by the kubelet after its restart: OutOfpods: ${outOfPods}`,
    ]);
  });

  test('a pod that was rejected before the restart is not named', () => {
    const pods = [pod('web', failed('OutOfpods'))];
    expect(rejectedPods(pods, { before: rejectedUids(pods), startedAt })).toEqual([]);
  });

  test.each([
    ['OutOfcpu', true],
    ['OutOfmemory', true],
    ['NodeAffinity', true],
    ['SysctlForbidden', true],
    ['UnexpectedAdmissionError', true],
    ['Evicted', false],
    ['NodeShutdown', false],
    ['DeadlineExceeded', false],
  ])('a pod that failed with %s: %s', (reason, isNamed) => {
    expect(rejectedPods([pod('web', failed(reason))], { before: new Set(), startedAt })).toHaveLength(isNamed ? 1 : 0);
  });

  test('any reason counts when the kubelet says that it rejected the pod, except that the node shuts down', () => {
    const rejected = (reason: string) =>
      rejectedPods([pod('web', failed(reason, 'Pod was rejected: x'))], { before: new Set(), startedAt });
    expect(rejected('Evicted')).toHaveLength(1);
    expect(rejected('NodeShutdown')).toHaveLength(0);
  });

  test.each([
    ['was created after the start', { creationTimestamp: '2026-03-01T12:00:05Z' }, true],
    ['is old and has no other time', {}, false],
    [
      'is old and was written by the kubelet after the start',
      { managedFields: [{ manager: 'kubelet', subresource: 'status', time: '2026-03-01T12:00:01Z' }] },
      true,
    ],
    [
      'is old and was last written by the kubelet long ago',
      { managedFields: [{ manager: 'kubelet', subresource: 'status', time: '2026-02-01T00:00:00Z' }] },
      false,
    ],
  ])('where nobody was asked before the restart, a pod that %s', (_what, metadata, isNamed) => {
    const found = rejectedPods([pod('web', failed('OutOfpods'), metadata)], { before: undefined, startedAt });
    expect(found).toHaveLength(isNamed ? 1 : 0);
  });

  test('only pods that an earlier kubelet had started count as harm, three of them by name', () => {
    const ran = (name: string) => pod(name, { ...failed('OutOfpods'), startTime: '2026-02-01T00:00:00Z' });
    const scheduledSince = pod('new', { ...failed('OutOfpods'), startTime: '2026-03-01T12:00:01Z' });
    const pods = [scheduledSince, ...['a', 'b', 'c', 'd'].map(ran)];
    expect(rejectedRunning(pods, { before: new Set(), startedAt })).toEqual({
      since: '2026-03-01T12:00:00Z',
      count: 4,
      names: ['default/a', 'default/b', 'default/c'],
    });
    expect(rejectedRunning([scheduledSince], { before: new Set(), startedAt })).toBeUndefined();
    expect(rejectedRunning(pods, { before: rejectedUids(pods), startedAt })).toBeUndefined();
  });

  test('a node that rejects hundreds names twenty and counts the others', () => {
    const pods = Array.from({ length: 250 }, (_, index) => pod(`web-${index}`, failed('OutOfpods')));
    const lines = rejectedPods(pods, { before: new Set(), startedAt });
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('230 more pods were rejected by the kubelet after its restart');
  });
});

describe('the check for rejected pods', () => {
  test('finds a rejection after the start, and one more at the end of a trial', async () => {
    const clock = new ManualClock();
    let pods = [pod('web', failed('OutOfpods'))];
    const found: string[][] = [];
    const check = new PodCheck({
      view: () => ({ pods: async () => pods }),
      since: () => ({ before: new Set(), startedAt }),
      onFound: (warnings) => found.push(warnings),
      clock,
    });
    const { signal } = new AbortController();
    const looked = check.afterStart(signal);
    await clock.advance(29_000);
    expect(found).toEqual([]);
    await clock.advance(1000);
    await looked;
    expect(found).toHaveLength(1);
    await check.look(signal);
    expect(found).toHaveLength(1);
    pods = [...pods, pod('api', failed('OutOfcpu'))];
    await check.look(signal);
    expect(found[1]).toHaveLength(2);
  });
});
