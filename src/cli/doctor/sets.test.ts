/** Diagnoses about sets. */
import { expect, test } from 'vitest';
import type { NodeConfigSet, NodeConfigSetStatus } from '../../api/node-config-set.js';
import { diagnoseSets } from './sets.js';

const set = (status: NodeConfigSetStatus, name = 'gpu'): NodeConfigSet => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name, generation: 1 },
  spec: { selector: {}, config: {} },
  status: { observedGeneration: 1, ...status },
});
const condition = (type: string, reason: string, message: string) => ({
  type,
  status: 'True' as const,
  reason,
  message,
  lastTransitionTime: '2026-03-01T10:00:00Z',
});
const ready = condition('Ready', 'RolloutComplete', 'All is done.');

test('sets that are complete or progressing are well, and none are nothing to report', () => {
  const progressing = set({ conditions: [condition('Reconciling', 'RollingOut', '')] }, 'blue');
  expect(diagnoseSets([set({ conditions: [ready] }), progressing])).toEqual([
    { level: 'ok', what: 'the 2 sets are complete or progressing' },
  ]);
  expect(diagnoseSets([])).toEqual([]);
});

test('a set that has stopped is an error, with the way on', () => {
  const [found] = diagnoseSets([set({ conditions: [condition('Stalled', 'Halted', 'node-1 failed.')] })]);
  expect(found).toMatchObject({ level: 'error', what: 'set gpu has stopped (Halted): node-1 failed.' });
  expect(found!.remedy).toContain("'relet rollout undo gpu' takes it back");
});

test('a set that somebody aborted or undid is a warning', () => {
  const [found] = diagnoseSets([set({ conditions: [condition('Stalled', 'Undone', 'Somebody undid it.')] })]);
  expect(found).toMatchObject({ level: 'warning', what: 'set gpu has stopped (Undone): Somebody undid it.' });
});

test('a set that the controller does not follow is reported', () => {
  const [found] = diagnoseSets([set({ observedGeneration: 0, conditions: [ready] })]);
  expect(found).toMatchObject({ level: 'warning', what: expect.stringContaining('has not seen its newest spec') });
});

test('a selector on a label that a kubelet may set on itself is a warning', () => {
  const warning = condition('SelectorWarning', 'NodeMaySetLabel', 'The selector uses pool.');
  expect(diagnoseSets([set({ conditions: [ready, warning] })])).toEqual([
    {
      level: 'warning',
      what: 'set gpu: The selector uses pool.',
      remedy: expect.stringContaining('node-restriction.kubernetes.io'),
    },
  ]);
});

test.each([
  ['OtherSet', 'another set has', "'relet rollout adopt gpu node-1'"],
  ['TakenFromSet', 'taken from the set gpu by hand', "'relet release node-1'"],
  ['AssignedByHand', 'was assigned by hand', "'relet rollout adopt gpu' gives them"],
])('a node that is excluded as %s is named, with the remedy', (reason, what, remedy) => {
  const [found] = diagnoseSets([set({ conditions: [ready], excluded: [{ name: 'node-1', reason }] })]);
  expect(found!.what).toContain(what);
  expect(found!.what).toContain('node-1');
  expect(found!.remedy).toContain(remedy);
});
