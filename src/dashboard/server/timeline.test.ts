/** The timeline: what one party did to many nodes is one change. */
import { expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import { timelineOf } from './timeline.js';

const entry = (minute: number, more: object = {}) => ({
  revision: 1,
  at: new Date(Date.UTC(2026, 2, 1, 12, minute)).toISOString(),
  by: 'set/gpu',
  verb: 'rollout',
  from: 'local',
  to: 'relet-system/cfg/kubelet',
  ...more,
});
const node = (name: string, ...entries: object[]) => configuredNode(name, { history: JSON.stringify(entries) });
const all = { from: 0, to: Date.UTC(2026, 2, 2) };

test('the batches of a wave are one change, with the nodes that failed', () => {
  const nodes = [node('a', entry(0)), node('b', entry(5, { failed: 'rolled back: x' })), node('c', entry(12))];
  expect(timelineOf(nodes, all).changes).toEqual([
    {
      at: Date.UTC(2026, 2, 1, 12, 12),
      by: 'set/gpu',
      verb: 'rollout',
      from: 'local',
      to: 'cfg',
      set: 'gpu',
      nodes: 3,
      names: ['a', 'b', 'c'],
      failed: 1,
    },
  ]);
});

test('the same change an hour later, and one of somebody else, are changes of their own, newest first', () => {
  const nodes = [node('a', entry(59, { by: 'ann', verb: 'undo' }), entry(0)), node('b', entry(58))];
  expect(timelineOf(nodes, all).changes.map(({ by, nodes: count }) => `${by} ${count}`)).toEqual([
    'ann (unverified) 1',
    'set/gpu 1',
    'set/gpu 1',
  ]);
});

test('what is outside of the time, and a history that is not one, are left out', () => {
  const nodes = [node('a', entry(0)), configuredNode('b', { history: '{"__proto__":1' })];
  expect(timelineOf(nodes, { from: Date.UTC(2026, 2, 1, 13), to: all.to }).changes).toEqual([]);
});

test('a node that has just rolled back counts as failed, before the controller has recorded it', () => {
  const configMap = { namespace: 'relet-system', name: 'cfg', kubeletConfigKey: 'kubelet' };
  const crashed = configuredNode('a', {
    history: JSON.stringify([entry(0)]),
    configSource: { configMap },
    status: { assigned: { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } }, error: 'failed' },
    condition: { status: 'False', reason: 'CrashLoop', message: '', since: '' },
  });
  expect(timelineOf([crashed], all).changes).toMatchObject([{ nodes: 1, failed: 1 }]);
});
