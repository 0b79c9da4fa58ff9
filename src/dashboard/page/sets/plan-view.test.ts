/** Plans of rollouts as the page groups them. */
import { expect, test } from 'vitest';
import type { RolloutPlanNode } from '../../wire.js';
import { changeGroups } from './plan-view.js';

const unaffected = { kind: 'unaffected' } as const;
const node = (name: string, impact: 'restart' | 'drain'): RolloutPlanNode => ({
  node: name,
  needs: [],
  impact,
  pods: unaffected,
  changes: [{ path: 'maxPods', from: 110, to: 150, needs: impact, why: 'Read at start.', pods: unaffected }],
});

test('nodes that change in the same way are one group, the largest first', () => {
  const groups = changeGroups([node('a', 'drain'), node('b', 'restart'), node('c', 'restart')]);
  expect(groups.map(({ names, difference }) => [names, difference?.impact])).toEqual([
    [['b', 'c'], 'Impact: kubelet restart. Running pods are not affected.'],
    [['a'], expect.stringMatching(/^Impact: drain\. The node must be empty: .* Running pods are not affected\.$/)],
  ]);
});

test('a node whose difference is not known has no impact, and a note that says why', () => {
  expect(changeGroups([{ node: 'a', needs: [], notes: ['what it runs is not known'] }])).toEqual([
    { names: ['a'], difference: undefined, notes: ['what it runs is not known'] },
  ]);
});
