/** What doctor makes of what nodes say, and of nodes that say nothing. */
import { describe, expect, test } from 'vitest';
import { configuredNode as node } from '../../../test/configured-node.js';
import { checkNodeConfigs, checkWarnings } from './nodes.js';

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
