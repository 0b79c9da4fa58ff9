/** What a person reads about a set before it is applied: the waves of plan(), on a terminal of 80 columns. */
import { expect, test } from 'vitest';
import type { NodeConfigSetSpec } from '../../api/node-config-set.js';
import type { SetNode } from '../../controller/set-nodes.js';
import { plan } from '../../controller/set-plan.js';
import { desiredRevision, payloadOf } from '../../controller/set-revision.js';
import { readRules } from '../../controller/set-spec.js';
import { createPaint } from '../terminal/terminal.js';
import { plannedWaves, type SetPlan } from './plan-set.js';
import { planObject, planText } from './plan-text.js';

const nowMs = Date.parse('2026-03-01T10:00:00Z');
const room = { columns: 80, width: 80, paint: createPaint(false) };
const node = (name: string, more: Partial<SetNode> = {}): SetNode => ({
  name,
  labels: {},
  createdAtMs: 0,
  isReady: true,
  isCordoned: false,
  isControlPlane: false,
  isPicked: false,
  previous: 'local',
  state: 'local',
  ...more,
});
const spec: NodeConfigSetSpec = {
  selector: { matchLabels: { pool: 'gpu' } },
  config: { overlay: { maxPods: 200 } },
  strategy: { waves: [{ nodes: 1, soak: '10m', approve: true }, { nodes: '25%' }, { nodes: '100%' }] },
};

function planned(nodes: SetNode[], more: Partial<SetPlan> = {}): SetPlan {
  const desired = desiredRevision('gpu', payloadOf(spec.config)!);
  const rules = readRules(spec);
  const decided = plan({ set: 'gpu', rules, state: {}, desired, nodes, nowMs });
  return {
    set: { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name: 'gpu' }, spec },
    revision: desired.revision,
    summary: desired.summary,
    decided,
    waves: plannedWaves(decided, rules, nowMs),
    stalled: undefined,
    changes: [],
    drains: { drains: [] },
    notShown: 0,
    withoutPolicies: false,
    withoutClaims: [],
    expectedMs: 2_400_000,
    ...more,
  };
}

const fleet = [
  node('control-1', { isControlPlane: true }),
  ...Array.from({ length: 8 }, (_, at) => node(`node-${at}`)),
  node('node-8', { isReady: false }),
  node('node-9', { blocked: { reason: 'OtherSet', message: 'it belongs to set blue' } }),
];

test('the waves have the nodes that the controller would take, control-plane nodes last', () => {
  const names = Object.fromEntries(planned(fleet).waves.map(({ wave, names: some }) => [wave, some]));
  // 9 nodes can be updated: 1, then 25% of 9 rounded up, then all.
  expect(names).toEqual({
    1: ['node-0'],
    2: ['node-1', 'node-2'],
    3: ['node-3', 'node-4', 'node-5', 'node-6', 'node-7', 'control-1'],
  });
  const { intent } = plan({
    set: 'gpu',
    rules: readRules(spec),
    state: {},
    desired: desiredRevision('gpu', payloadOf(spec.config)!),
    // One that is not Ready would use up maxUnavailable.
    nodes: fleet.filter(({ isReady }) => isReady),
    nowMs,
  }).state;
  expect(intent?.names).toEqual(['node-0']);
});

test('the page', () => {
  expect(planText(planned(fleet), room, { trialMs: 600_000 }).split('\n')).toEqual([
    'Set:         gpu',
    `Revision:    ${planned(fleet).revision}, sets maxPods: 200`,
    'Nodes:       11 selected (pool=gpu), 9 to change, 2 excluded',
    'Outcome:     would be rolled out in 3 waves',
    'Duration:    about 40m, with trials of 10m (--trial); approvals come on top',
    '',
    'Wave 1: 1 node, then a soak of 10m and approval',
    '    node-0',
    '',
    'Wave 2: 2 nodes',
    '    node-1, node-2',
    '',
    'Wave 3: 6 nodes',
    '    node-3, node-4, node-5, node-6, node-7, control-1',
    '',
    'Not changed for now:',
    '  - node-8, NotReady: it is not Ready',
    '  - node-9, OtherSet: it belongs to set blue',
  ]);
});

test('a set that would be stalled says why first, and has no duration', () => {
  const stalled = { kind: 'impact' as const, message: 'cpuManagerPolicy (StateFile) on node-0' };
  const text = planText(planned(fleet, { stalled }), room, { trialMs: 600_000 });
  expect(text).toMatch(/^Outcome: {5}would be stalled \(ImpactNotAccepted\)\./m);
  expect(text).not.toContain('Duration:');
  expect(planObject(planned(fleet, { stalled }))).toMatchObject({ stalled: { reason: 'ImpactNotAccepted' } });
});

test('of many names some are shown, and all are in the object for programs', () => {
  const many = Array.from({ length: 400 }, (_, at) => node(`node-${String(at).padStart(3, '0')}`));
  const text = planText(planned(many), room, { trialMs: 600_000 });
  expect(text.replace(/\s+/g, ' ')).toContain('… and 280 more, up to node-399');
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  const { waves } = planObject(planned(many)) as { waves: { nodes: string[] }[] };
  expect(waves.map(({ nodes }) => nodes.length)).toEqual([1, 99, 300]);
});

test('drains are shown with the pods that would move, and nodes that cannot be drained by name', () => {
  const why = 'pod default/web-1: PodDisruptionBudget web never allows an eviction: it wants 4 healthy of 4';
  const drains = [
    { node: 'node-0', pods: ['default/web-0', 'default/web-2'] },
    { node: 'node-1', pods: ['default/web-1'], undrainable: why },
  ];
  const text = planText(planned(fleet, { drains: { drains, mayDrain: true } }), room, { trialMs: 600_000 });
  expect(text.replace(/\s+/g, ' ')).toContain(
    'Drains: 2 nodes are drained first, 3 pods would move; 1 cannot be drained as things are and would be left out',
  );
  expect(text).toContain(
    'Wave 1: 1 node, then a soak of 10m and approval\n    node-0\n    1 node is drained first, 2 pods',
  );
  expect(text.replace(/\s+/g, ' ')).toContain(`Cannot be drained as things are: - node-1, ${why}`);
  const unknown = planText(planned(fleet, { drains: { drains: [{ node: 'node-0' }] } }), room, { trialMs: 600_000 });
  expect(unknown.replace(/\s+/g, ' ')).toContain('they could not be listed; whether the controller may drain');
});
