/** Who is granted which ConfigMap: by assignment, kept for a fallback, and never by a node's own word. */
import { describe, expect, test } from 'vitest';
import type { NodeConfig } from '../api/node-config.js';
import { type GrantFacts, grantedCondition, nodeGraceMs, nodesToGrant } from './grants.js';

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
  gone: Record<string, number> = {},
): GrantFacts => ({
  nodeGoneMs: (name) => gone[name],
  namespaces: ['kube-system', 'relet-system'],
  isLabelled: (key) => labelled.includes(key),
  granted: (key) => new Set(granted[key] ?? []),
});

describe('grants', () => {
  test.each<[string, NodeConfig[], GrantFacts, string[]]>([
    ['nobody is assigned it', [nodeConfig('a'), nodeConfig('b', 'two')], facts(), []],
    [
      'those who are assigned it',
      [nodeConfig('b', 'one'), nodeConfig('a', 'one'), nodeConfig('c', 'two')],
      facts(),
      ['a', 'b'],
    ],
    [
      'one that may fall back to it keeps it',
      [nodeConfig('a', 'two', 'one')],
      facts({ 'kube-system/one': ['a'] }),
      ['a'],
    ],
    ['one that only says so does not get it', [nodeConfig('a', 'two', 'one')], facts(), []],
    ['one that names it no longer loses it', [nodeConfig('a', 'two', 'two')], facts({ 'kube-system/one': ['a'] }), []],
    ['a name without a Node does not get it', [nodeConfig('a', 'one')], facts({}, undefined, { a: 0 }), []],
    [
      'a Node that is gone keeps it for a while, to register again',
      [nodeConfig('a', 'one')],
      facts({ 'kube-system/one': ['a'] }, undefined, { a: nodeGraceMs - 1 }),
      ['a'],
    ],
    [
      'a Node that is gone for longer loses it',
      [nodeConfig('a', 'one')],
      facts({ 'kube-system/one': ['a'] }, undefined, { a: nodeGraceMs }),
      [],
    ],
    ['a node whose NodeConfig is gone loses it', [], facts({ 'kube-system/one': ['a'] }), []],
    ['without the label nobody has it', [nodeConfig('a', 'one')], facts({ 'kube-system/one': ['a'] }, []), []],
  ])('%s', (_what, nodeConfigs, given, expected) => {
    expect(nodesToGrant('kube-system/one', nodeConfigs, given)).toEqual(expected);
  });

  test('a name without a Node is told why nothing is granted', () => {
    expect(grantedCondition(nodeConfig('a', 'one'), facts({}, undefined, { a: 0 }))).toMatchObject({
      status: 'False',
      reason: 'NoNode',
      message: 'ConfigMap kube-system/one is not granted: there is no Node a',
    });
  });

  test('a namespace that is not configured is never granted', () => {
    const elsewhere = { ...nodeConfig('a'), spec: { configSource: source('one', 'default') } };
    const given = facts({}, ['default/one']);
    expect(nodesToGrant('default/one', [elsewhere], given)).toEqual([]);
    expect(grantedCondition(elsewhere, given)).toMatchObject({
      status: 'False',
      reason: 'NamespaceNotAllowed',
      message: expect.stringContaining('--config-namespaces'),
    });
  });
});
