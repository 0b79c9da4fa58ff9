/** The buttons of a set, and the commands that they show. */
import { expect, test } from 'vitest';
import type { NodeConfigSet, WaveState } from '../../api/node-config-set.js';
import { summaryOf } from './row.js';
import { setActions } from './set-page.js';

test('abort, retry and undo name the revision that is rolled out; one that has stopped cannot be paused', () => {
  const set: NodeConfigSet = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', generation: 1 },
    spec: { selector: {}, config: { overlay: { maxPods: 150 } } },
    status: { updateRevision: 'r2', currentRevision: 'r1', updatedNodes: 1, failedNodes: 1 },
  };
  expect(setActions(set, { steerSets: true, changeSets: false }).map(({ command }) => command)).toEqual([
    'relet rollout retry gpu --revision r2',
    'relet rollout undo gpu --revision r2',
    'relet rollout abort gpu --revision r2',
  ]);
  const at = '2026-03-01T10:00:00Z';
  const halted = { type: 'Stalled', status: 'True', reason: 'Halted', message: '', lastTransitionTime: at } as const;
  const verbs = (conditions: (typeof halted)[]) =>
    setActions(
      { ...set, status: { ...set.status, observedGeneration: 1, conditions } },
      { steerSets: false, changeSets: true },
    );
  expect(verbs([]).map(({ verb }) => verb)).toEqual(['pause']);
  expect(verbs([halted])).toEqual([]);
});

test('the approval of a canary before an empty wave says that all other nodes follow', () => {
  const wave = (number: number, nodes: number, assigned: number, state: WaveState) => {
    return { wave: number, nodes, assigned, updated: assigned, failed: 0, state };
  };
  const set: NodeConfigSet = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec: {
      selector: {},
      config: { overlay: { maxPods: 150 } },
      strategy: { waves: [{ nodes: 1, approve: true }, { nodes: '10%' }, { nodes: '100%' }] },
    },
    status: {
      updateRevision: 'r2',
      waves: [wave(1, 1, 1, 'AwaitingApproval'), wave(2, 1, 0, 'Pending'), wave(3, 10, 0, 'Pending')],
    },
  };
  const [approve] = setActions(set, { steerSets: true, changeSets: false });
  expect(approve).toEqual({
    verb: 'approve',
    command: 'relet rollout approve gpu --revision r2 --wave 1',
    wave: 1,
    follows: '9 nodes will change in wave 3. Then the rollout is complete. Wave 2 has no nodes and is skipped.',
  });
});

test.each([
  ['has halted', 'Stalled', 'Halted', '2026-03-01T10:05:00Z'],
  ['is paused', 'Reconciling', 'Paused', '2026-03-01T10:04:00Z'],
  ['waits for an approval, after its soak', 'Reconciling', 'AwaitingApproval', '2026-03-01T10:12:00Z'],
  ['rolls out', 'Reconciling', 'RollingOut', undefined],
])('a summary of a set that %s shows since when', (_name, type, reason, since) => {
  const [at, updateRevision] = ['2026-03-01T10:00:00Z', 'r2'];
  const condition = { type: type as 'Stalled', status: 'True' as const, reason, message: '', lastTransitionTime: at };
  const waiting = { wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'AwaitingApproval' as const };
  const set: NodeConfigSet = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu', generation: 1 },
    spec: {
      selector: {},
      config: {},
      strategy: { waves: [{ nodes: 1, soak: '10m', approve: true }, { nodes: '100%' }] },
    },
    status: {
      observedGeneration: 1,
      updateRevision,
      conditions: [condition],
      waves: [{ ...waiting, endedAt: '2026-03-01T10:02:00Z' }],
      steps: [
        { at: '2026-03-01T10:05:00Z', step: 'Halted', revision: updateRevision },
        { at: '2026-03-01T10:04:00Z', step: 'Paused', revision: updateRevision },
        { at: '2026-03-01T10:01:00Z', step: 'Halted', revision: 'r1' },
      ],
    },
  };
  expect(summaryOf(set, Date.parse(at)).since).toBe(since === undefined ? 0 : Date.parse(since));
});
