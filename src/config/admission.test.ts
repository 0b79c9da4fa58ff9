/** Which pods a kubelet rejects when it admits them again after a restart. */
import { describe, expect, test } from 'vitest';
import { admissionFailures } from './admission.js';
import type { KubeletConfig } from './model.js';
import type { PodFacts } from './node-facts.js';

const one = 10n ** 9n;
const gi = one * 2n ** 30n;
const sizes = { cpu: 4n * one, memory: 8n * gi, 'ephemeral-storage': 50n * gi, pods: 110n * one };

/** `age` in seconds before now: 9 is the oldest. */
const pod = (name: string, age: number, more: Partial<PodFacts> = {}): PodFacts => ({
  name,
  createdAt: new Date(1_700_000_000_000 - age * 1000).toISOString(),
  requests: {},
  qosClass: 'Burstable',
  isStatic: false,
  ofDaemonSet: false,
  sysctls: [],
  hasUserNamespace: false,
  ...more,
});
const critical = { priority: 2_000_001_000 };

const fails = (pods: PodFacts[], after: KubeletConfig, { before = {}, minor = 36, allocatable = sizes } = {}) =>
  admissionFailures({ before, after, minor, facts: { pods, capacity: sizes, allocatable } })?.map(
    ({ pod: name, reason }) => `${name} ${reason}`,
  );

describe('admission after a restart', () => {
  test('the oldest pods are admitted first, whatever the order of the list', () => {
    expect(fails([pod('young', 1), pod('old', 9), pod('middle', 5)], { maxPods: 2 })).toEqual(['young OutOfpods']);
  });

  test('a pod that is too large does not keep a smaller, younger one out', () => {
    const pods = [
      pod('a', 9, { requests: { cpu: 2n * one } }),
      pod('b', 8, { requests: { cpu: 2n * one } }),
      pod('c', 7, { requests: { cpu: one } }),
    ];
    expect(fails(pods, { systemReserved: { cpu: '1' } })).toEqual(['b OutOfcpu']);
  });

  test('the first resource that is short is the reason: pods, cpu, memory, ephemeral-storage', () => {
    const pods = [pod('a', 9, { requests: { cpu: 5n * one, memory: 9n * gi } })];
    expect(fails(pods, {}, { allocatable: { ...sizes, pods: 0n } })).toEqual(['a OutOfpods']);
    expect(fails(pods, {})).toEqual(['a OutOfcpu']);
  });

  test('a pod that requests nothing of a resource does not fail for it', () => {
    expect(fails([pod('a', 9)], { kubeReserved: { cpu: '4', memory: '8Gi' } })).toEqual([]);
  });

  test('hard eviction thresholds count as reserved, as a quantity or as a share of the capacity', () => {
    const pods = [pod('a', 9, { requests: { memory: 7n * gi } })];
    expect(fails(pods, { evictionHard: { 'memory.available': '1Gi' } })).toEqual([]);
    expect(fails(pods, { evictionHard: { 'memory.available': '2Gi' } })).toEqual(['a OutOfmemory']);
    expect(fails(pods, { evictionHard: { 'memory.available': '50%' } })).toEqual(['a OutOfmemory']);
  });

  test('what the node reports is the base, so that reservations by flag are not forgotten', () => {
    const pods = [pod('a', 9, { requests: { cpu: 2n * one } })];
    const allocatable = { ...sizes, cpu: 2n * one };
    expect(fails(pods, {}, { allocatable })).toEqual([]);
    expect(fails(pods, { kubeReserved: { cpu: '100m' } }, { allocatable })).toEqual(['a OutOfcpu']);
  });

  test('podsPerCore holds where it is less than maxPods', () => {
    const pods = Array.from({ length: 6 }, (_, at) => pod(`p${at}`, 9 - at));
    expect(fails(pods, { podsPerCore: 1 })).toEqual(['p4 OutOfpods', 'p5 OutOfpods']);
    expect(fails(pods, { podsPerCore: 1, maxPods: 3 })).toHaveLength(3);
  });

  test('nothing is known without the pods, or without the resources of the node', () => {
    const restart = { before: {}, after: { maxPods: 1 }, minor: 36 };
    expect(admissionFailures({ ...restart, facts: { capacity: sizes, allocatable: sizes } })).toBeUndefined();
    expect(admissionFailures({ ...restart, facts: { pods: [] } })).toBeUndefined();
  });
});

describe('preemption', () => {
  test('a static pod comes first, and is critical since 1.16', () => {
    const pods = [pod('app', 9), pod('static', 1, { isStatic: true })];
    expect(fails(pods, { maxPods: 1 })).toEqual(['app OutOfpods']);
    const full = { allocatable: { ...sizes, pods: 0n } };
    expect(fails([pods[1]!], {}, full)).toEqual(['static UnexpectedAdmissionError']);
    expect(fails([pods[1]!], {}, { ...full, minor: 15 })).toEqual(['static OutOfpods']);
  });

  test('a critical pod that is younger takes the place of another', () => {
    expect(fails([pod('app', 9), pod('dns', 1, critical)], { maxPods: 1 })).toEqual(['app Preempting']);
  });

  test('BestEffort pods go first, Guaranteed ones last', () => {
    const pods = [
      pod('guaranteed', 9, { qosClass: 'Guaranteed' }),
      pod('best', 8, { qosClass: 'BestEffort' }),
      pod('burstable', 7),
      pod('dns', 1, critical),
    ];
    expect(fails(pods, { maxPods: 3 })).toEqual(['best Preempting']);
  });

  test('of several, the pod that covers the need with the smallest request goes', () => {
    const pods = [
      pod('large', 9, { requests: { memory: 4n * gi } }),
      pod('small', 8, { requests: { memory: 2n * gi } }),
      pod('tiny', 7, { requests: { memory: gi } }),
      pod('dns', 1, { ...critical, requests: { memory: gi } }),
    ];
    expect(fails(pods, { kubeReserved: { memory: '512Mi' } })).toEqual(['tiny Preempting']);
  });

  test('a critical pod that no sacrifice makes room for is rejected', () => {
    const pods = [pod('a', 9, critical), pod('b', 8, critical)];
    expect(fails(pods, { maxPods: 1 })).toEqual(['b UnexpectedAdmissionError']);
  });
});

describe('sysctls', () => {
  const before = { allowedUnsafeSysctls: ['net.core.*', 'kernel.msgmax'] };
  const pods = [
    pod('network', 9, { sysctls: ['net.core.somaxconn'] }),
    pod('messages', 8, { sysctls: ['kernel.msgmax'] }),
    pod('safe', 7, { sysctls: ['net.ipv4.tcp_syncookies'] }),
  ];

  test('a pod fails when no entry allows its sysctl any more', () => {
    expect(fails(pods, { allowedUnsafeSysctls: ['kernel.msgmax'] }, { before })).toEqual(['network SysctlForbidden']);
    expect(fails(pods, { allowedUnsafeSysctls: ['net.*'] }, { before })).toEqual(['messages SysctlForbidden']);
  });

  test('a pod that is rejected leaves its place to others', () => {
    expect(fails(pods, { maxPods: 2 }, { before })).toEqual(['network SysctlForbidden', 'messages SysctlForbidden']);
  });
});
