/** The result of a change as programs read it. */
import { expect, test } from 'vitest';
import { configuredNode } from '../../../test/configured-node.js';
import type { NodeConfigSource } from '../../api/config-ref.js';
import type { Outcome } from './outcome.js';
import { changeResult, nextText, type Reason, resultText } from './outcome.js';

const to: NodeConfigSource = { configMap: { namespace: 'relet-system', name: 'b', kubeletConfigKey: 'kubelet' } };
const node = configuredNode('n');
const resultOf = (outcome: Outcome | undefined) =>
  changeResult({
    verb: 'set',
    changes: [{ node, to }],
    outcomes: new Map(outcome === undefined ? [] : [['n', outcome]]),
    dryRun: false,
  }).nodes[0]!;

test.each<[Outcome | undefined, string, Reason, string | undefined]>([
  [{ kind: 'active', trialPassed: true }, 'active', 'Active', undefined],
  [{ kind: 'active', trialPassed: false }, 'trial', 'OnTrial', undefined],
  [{ kind: 'assigned' }, 'waiting', 'Assigned', undefined],
  [{ kind: 'rejected', error: 'no', reported: node, cause: 'port' }, 'rejected', 'Rejected', 'no: port'],
  [{ kind: 'rolled back', error: 'no', reported: node }, 'rolled back', 'RolledBack', 'no'],
  [{ kind: 'cannot follow', error: 'gone', reported: node }, 'waiting', 'CannotFollow', 'gone'],
  [{ kind: 'timed out' }, 'waiting', 'TimedOut', undefined],
  [{ kind: 'interrupted' }, 'waiting', 'Interrupted', undefined],
  [{ kind: 'not followed' }, 'waiting', 'NotFollowed', undefined],
  [{ kind: 'unknown', error: 'no answer' }, 'unknown', 'AssignmentUnknown', 'no answer'],
  [undefined, 'local', 'NotChanged', undefined],
])('%j', (outcome, state, reason, message) => {
  expect(resultOf(outcome)).toEqual({
    node: 'n',
    from: 'local',
    to: 'relet-system/b/kubelet',
    state,
    reason,
    ...(message !== undefined && { message }),
  });
});

test('a reset that is done is local', () => {
  const changes = [{ node, to: undefined }];
  const outcomes = new Map<string, Outcome>([['n', { kind: 'active', trialPassed: true }]]);
  expect(changeResult({ verb: 'reset', changes, outcomes, dryRun: false }).nodes[0]).toMatchObject({
    to: 'local',
    state: 'local',
    reason: 'Active',
  });
});

test('names are those of the nodes that are done, and of those that had it already', () => {
  const changes = ['b', 'c'].map((name) => ({ node: configuredNode(name), to }));
  const outcomes = new Map<string, Outcome>([
    ['b', { kind: 'active', trialPassed: false }],
    ['c', { kind: 'timed out' }],
  ]);
  const unchanged = [configuredNode('a', { configSource: to })];
  const result = changeResult({ verb: 'assign', changes, outcomes, unchanged, dryRun: false });
  expect(result.nodes.map(({ node, reason }) => [node, reason])).toEqual([
    ['a', 'AlreadyAssigned'],
    ['b', 'OnTrial'],
    ['c', 'TimedOut'],
  ]);
  expect(resultText(result, 'name')).toBe('node/a\nnode/b');
  expect(JSON.parse(resultText(result, 'json'))).toEqual(result);
});

test('after a change by somebody else no undo is advised, which would take back theirs', () => {
  expect(nextText('n', { kind: 'changed' } as Outcome)).toBe(
    "'relet history n'; an undo would now take back the newer change",
  );
  expect(nextText('n', { kind: 'timed out' })).toBe("'relet describe n'; 'relet undo n' takes the change back");
});
