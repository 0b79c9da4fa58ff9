/** The Node object of a config. */
import { describe, expect, test } from 'vitest';
import { setDefaults } from '../../config/defaults.js';
import { conditions, hollowTaint, type Machine, nodeObject, resources } from './node-object.js';

const machine: Machine = {
  hostname: 'a',
  cpus: 4,
  memoryBytes: 8 * 2 ** 30,
  storageBytes: 100 * 2 ** 30,
  info: { machineID: 'm', systemUUID: 's', bootID: 'b', kernelVersion: '6', osImage: 'os' },
  architecture: 'amd64',
};
const config = (set: Record<string, unknown> = {}) => ({ ...setDefaults({}, 32), ...set });

describe('allocatable resources', () => {
  test.each<[string, Record<string, unknown>, object]>([
    [
      'with defaults: all but the eviction thresholds',
      {},
      { cpu: '4', memory: '8092Mi', 'ephemeral-storage': '90Gi', pods: '110' },
    ],
    ['maxPods', { maxPods: 30 }, { pods: '30' }],
    ['podsPerCore where it is less', { podsPerCore: 5 }, { pods: '20' }],
    ['podsPerCore where it is more', { podsPerCore: 50 }, { pods: '110' }],
    [
      'without what is reserved',
      {
        kubeReserved: { cpu: '500m', memory: '1Gi' },
        systemReserved: { cpu: '250m', memory: '512Mi' },
        evictionHard: { 'memory.available': '512Mi' },
      },
      { cpu: '3250m', memory: '6Gi', 'ephemeral-storage': '100Gi' },
    ],
    ['an eviction threshold in percent', { evictionHard: { 'memory.available': '25%' } }, { memory: '6Gi' }],
    ['nothing, where more is reserved than there is', { systemReserved: { memory: '9Gi' } }, { memory: '0' }],
  ])('%s', (_name, set, expected) => expect(resources(config(set), machine).allocatable).toMatchObject(expected));

  test('allocatable memory has no fractions of bytes', () => {
    const odd = { ...machine, storageBytes: 1000 * 1024 + 5 };
    expect(resources(config({ evictionHard: { 'nodefs.available': '33.33%' } }), odd).allocatable).toMatchObject({
      'ephemeral-storage': '682700',
    });
  });

  test('capacity is all of the machine', () => {
    expect(resources(config({ kubeReserved: { cpu: '1' } }), machine).capacity).toEqual({
      cpu: '4',
      memory: '8Gi',
      'ephemeral-storage': '100Gi',
      pods: '110',
    });
  });
});

describe('the Node', () => {
  const facts = { name: 'a', version: '1.32.1', address: '10.0.0.1', labels: { own: 'x' }, machine };

  test('the Node has the hollow label and taint, and resources by the config', () => {
    const taint = { key: 'k', value: 'v', effect: 'NoExecute' };
    const node = nodeObject({
      ...facts,
      config: config({ port: 12345, registerWithTaints: [taint], providerID: 'p://1' }),
    });
    expect(node.metadata.labels).toMatchObject({ 'relet.dev/hollow': 'true', 'kubernetes.io/hostname': 'a', own: 'x' });
    expect(node.metadata.annotations!['relet.dev/hollow']).toContain('runs no pods');
    expect(node.spec).toEqual({ taints: [hollowTaint, taint], providerID: 'p://1' });
    expect(node.status).toMatchObject({
      daemonEndpoints: { kubeletEndpoint: { Port: 12345 } },
      nodeInfo: { kubeletVersion: 'v1.32.1', containerRuntimeVersion: 'hollow://relet' },
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'a' },
      ],
    });
  });

  test('an unchanged condition keeps the time of its last transition', () => {
    const first = conditions(true, '2026-01-01T00:00:00Z', []);
    const second = conditions(true, '2026-01-01T00:05:00Z', first);
    const third = conditions(false, '2026-01-01T00:10:00Z', second);
    const times = [first, second, third].map((all) => all.find(({ type }) => type === 'Ready')!);
    expect(
      times.map(({ status, lastHeartbeatTime, lastTransitionTime }) => [status, lastHeartbeatTime, lastTransitionTime]),
    ).toEqual([
      ['True', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
      ['True', '2026-01-01T00:05:00Z', '2026-01-01T00:00:00Z'],
      ['False', '2026-01-01T00:10:00Z', '2026-01-01T00:10:00Z'],
    ]);
  });
});
