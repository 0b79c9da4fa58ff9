/** When `relet up` calls a node Ready. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../api/object.js';
import { isReady } from './ready.js';

const since = Date.parse('2026-01-01T00:00:00Z');
const object = (parts: object) => parts as KubeObject;
const ready = { type: 'Ready', status: 'True' };
const node = object({ status: { conditions: [ready] } });
const lease = object({ spec: { renewTime: '2026-01-01T00:00:01Z' } });
const reporter = object({ status: { config: {} } });

test.each<[string, Partial<Parameters<typeof isReady>[0]>, boolean]>([
  ['Ready, renewed and reported', {}, true],
  ['the condition is False', { node: object({ status: { conditions: [{ ...ready, status: 'False' }] } }) }, false],
  ['there is no Node', { node: undefined }, false],
  ['the Lease is of an earlier start', { lease: object({ spec: { renewTime: '2025-12-31T23:59:59Z' } }) }, false],
  ['there is no Lease', { lease: undefined }, false],
  ['its NodeConfig is not made yet', { reporter: undefined }, false],
  ['nothing was reported about its config yet', { reporter: object({ status: { conditions: [] } }) }, false],
  [
    'it reports in a condition, as DKC alpha',
    { reporter: object({ status: { conditions: [{ type: 'ConfigOK' }] } }) },
    true,
  ],
])('a node is Ready only when it has reported about its config: %s', (_name, parts, expected) => {
  expect(isReady({ node, lease, reporter, ...parts }, since)).toBe(expected);
});
