/** Which nodes have the revision that their set wants, and which are only not changed yet. */

import { describe, expect, test } from 'vitest';
import { configuredNode } from '../../test/configured-node.js';
import { parseRef } from '../api/config-ref.js';
import type { NodeConfigSet, NodeConfigSetSpec, NodeConfigSetStatus } from '../api/node-config-set.js';
import type { ConfiguredNode } from '../fleet/configured-node.js';
import { outdatedBy } from './target.js';

const source = (revision: string) => ({
  configMap: { namespace: 'relet-system', name: `gpu-${revision}`, kubeletConfigKey: 'kubelet' },
});

/** A node of pool gpu; with a revision, one that the set has given it. */
function node(revision?: string, change: Partial<ConfiguredNode> = {}): ConfiguredNode {
  const claim = { set: 'gpu', wave: 1, at: '2026-03-01T12:00:00Z', previous: undefined };
  return configuredNode('n', {
    labels: { pool: 'gpu' },
    ...(revision && {
      configSource: source(revision),
      claim: { ...claim, revision, source: parseRef(`relet-system/gpu-${revision}/kubelet`) },
    }),
    ...change,
  });
}

/** A node that a set gave a config and let go. */
function letGo(revision: string, configSource = source(revision)): ConfiguredNode {
  const { claim } = node(revision);
  return node(undefined, { configSource, claim: { ...claim!, set: 'deleted', released: true } });
}

function set(status: NodeConfigSetStatus, spec: Partial<NodeConfigSetSpec> = {}): NodeConfigSet {
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', creationTimestamp: '2026-03-01T10:00:00Z' },
    spec: { selector: { matchLabels: { pool: 'gpu' } }, config: { overlay: {} }, ...spec },
    status,
  } as NodeConfigSet;
}

const isOutdated = (one: NodeConfigSet, of: ConfiguredNode) => outdatedBy([one])(of);

describe('in the middle of a rollout', () => {
  const rolling = set({ currentRevision: 'a', updateRevision: 'b' });

  test.each<[string, ConfiguredNode, boolean]>([
    ['has the new revision', node('b'), false],
    ['has the old revision', node('a'), true],
    ['is selected, and was never given anything', node(), true],
    ['is not selected', configuredNode('n', { labels: { pool: 'cpu' } }), false],
    ['was assigned another config by a person', node('a', { configSource: source('x') }), false],
    [
      'was assigned its config by a person before there was a set',
      node(undefined, { configSource: source('x') }),
      false,
    ],
    ['still has the config of a set that was deleted, which let it go', letGo('x'), true],
    ['was let go by a set, and assigned another config by a person', letGo('x', source('y')), false],
  ])('a node that %s', (_what, one, expected) => {
    expect(isOutdated(rolling, one)).toBe(expected);
  });
});

test('after an undo the revision before is wanted, and without one any but the rejected one', () => {
  const undone = set({ currentRevision: 'a', updateRevision: 'b', rejectedRevision: 'b' });
  expect(['a', 'b'].map((revision) => isOutdated(undone, node(revision)))).toEqual([false, true]);
  const first = set({ updateRevision: 'b', rejectedRevision: 'b' });
  expect([node('b'), node('previous'), node()].map((one) => isOutdated(first, one))).toEqual([true, false, false]);
});

test('nodes that updateNodes leaves alone have what the set wants', () => {
  const revisions = [{ revision: 'b', startedAt: '2026-03-01T11:00:00Z' }] as NodeConfigSetStatus['revisions'];
  const status = { currentRevision: 'a', updateRevision: 'b', ...(revisions && { revisions }) };
  const [before, after] = ['2026-03-01T09:00:00Z', '2026-03-01T11:30:00Z'].map((createdAt) => node('a', { createdAt }));
  expect([before!, after!].map((one) => isOutdated(set(status, { updateNodes: 'New' }), one))).toEqual([false, true]);
  const picked = node('a', { labels: { pool: 'gpu', 'relet.dev/update': 'gpu' } });
  const selected = set(status, { updateNodes: 'Selected' });
  expect([node('a'), picked].map((one) => isOutdated(selected, one))).toEqual([false, true]);
});
