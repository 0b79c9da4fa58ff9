/** Which nodes are granted a ConfigMap: by assignment, kept for a fallback, and never by a node's own status. */
import { describe, expect, test } from 'vitest';
import type { NodeConfig } from '../api/node-config.js';
import {
  type GrantFacts,
  grantBinding,
  grantedCondition,
  grantedConfigMap,
  grantName,
  nodeGraceMs,
  planGrant,
  shardSize,
  shardsOf,
} from './grant-plan.js';

const source = (name: string, namespace = 'kube-system') => ({
  configMap: { namespace, name, kubeletConfigKey: 'kubelet' },
});

function nodeConfig(name: string, assigned?: string, lastKnownGood?: string): NodeConfig {
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name },
    spec: assigned === undefined ? {} : { configSource: source(assigned) },
    status: lastKnownGood === undefined ? {} : { config: { lastKnownGood: source(lastKnownGood) } },
  };
}

const facts = (
  granted: Record<string, string[]> = {},
  labelled = ['kube-system/one', 'kube-system/two'],
  absent: Record<string, number> = {},
): GrantFacts => ({
  nodeAbsentMs: (name) => absent[name],
  namespaces: ['kube-system', 'relet-system'],
  isLabelled: (key) => labelled.includes(key),
  isGranted: (key, node) => granted[key]?.includes(node) ?? false,
});

describe('grants', () => {
  test.each<[string, NodeConfig[], GrantFacts, string[]]>([
    ['a ConfigMap that no node is assigned is granted to none', [nodeConfig('a'), nodeConfig('b', 'two')], facts(), []],
    [
      'nodes that are assigned a ConfigMap are granted it',
      [nodeConfig('b', 'one'), nodeConfig('a', 'one'), nodeConfig('c', 'two')],
      facts(),
      ['a', 'b'],
    ],
    [
      'a node that may fall back to a ConfigMap keeps the grant',
      [nodeConfig('a', 'two', 'one')],
      facts({ 'kube-system/one': ['a'] }),
      ['a'],
    ],
    [
      'a node that only names a ConfigMap in its status is not granted it',
      [nodeConfig('a', 'two', 'one')],
      facts(),
      [],
    ],
    [
      'a node that no longer refers to a ConfigMap loses the grant',
      [nodeConfig('a', 'two', 'two')],
      facts({ 'kube-system/one': ['a'] }),
      [],
    ],
    ['a NodeConfig without a Node is granted nothing', [nodeConfig('a', 'one')], facts({}, undefined, { a: 0 }), []],
    [
      'a deleted Node keeps the grant during the grace period',
      [nodeConfig('a', 'one')],
      facts({ 'kube-system/one': ['a'] }, undefined, { a: nodeGraceMs - 1 }),
      ['a'],
    ],
    [
      'a Node that is absent for longer loses the grant',
      [nodeConfig('a', 'one')],
      facts({ 'kube-system/one': ['a'] }, undefined, { a: nodeGraceMs }),
      [],
    ],
    ['a node whose NodeConfig was deleted loses the grant', [], facts({ 'kube-system/one': ['a'] }), []],
    [
      'a ConfigMap without the label is granted to none',
      [nodeConfig('a', 'one')],
      facts({ 'kube-system/one': ['a'] }, []),
      [],
    ],
  ])('%s', (_what, nodeConfigs, given, expected) => {
    const plan = planGrant('kube-system/one', nodeConfigs, given);
    expect(plan.kind === 'grant' ? plan.nodes : []).toEqual(expected);
    expect(plan.kind).toBe(expected.length === 0 ? 'revoke' : 'grant');
  });

  test('the grant of an absent Node is reconciled again when its grace period ends', () => {
    const given = facts({ 'kube-system/one': ['a'] }, undefined, { a: nodeGraceMs - 5000 });
    expect(planGrant('kube-system/one', [nodeConfig('a', 'one')], given)).toEqual({
      kind: 'grant',
      nodes: ['a'],
      requeueAfterMs: 5000,
    });
  });

  test('the condition of a NodeConfig without a Node has the reason NoNode', () => {
    expect(grantedCondition(nodeConfig('a', 'one'), facts({}, undefined, { a: 0 }))).toMatchObject({
      status: 'False',
      reason: 'NoNode',
      message: 'ConfigMap kube-system/one is not granted: there is no Node a',
    });
  });

  test('a ConfigMap in a namespace that is not configured is never granted', () => {
    const elsewhere = { ...nodeConfig('a'), spec: { configSource: source('one', 'default') } };
    const given = facts({}, ['default/one']);
    expect(planGrant('default/one', [elsewhere], given)).toEqual({ kind: 'none' });
    expect(grantedCondition(elsewhere, given)).toMatchObject({
      status: 'False',
      reason: 'NamespaceNotAllowed',
      message: expect.stringContaining('--config-namespaces'),
    });
  });
});

const names = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `node-${from + index}`);
const sets = (shards: readonly string[][]) => shards.map((shard) => new Set(shard));

describe('shards of a grant', () => {
  test('15,000 nodes with the longest names fit into bindings that etcd takes', () => {
    const nodes = names(15_000).map((name) => name.padEnd(253, 'x'));
    const shards = shardsOf([], nodes);
    expect(shards).toHaveLength(30);
    const configMap = { namespace: 'relet-system', name: 'c'.repeat(253), uid: 'u'.repeat(36) };
    for (const [index, shard] of shards.entries())
      expect(JSON.stringify(grantBinding(configMap, index, shard)).length).toBeLessThan(400_000);
    expect(new Set(shards.flat())).toEqual(new Set(nodes));
  });

  test('a batch of 100 more nodes changes one shard, or two at an edge', () => {
    const before = shardsOf([], names(2450));
    const after = shardsOf(sets(before), names(2550));
    const changed = after.filter((shard, index) => shard.join() !== before[index]?.join());
    expect(changed).toHaveLength(2);
  });

  test('a node that is granted nothing any more leaves a gap, which the next one fills', () => {
    const before = shardsOf([], names(2 * shardSize));
    const without = shardsOf(sets(before), names(2 * shardSize).slice(1));
    expect(without.map(({ length }) => length)).toEqual([shardSize - 1, shardSize]);
    const again = shardsOf(sets(without), [...names(2 * shardSize).slice(1), 'new']);
    expect(again.map(({ length }) => length)).toEqual([shardSize, shardSize]);
    expect(again[0]).toContain('new');
  });

  test('with nobody left the shards stay, and are empty', () => {
    expect(shardsOf(sets(shardsOf([], names(600))), [])).toEqual([[], []]);
  });

  test('the ConfigMap is known from the name of each shard', () => {
    for (const shard of [0, 1, 29]) expect(grantedConfigMap(grantName('gpu-abc', shard))).toBe('gpu-abc');
    expect(grantedConfigMap('other')).toBeUndefined();
  });
});
