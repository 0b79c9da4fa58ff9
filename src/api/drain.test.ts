/** The mark on a Node that is drained, and whose cordon it is. */
import { expect, test } from 'vitest';
import { drainAnnotation, drainMarkOf, isOwnCordon, readDrainMark } from './drain.js';
import type { KubeObject } from './object.js';

const mark = { set: 'gpu', revision: '1f0c', state: 'Draining', at: '2026-01-01T00:00:00Z' } as const;

function node(unschedulable: boolean, annotation: string | undefined, managers?: string[]): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'node-1',
      annotations: annotation === undefined ? {} : { [drainAnnotation]: annotation },
      ...(managers && {
        managedFields: managers.map((manager) => ({ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } })),
      }),
    },
    spec: { unschedulable },
  };
}

test('a mark is read as it was written, and anything else is not a mark', () => {
  expect(drainMarkOf(node(true, JSON.stringify(mark)))).toEqual(mark);
  for (const text of [undefined, '', '{', 'null', '{"set":"gpu"}', JSON.stringify({ ...mark, state: 'Paused' })])
    expect(readDrainMark(text)).toBeUndefined();
});

test.each<[string, KubeObject, boolean]>([
  ['ours', node(true, JSON.stringify(mark)), true],
  ['ours, as the API server has it too', node(true, JSON.stringify(mark), ['relet-controller']), true],
  ['of somebody without a mark', node(true, undefined), false],
  ['lifted by somebody', node(false, JSON.stringify(mark)), false],
  ['lifted and set again by kubectl', node(true, JSON.stringify(mark), ['kubectl']), false],
  ['ours, and of somebody who applied it too', node(true, JSON.stringify(mark), ['relet-controller', 'git']), false],
  ['of somebody before us', node(true, JSON.stringify({ ...mark, foundCordoned: true })), false],
  ['on a node that only waits', node(true, JSON.stringify({ ...mark, state: 'Waiting' })), false],
])('whose cordon it is: %s', (_name, one, own) => {
  expect(isOwnCordon(one)).toBe(own);
});
