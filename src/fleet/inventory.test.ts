/** Counts, pools and outliers of an inventory, its files, and the difference between two. */
import { describe, expect, test } from 'vitest';
import type { EffectiveFleet, FleetNode } from './effective-configs.js';
import { documentFromFile } from './effective-document.js';
import { fieldGlob, takeInventory } from './inventory.js';
import { fleetDifference, inventoryFiles, readInventoryFiles } from './inventory-files.js';
import { poolOf } from './pools.js';

interface Some {
  maxPods?: number;
  minor?: number;
  labels?: Record<string, string>;
}

function fleetOf(nodes: Record<string, Some>): EffectiveFleet {
  const fleet: EffectiveFleet = { nodes: [], unread: [], documents: new Map() };
  for (const [name, { maxPods, minor = 36, labels = {} }] of Object.entries(nodes)) {
    const fields = maxPods === undefined ? '' : `maxPods: ${maxPods}\n`;
    const text = `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${fields}`;
    const document = documentFromFile({ path: '/kubelet.yaml', text }, { minor, flags: [] });
    fleet.documents.set(document.id, document);
    const node: FleetNode = { name, labels, kubeletVersion: `v1.${minor}.1`, document: document.id, own: {} };
    fleet.nodes.push(node);
  }
  return fleet;
}

describe('values', () => {
  test('are counted by field, with their nodes and origins; fields that all leave to one default are left out', () => {
    const { fields, configs } = takeInventory(fleetOf({ a: {}, b: {}, c: { maxPods: 60 } }));
    expect(configs).toBe(2);
    expect(fields.map(({ field }) => field)).toEqual(['maxPods', 'tlsCertFile', 'tlsPrivateKeyFile']);
    expect(fields[0]!.values).toEqual([
      { value: '110', nodes: ['a', 'b'], origins: { default: 2 }, pools: { 'worker 1.36': 2 } },
      { value: '60', nodes: ['c'], origins: { 'file /kubelet.yaml': 1 }, pools: { 'worker 1.36': 1 } },
    ]);
  });

  test('of a field that a glob names are shown also where they are the default', () => {
    const { fields } = takeInventory(fleetOf({ a: {} }), { field: fieldGlob('eviction*') });
    expect(fields.map(({ field }) => field)).toContain('evictionHard');
    expect(fields.every(({ field }) => field.startsWith('eviction'))).toBe(true);
  });

  test('that differ between kubelet versions by default are shown', () => {
    const { fields } = takeInventory(fleetOf({ a: { minor: 23 }, b: { minor: 36 } }));
    expect(fields.map(({ field }) => field)).toContain('kubeAPIQPS');
  });
});

describe('outliers', () => {
  test('are nodes whose value two thirds of their pool do not have', () => {
    const { outliers } = takeInventory(fleetOf({ a: {}, b: {}, c: { maxPods: 60 } }));
    expect(outliers).toEqual([{ node: 'c', pool: 'worker 1.36', field: 'maxPods', value: '60', usual: '110' }]);
  });

  test('are none in a pool of two, nor where the pool is divided', () => {
    const [x, y] = [{ maxPods: 60 }, { maxPods: 70 }];
    expect(takeInventory(fleetOf({ a: {}, b: x })).outliers).toEqual([]);
    expect(takeInventory(fleetOf({ a: {}, b: x, c: y, d: y })).outliers).toEqual([]);
  });

  test('are compared inside their pool', () => {
    const labels = { pool: 'gpu' };
    const gpu = { maxPods: 60, labels };
    expect(takeInventory(fleetOf({ a: {}, b: {}, c: {}, d: {}, e: {}, g: gpu })).outliers).toEqual([]);
  });
});

test.each([
  [{}, undefined, 'worker 1.36'],
  [{ 'node-role.kubernetes.io/control-plane': '' }, undefined, 'control-plane 1.36'],
  [
    { 'eks.amazonaws.com/nodegroup': 'web', 'node.kubernetes.io/instance-type': 'm5.large' },
    undefined,
    'web m5.large 1.36',
  ],
  [{ pool: 'blue' }, 'gpu', 'gpu 1.36'],
])('a node with labels %j and set %s is of pool %s', (labels, set, pool) => {
  expect(poolOf({ labels: labels as Record<string, string>, kubeletVersion: 'v1.36.1', set })).toBe(pool);
});

test('--by takes the value of a label, and names nodes without it', () => {
  expect(poolOf({ labels: { zone: 'a' }, kubeletVersion: 'v1.36.1' }, 'zone')).toBe('a');
  expect(poolOf({ labels: {}, kubeletVersion: 'v1.36.1' }, 'zone')).toBe('<none>');
});

describe('files', () => {
  const fleet = { ...fleetOf({ a: {}, b: { maxPods: 60, labels: { z: '1', a: '2' } } }) };
  fleet.unread = [{ name: 'c', labels: {}, kubeletVersion: 'v1.36.1', reason: 'connection refused' }];

  test('read again are the same fleet, and the same fleet gives the same bytes', () => {
    const files = inventoryFiles(fleet);
    const read = readInventoryFiles((name) => files.get(name)!);
    expect(read).toEqual(fleet);
    expect(inventoryFiles({ ...read, documents: new Map([...read.documents].reverse()) })).toEqual(files);
  });

  test.each([
    ['index.json', '{', 'index.json: not a NodeInventory'],
    ['index.json', '{"apiVersion":"relet.dev/v1alpha1","kind":"NodeInventory","nodes":7}', 'nodes is not a list'],
    [
      'index.json',
      '{"apiVersion":"relet.dev/v1alpha1","kind":"NodeInventory","nodes":[{"name":"a","config":"../../etc/passwd"}]}',
      "'../../etc/passwd' is not the name of a config",
    ],
  ])('a damaged %s is named', (name, text, message) => {
    const files = new Map([...inventoryFiles(fleet), [name, text]]);
    expect(() => readInventoryFiles((one) => files.get(one)!)).toThrow(message);
  });

  test('the difference of two has nodes, versions and fields', () => {
    const after = fleetOf({ a: { maxPods: 60 }, b: { maxPods: 60, minor: 37 }, d: {} });
    const difference = fleetDifference(fleetOf({ a: {}, b: { maxPods: 60 }, c: {} }), after);
    expect(difference).toMatchObject({
      added: ['d'],
      removed: ['c'],
      kubelets: [{ node: 'b', before: 'v1.36.1', after: 'v1.37.1' }],
    });
    expect(difference.changes).toContainEqual({ field: 'maxPods', before: '110', after: '60', nodes: ['a'] });
    expect(fleetDifference(after, after)).toEqual({ added: [], removed: [], kubelets: [], changes: [] });
  });
});
