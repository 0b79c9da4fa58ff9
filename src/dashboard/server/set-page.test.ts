/** The buttons of a set, and the commands that they show. */
import { expect, test } from 'vitest';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { setActions } from './set-page.js';

test('abort, retry and undo name the revision that is rolled out', () => {
  const set: NodeConfigSet = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec: { selector: {}, config: { overlay: { maxPods: 150 } } },
    status: { updateRevision: 'r2', currentRevision: 'r1', updatedNodes: 1, failedNodes: 1 },
  };
  expect(setActions(set, { steerSets: true, changeSets: false }).map(({ command }) => command)).toEqual([
    'relet rollout abort gpu --revision r2',
    'relet rollout retry gpu --revision r2',
    'relet rollout undo gpu --revision r2',
  ]);
});
