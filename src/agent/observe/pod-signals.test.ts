/** Signals from the status of pods. */
import { describe, expect, test } from 'vitest';
import type { KubeObject, OwnerReference } from '../../api/object.js';
import { rfc3339 } from '../../clock.js';
import { lostReadyIn, lostReadySince, podCounts, podStartSeconds, readyPods, workloadOf } from './pod-signals.js';

const start = Date.parse('2026-03-01T10:00:00Z');
const window = { from: start, to: start + 600_000 };
const at = (seconds: number) => rfc3339(start + seconds * 1000);

const owned = (uid: string, kind = 'ReplicaSet'): OwnerReference => ({
  apiVersion: 'apps/v1',
  kind,
  name: 'web',
  uid,
  controller: true,
});

function pod(uid: string, status: object, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, uid, creationTimestamp: at(-9999), ...metadata },
    status,
  };
}

const condition = (type: string, status: string, seconds: number) => ({
  type,
  status,
  lastTransitionTime: at(seconds),
});
const restarted = (seconds: number, reason = 'Error') => ({
  containerStatuses: [{ restartCount: 7, lastState: { terminated: { reason, finishedAt: at(seconds) } } }],
});

describe('counts', () => {
  test('are of workloads: many restarts of pods of one owner are one', () => {
    const pods = [1, 2, 3].map((n) => pod(`p${n}`, restarted(n), { ownerReferences: [owned('rs')] }));
    expect(podCounts([...pods, pod('alone', restarted(5))], window).restarts).toBe(2);
  });

  test('take static pods, which all have the Node as their owner, one by one', () => {
    const pods = ['etcd', 'apiserver'].map((uid) => pod(uid, restarted(1), { ownerReferences: [owned('n', 'Node')] }));
    expect(pods.map(workloadOf)).toEqual(['etcd', 'apiserver']);
    expect(podCounts(pods, window).restarts).toBe(2);
  });

  test('take only what happened in the window', () => {
    const pods = [-1, 0, 600, 601].map((seconds) => pod(`p${seconds}`, restarted(seconds, 'OOMKilled')));
    expect(podCounts(pods, window)).toEqual({ oomKills: 2, evictions: 0, restarts: 2, rejectedPods: 0 });
  });

  test('have an OOM kill that ended the pod, which no restart follows', () => {
    const killed = { containerStatuses: [{ state: { terminated: { reason: 'OOMKilled', finishedAt: at(9) } } }] };
    expect(podCounts([pod('job', killed)], window)).toMatchObject({ oomKills: 1, restarts: 0 });
  });

  test('have evictions by the node, and none of a pod that exceeded its own limit', () => {
    const evicted = (uid: string, message: string) =>
      pod(uid, { phase: 'Failed', reason: 'Evicted', message, conditions: [condition('DisruptionTarget', 'True', 3)] });
    const pods = [
      evicted('a', 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 40Mi. '),
      evicted('b', 'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. '),
      evicted('c', 'Usage of EmptyDir volume "x" exceeds the limit "1Mi". '),
      evicted('d', 'Container web exceeded its local ephemeral storage limit "1Gi". '),
    ];
    expect(podCounts(pods, window).evictions).toBe(1);
  });

  test('take the time of a rejection, or an eviction by an old kubelet, from the last write of the kubelet', () => {
    const failed = (uid: string, reason: string, seconds: number) =>
      pod(
        uid,
        { phase: 'Failed', reason, message: 'The node was low on resource: memory. ' },
        { managedFields: [{ manager: 'kubelet', subresource: 'status', time: at(seconds) }] },
      );
    const pods = [
      failed('a', 'OutOfcpu', 5),
      failed('b', 'OutOfcpu', -5),
      failed('c', 'Evicted', 5),
      failed('d', 'Evicted', -5),
    ];
    expect(podCounts(pods, window)).toMatchObject({ evictions: 1, rejectedPods: 1 });
  });
});

describe('pods that stopped being Ready', () => {
  const running = (uid: string, status: string, seconds: number, more: Partial<KubeObject['metadata']> = {}) =>
    pod(uid, { phase: 'Running', conditions: [condition('Ready', status, seconds)] }, more);

  test('are counted by the time at which it happened, or by an earlier list', () => {
    const pods = [running('ok', 'True', 5), running('lost', 'False', 5), running('long ago', 'False', -5)];
    expect(readyPods(pods)).toEqual(['ok']);
    expect(lostReadyIn(pods, window)).toBe(1);
    expect(lostReadySince(pods, new Set(['lost', 'ok', 'gone']))).toBe(1);
  });

  test('are not those that are done, or being deleted', () => {
    const done = pod('job', { phase: 'Succeeded', conditions: [condition('Ready', 'False', 5)] });
    const pods = [done, running('leaving', 'False', 5, { deletionTimestamp: at(4) })];
    expect(lostReadyIn(pods, window)).toBe(0);
    expect(lostReadySince(pods, new Set(['job', 'leaving']))).toBe(0);
  });
});

describe('pod start time', () => {
  const started = (uid: string, from: number, took: number, restartCount = 0) =>
    pod(uid, {
      conditions: [condition('PodScheduled', 'True', from), condition('ContainersReady', 'True', from + took)],
      containerStatuses: [{ restartCount }],
    });

  test('is the median of the pods that were scheduled in the window', () => {
    expect(podStartSeconds([started('a', 1, 2), started('b', 2, 9), started('c', 3, 4)], window)).toBe(4);
    expect(podStartSeconds([started('a', 1, 2), started('b', 2, 3), started('old', -60, 99)], window)).toBe(2.5);
  });

  test('is missing where no pod started, and does not count pods that were ready again after a restart', () => {
    expect(podStartSeconds([], window)).toBeUndefined();
    expect(podStartSeconds([started('a', 1, 300, 1)], window)).toBeUndefined();
  });
});
