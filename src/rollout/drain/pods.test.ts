/** Which pods a drain evicts, leaves, waits for, or is blocked by. */
import { describe, expect, test } from 'vitest';
import { type DisruptionBudget, type DrainPod, isEmptied, leftPods, podActions, undrainable } from './pods.js';

const owner = (kind: string) => ({
  ownerReferences: [{ apiVersion: 'v1', kind, name: 'x', uid: 'u', controller: true }],
});

function pod(metadata: object = {}, status: DrainPod['status'] = running): DrainPod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'shop',
      name: 'web',
      uid: 'web-uid',
      labels: { app: 'web' },
      ...owner('ReplicaSet'),
      ...metadata,
    },
    status,
  };
}
const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const broken = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };

function budget(
  status: DisruptionBudget['status'],
  spec: DisruptionBudget['spec'] = {},
  name = 'web',
): DisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { namespace: 'shop', name, generation: 1 },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    ...(status && { status: { observedGeneration: 1, ...status } }),
  };
}

const rules = { unmanagedPods: 'Block' } as const;
const kindOf = (one: DrainPod, budgets: DisruptionBudget[] = []) => podActions([one], budgets, rules)[0]!.kind;

describe('what a drain does to each pod', () => {
  test.each<[string, DrainPod, string]>([
    ['a pod of a ReplicaSet is evicted', pod(), 'evict'],
    [
      'a pod with an emptyDir volume is evicted',
      { ...pod(), spec: { volumes: [{ emptyDir: {} }] } as object },
      'evict',
    ],
    ['a pod of a DaemonSet is left alone', pod(owner('DaemonSet')), 'leave'],
    ['a mirror pod is left alone', pod({ annotations: { 'kubernetes.io/config.mirror': 'x' } }), 'leave'],
    ['a pod that succeeded is left alone', pod({}, { phase: 'Succeeded' }), 'leave'],
    ['a pod that failed is left alone', pod({}, { phase: 'Failed' }), 'leave'],
    ['a pod with the label drain=skip is left alone', pod({ labels: { 'cluster.x-k8s.io/drain': 'skip' } }), 'leave'],
    ['one with wait-completed is waited for', pod({ labels: { 'cluster.x-k8s.io/drain': 'wait-completed' } }), 'wait'],
    ['a pod in deletion is waited for', pod({ deletionTimestamp: '2026-01-01T00:00:00Z' }), 'wait'],
    ['a pod without a controller blocks', pod({ ownerReferences: [] }), 'block'],
  ])('%s', (_name, one, kind) => {
    expect(kindOf(one)).toBe(kind);
  });

  test('a pod without a controller is evicted where the set says so', () => {
    const bare = pod({ ownerReferences: [] });
    expect(podActions([bare], [], { unmanagedPods: 'Evict' })[0]!.kind).toBe('evict');
  });
});

describe('budgets that no time will help', () => {
  test.each<[string, DrainPod, DisruptionBudget[], string]>([
    ['one disruption allowed', pod(), [budget({ disruptionsAllowed: 1 })], 'evict'],
    [
      'a single replica that must be available',
      pod(),
      [budget({ expectedPods: 1, desiredHealthy: 1, currentHealthy: 1 })],
      'block',
    ],
    [
      'used up by a pod that restarts',
      pod(),
      [budget({ expectedPods: 3, desiredHealthy: 2, currentHealthy: 2 })],
      'evict',
    ],
    ['too few are healthy', pod(), [budget({ expectedPods: 3, desiredHealthy: 2, currentHealthy: 1 })], 'block'],
    ['not seen by its controller, allows some', pod(), [budget(undefined, { minAvailable: 1 })], 'evict'],
    ['not seen by its controller, allows none', pod(), [budget(undefined, { maxUnavailable: 0 })], 'block'],
    ['of another namespace', pod({ namespace: 'blog' }), [budget(undefined, { maxUnavailable: 0 })], 'evict'],
    [
      'two budgets for one pod',
      pod(),
      [budget({ disruptionsAllowed: 1 }), budget({ disruptionsAllowed: 1 }, {}, 'b')],
      'block',
    ],
    [
      'unhealthyPodEvictionPolicy: AlwaysAllow lets a broken pod go',
      pod({}, broken),
      [
        budget(
          { expectedPods: 3, desiredHealthy: 2, currentHealthy: 1 },
          { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
        ),
      ],
      'evict',
    ],
    [
      'AlwaysAllow does not let a healthy pod go',
      pod(),
      [
        budget(
          { expectedPods: 3, desiredHealthy: 2, currentHealthy: 1 },
          { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
        ),
      ],
      'block',
    ],
  ])('%s', (_name, one, budgets, kind) => {
    expect(kindOf(one, budgets)).toBe(kind);
  });
});

test('the sentences name the pods, with the reasons first, and no more than three', () => {
  const bare = (name: string) => pod({ name, uid: name, ownerReferences: [] });
  const actions = podActions([pod(), bare('a'), bare('b'), bare('c'), bare('d\u001b')], [], rules);
  expect(undrainable(actions)).toBe(
    'pod shop/a: it has no controller that would create it again; pod shop/b: it has no controller that would create it again; pod shop/c: it has no controller that would create it again; and 1 more',
  );
  expect(undrainable(podActions([pod()], [], rules))).toBeUndefined();
  const both = podActions([pod({ uid: 'first', name: 'first' }), pod()], [], rules);
  expect(leftPods(both, new Map([['web-uid', 'budget web']]))).toBe('pod shop/web: budget web; pod shop/first');
  expect(isEmptied(both)).toBe(false);
  expect(isEmptied(podActions([pod(owner('DaemonSet'))], [], rules))).toBe(true);
});
