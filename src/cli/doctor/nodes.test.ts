/** What doctor makes of what nodes say, and of nodes that say nothing. */
import { describe, expect, test } from 'vitest';
import type { ConfiguredNode } from '../../kube/config-reference.js';
import { checkNodeConfigs, checkWarnings } from './nodes.js';

const node = (name: string, more: Partial<ConfiguredNode> = {}): ConfiguredNode => ({
  name,
  labels: {},
  createdAt: '',
  kubeletVersion: 'v1.32.1',
  ready: 'True',
  heartbeatAt: undefined,
  configSource: undefined,
  status: {},
  reports: true,
  condition: undefined,
  trialEndsAt: undefined,
  pinnedByFlags: undefined,
  warnings: [],
  agentVersion: undefined,
  history: undefined,
  version: '7',
  ...more,
});

describe('relet doctor', () => {
  test('tells what nodes warn of: the first of each, and how many more there are', () => {
    const warned = node('node-1', { warnings: ['clusterDomain is set in the local config and not in this one', 'b'] });
    expect(checkWarnings([node('node-0'), warned])).toEqual([
      {
        level: 'warning',
        what: 'node-1: clusterDomain is set in the local config and not in this one; and 1 more',
        remedy: expect.stringContaining('relet describe node-1'),
      },
    ]);
  });

  test('finds nodes for which no controller has made a NodeConfig', () => {
    expect(checkNodeConfigs([node('node-0')])).toEqual([]);
    const [found] = checkNodeConfigs([node('node-0'), node('node-1', { version: '' })]);
    expect(found).toMatchObject({ level: 'warning', what: expect.stringMatching(/no NodeConfig.*: node-1$/) });
  });
});
