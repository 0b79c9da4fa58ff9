/** Grants of one ConfigMap for thousands of nodes: shards that fit into an object, and few of them change at a time. */
import { describe, expect, test } from 'vitest';
import { grantBinding, grantedConfigMap, grantName, shardSize, shardsOf } from './grant-objects.js';

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
