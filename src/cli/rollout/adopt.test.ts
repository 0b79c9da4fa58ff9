/** Which nodes are adopted without being named. */
import { expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import { parseRef } from '../../api/config-ref.js';
import { adoptable } from './adopt.js';

test('a node that another set has let go is adopted only by name: no person has changed it', () => {
  const configSource = { configMap: { namespace: 'relet-system', name: 'web-1', kubeletConfigKey: 'kubelet' } };
  const claim = {
    set: 'web',
    revision: '1',
    source: parseRef('relet-system/web-1/kubelet'),
    wave: 1,
    at: '2026-03-01T12:00:00Z',
    previous: undefined,
    released: true as const,
  };
  const nodes = [
    configuredNode('local'),
    configuredNode('by-hand', { configSource }),
    configuredNode('let-go', { configSource, claim }),
  ];
  const names = (...words: string[]) => adoptable(nodes, 'gpu', words).map(({ name }) => name);
  expect(names()).toEqual(['by-hand']);
  expect(names('let-go')).toEqual(['let-go']);
});
