/** Evictions and disruption budgets: how many Pods must stay, and which of them count. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../api/object.js';
import { evictionError } from './disruption-budget.js';

function pod(name: string, { ready = true, phase = 'Running', app = 'web', leaving = false } = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app }, ...(leaving ? { deletionTimestamp: '2024-01-01T00:00:00Z' } : {}) },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}

function budget(spec: object, name = 'b'): KubeObject {
  const selector = { matchLabels: { app: 'web' } };
  return { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name }, spec: { selector, ...spec } };
}

const three = [pod('a'), pod('b'), pod('c')];
const unready = pod('u', { ready: false });
const needs = (desired: number, healthy: number) =>
  `The disruption budget b needs ${desired} healthy pods and has ${healthy} currently`;

test.each<[string, object, KubeObject, KubeObject[], string | undefined]>([
  ['one Pod more than minAvailable', { minAvailable: 2 }, pod('a'), three, undefined],
  ['exactly minAvailable Pods', { minAvailable: 3 }, pod('a'), three, needs(3, 3)],
  ['a percentage, rounded up', { minAvailable: '67%' }, pod('a'), three, needs(3, 3)],
  ['maxUnavailable 1, all are available', { maxUnavailable: 1 }, pod('a'), three, undefined],
  ['maxUnavailable 1, one is unavailable', { maxUnavailable: 1 }, pod('a'), [...three, unready], needs(3, 3)],
  ['one Pod is being deleted', { maxUnavailable: 1 }, pod('a'), [...three, pod('l', { leaving: true })], needs(3, 3)],
  [
    'Pods that ended do not count',
    { maxUnavailable: 1 },
    pod('a'),
    [...three, pod('e', { phase: 'Failed' })],
    undefined,
  ],
  ['an unready Pod where enough are ready', { minAvailable: 3 }, unready, [...three, unready], undefined],
  ['an unready Pod where too few are', { minAvailable: 4 }, unready, [...three, unready], needs(4, 3)],
  [
    'an unready Pod with AlwaysAllow',
    { minAvailable: 4, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
    unready,
    [...three, unready],
    undefined,
  ],
  ['a pending Pod', { minAvailable: 9 }, pod('p', { phase: 'Pending' }), three, undefined],
  ['a Pod that the budget does not select', { minAvailable: 9 }, pod('o', { app: 'other' }), three, undefined],
])('eviction with a budget: %s', (_name, spec, evicted, pods, cause) => {
  const error = evictionError(evicted, [budget(spec)], pods);
  expect(error?.status.details?.causes?.[0]?.message).toBe(cause);
  if (cause !== undefined) expect(error?.status.code).toBe(429);
});

test('a Pod that two budgets select cannot be evicted', () => {
  const error = evictionError(pod('a'), [budget({ minAvailable: 1 }), budget({ minAvailable: 1 }, 'c')], three);
  expect(error?.status).toMatchObject({ code: 500, message: expect.stringContaining('more than one') });
});
