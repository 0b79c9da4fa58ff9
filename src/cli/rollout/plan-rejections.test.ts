/** Nodes that would reject the config of a set, known before it is applied. */
import { expect, test } from 'vitest';
import type { NodeConfigSet, SetConfig } from '../../api/node-config-set.js';
import { setNode } from '../../rollout/members.js';
import { payloadOf } from '../../rollout/revision.js';
import { planRejections } from './plan-rejections.js';

function rejectionsOf(config: SetConfig, names: string[], { olderSets = [] }: { olderSets?: string[] } = {}) {
  const set: NodeConfigSet = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec: { selector: {}, config },
  };
  const members = names.map((name) => {
    const cluster = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { conditions: [], nodeInfo: { kubeletVersion: 'v1.33.1' } },
    };
    return { node: setNode({ set: 'gpu', node: cluster, object: undefined, olderSets }), cluster, object: undefined };
  });
  return planRejections(set, payloadOf(config)!, members);
}

test('a config that passes validation and stops the kubelet at its start is rejected by every node', async () => {
  const [found, ...more] = await rejectionsOf({ overlay: { evictionHard: { 'memory.available': '500MB' } } }, [
    'a',
    'b',
  ]);
  expect(more).toEqual([]);
  expect(found).toMatchObject({ nodes: ['a', 'b'], kubeletVersion: 'v1.33.1', reason: 'StartWouldFail' });
});

test.each<[string, SetConfig, string[], object]>([
  ['no node is Ready', { overlay: { maxPodz: 200 } }, ['a'], {}],
  ['no node is selected', { overlay: { maxPodz: 200 } }, [], {}],
  ['another set has every node', { overlay: { maxPodz: 200 } }, ['a'], { olderSets: ['blue'] }],
  ['the config is a whole one', { whole: { maxPodz: 200 } }, ['a'], {}],
])('an unknown field is an error where %s', async (_name, config, names, more) => {
  const found = await rejectionsOf(config, names, more);
  expect(found).toMatchObject([{ nodes: names, reason: 'ParseFailed' }]);
  expect(found[0]!.message).toContain('maxPodz');
});

test('a config that every node accepts is rejected by none', async () => {
  expect(await rejectionsOf({ overlay: { maxPods: 200 } }, ['a'])).toEqual([]);
});
