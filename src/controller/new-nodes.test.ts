/** When a node that registered with the taint relet.dev/config-pending loses it. */
import { describe, expect, test } from 'vitest';
import type { NodeConfig } from '../api/node-config.js';
import { planNewNode } from './new-nodes.js';

const node = (...keys: string[]) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n' },
  spec: { taints: keys.map((key) => ({ key, effect: 'NoSchedule' })) },
});
const pending = node('other', 'relet.dev/config-pending');
const assigned = { configSource: { configMap: { namespace: 'relet-system', name: 'a', kubeletConfigKey: 'kubelet' } } };

function nodeConfig(
  reason: string,
  { status = 'True', observed = 2, spec = assigned as NodeConfig['spec'] } = {},
): NodeConfig {
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfig',
    metadata: { name: 'n', generation: 2 },
    ...(spec && { spec }),
    status: {
      observedGeneration: observed,
      conditions: [{ type: 'ConfigOK', status: status as 'True', reason, message: '', lastTransitionTime: '' }],
    },
  };
}

describe('a node with the taint', () => {
  test.each([
    ['runs the config that it is assigned', nodeConfig('ConfigActive')],
    ['runs its local config, which it is assigned', nodeConfig('LocalConfigActive', { spec: {} })],
  ])('that %s loses it', (_name, object) => {
    expect(planNewNode(pending, object)).toEqual({ kind: 'remove' });
  });

  const unset: NodeConfig = {
    ...nodeConfig('LocalConfigActive', { spec: {} }),
    metadata: { name: 'n', generation: 1, annotations: { 'relet.dev/unset': 'true' } },
  };
  test.each<[string, NodeConfig | undefined, string]>([
    ['has no NodeConfig yet', undefined, 'nothing is assigned'],
    ['was assigned nothing, and runs its local config', unset, 'nothing is assigned'],
    ['has not reported about this assignment', nodeConfig('ConfigActive', { observed: 1 }), 'has not reported'],
    ['is still switching', nodeConfig('ConfigPending'), 'ConfigPending'],
    ['rejected it', nodeConfig('ValidationFailed', { status: 'False' }), 'ValidationFailed'],
    ['has no condition', { ...nodeConfig(''), status: { observedGeneration: 2 } }, 'no condition ConfigOK'],
  ])('that %s keeps it', (_name, object, reason) => {
    expect(planNewNode(pending, object)).toEqual({ kind: 'hold', reason: expect.stringContaining(reason) });
  });
});

test('a node without the taint, and one that is gone, need nothing', () => {
  expect(planNewNode(node('other'), nodeConfig('ConfigActive'))).toEqual({ kind: 'none' });
  expect(planNewNode(undefined, nodeConfig('ConfigActive'))).toEqual({ kind: 'none' });
});
