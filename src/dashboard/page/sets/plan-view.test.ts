/** Plans of rollouts as the page groups them. */
import { expect, test } from 'vitest';
import { changeGroups, podsText, type RolloutPlan } from './plan-view.js';

const changes = [{ path: 'maxPods', from: 110, to: 150, needs: 'restart', why: 'Read at start.' }];

test('nodes that change in the same way are one group, the largest first', () => {
  const nodes = [
    { node: 'a', needs: 'drain', changes: [{ ...changes[0]!, needs: 'drain' }] },
    { node: 'b', needs: 'restart', changes },
    { node: 'c', needs: 'restart', changes },
  ];
  const plan = { revision: 'r', summary: '', selected: 3, excluded: [], waves: [], nodes } satisfies RolloutPlan;
  expect(changeGroups(plan).map(({ names, needs }) => [names, needs])).toEqual([
    [['b', 'c'], 'restart'],
    [['a'], 'drain'],
  ]);
});

test('the effect on running pods is a sentence', () => {
  expect(podsText({ kind: 'unaffected' })).toBe('Running pods are not affected.');
  expect(podsText({ kind: 'fail admission', pods: [1, 2] })).toContain('2 running pods will fail');
});
