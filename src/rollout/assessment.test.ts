/** How far a rollout is, where the counts alone would say something else than what is so. */
import { expect, test } from 'vitest';
import type { NodeConfigSetStatus } from '../api/node-config-set.js';
import { completionText } from './assessment.js';

const revision = (outcome?: 'Aborted' | 'Undone') =>
  [{ revision: 'b', source: '', startedAt: '', ...(outcome && { outcome }) }] as NodeConfigSetStatus['revisions'];
const rejected = (outcome: 'Aborted' | 'Undone', more: NodeConfigSetStatus = {}): NodeConfigSetStatus => ({
  selectedNodes: 8,
  updateRevision: 'b',
  rejectedRevision: 'b',
  revisions: revision(outcome)!,
  ...more,
});

test.each<[string, NodeConfigSetStatus, string | undefined]>([
  ['before the controller has counted', {}, undefined],
  ['under way', { selectedNodes: 40, updatedNodes: 12, inTrialNodes: 3 }, '30%: 12 of 40 nodes updated, 3 in trial'],
  ['with all nodes excluded', { selectedNodes: 8, excludedNodes: 8 }, 'no node to update, 8 excluded'],
  ['without a node selected', { selectedNodes: 0 }, 'no node to update'],
  ['undone', rejected('Undone'), 'no node has it any more'],
  ['being undone', rejected('Undone', { updatedNodes: 2, rollingBack: true }), '2 of 8 nodes still have it'],
  [
    'undone, nodes not yet back',
    rejected('Undone', { rollingBack: true }),
    'no node has it any more, the last ones are still returning',
  ],
  ['aborted', rejected('Aborted', { updatedNodes: 3, failedNodes: 1 }), '4 of 8 nodes have it and keep it'],
])('a rollout %s', (_what, status, text) => {
  expect(completionText(status)).toBe(text);
});
