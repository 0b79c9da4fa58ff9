/** The preview of a set: the waves of plan(), on a terminal of 80 columns. */
import { expect, test } from 'vitest';
import { anySetPlan, anySetNode as node } from '../../../test/rig/planned-set.js';
import type { NodeConfigSetSpec } from '../../api/node-config-set.js';
import type { SetNode } from '../../rollout/members.js';
import { plan } from '../../rollout/plan.js';
import { desiredRevision, payloadOf } from '../../rollout/revision.js';
import { readRules } from '../../rollout/spec.js';
import { createPaint } from '../terminal/terminal.js';
import { plannedWaves, type SetPlan } from './plan-set.js';
import { planObject, planText } from './plan-text.js';

const nowMs = Date.parse('2026-03-01T10:00:00Z');
const room = { columns: 80, width: 80, paint: createPaint(false) };
const spec: NodeConfigSetSpec = {
  selector: { matchLabels: { pool: 'gpu' } },
  config: { overlay: { maxPods: 200 } },
  strategy: { waves: [{ nodes: 1, soak: '10m', approve: true }, { nodes: '25%' }, { nodes: '100%' }] },
};

function planned(nodes: SetNode[], more: Partial<SetPlan> = {}): SetPlan {
  const desired = desiredRevision('gpu', payloadOf(spec.config)!);
  const rules = readRules(spec);
  const decided = plan({ set: 'gpu', rules, state: {}, desired, nodes, nowMs });
  const { revision, summary } = desired;
  const set = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfigSet', metadata: { name: 'gpu' }, spec };
  const waves = plannedWaves(decided, rules, nowMs);
  const trial = { ms: 600_000, from: 'given' } as const;
  return anySetPlan({ set, revision, summary, decided, waves }, { trial, expectedMs: 2_400_000, ...more });
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
    // A node that is not Ready would use up maxUnavailable.
    nodes: fleet.filter(({ isReady }) => isReady),
    nowMs,
  }).state;
  expect(intent?.names).toEqual(['node-0']);
});

test('the page', () => {
  expect(planText(planned(fleet), room).split('\n')).toEqual([
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
    '',
    'Warning: The selector uses a label that a kubelet may set on its own Node, so a',
    'node can choose its config: pool. Labels under node-restriction.kubernetes.io/',
    'can be set by an administrator only.',
  ]);
});

test('a wave without nodes is named, and has neither soak nor approval', () => {
  const few = planned([node('node-0'), node('node-1')]);
  expect(planText(few, room)).toContain(
    '    node-0\n\nWave 2: no nodes, skipped without soak and approval\n\nWave 3: 1 node\n    node-1',
  );
  expect(planText(few, room)).toContain('would be rolled out in 3 waves, 1 of them without nodes\n');
  expect(planObject(few)).toMatchObject({ waves: [{ wave: 1 }, { wave: 2, nodes: [], skipped: true }, { wave: 3 }] });
});

test('a plan of which no node can be changed says so as the status does, and not that there is nothing to do', () => {
  const blocked = { reason: 'Held', message: 'held on its host' };
  const text = planText(planned([node('node-0', { blocked }), node('node-1', { blocked })]), room).replace(/\s+/g, ' ');
  expect(text).toContain(
    'Outcome: nothing can be changed now: all 2 nodes excluded: node-0 (held on its host) and others',
  );
  expect(planText(planned([]), room)).toMatch(/^Outcome: {5}no node selected$/m);
});

test('the duration says from whom the length of a trial is known', () => {
  const of = (from: SetPlan['trial']['from']) => planText(planned(fleet, { trial: { ms: 20_000, from } }), room);
  expect(of('nodes')).toContain('with trials of 20s, as nodes report');
  expect(of('given')).toContain('with trials of 20s (--trial)');
  expect(of('assumed').replace(/\s+/g, ' ')).toContain('with trials of 20s (assumed; --trial)');
  expect(planObject(planned(fleet, { trial: { ms: 20_000, from: 'nodes' } })).trialSeconds).toBe(20);
});

test('a set that would be stalled says why first, and has no duration', () => {
  const stalled = { kind: 'impact' as const, message: 'cpuManagerPolicy (StateFile) on node-0' };
  const text = planText(planned(fleet, { stalled }), room);
  expect(text).toMatch(/^Outcome: {5}would be stalled \(ImpactNotAccepted\)\./m);
  expect(text).not.toContain('Duration:');
  expect(planObject(planned(fleet, { stalled }))).toMatchObject({ stalled: { reason: 'ImpactNotAccepted' } });
});

test('a set whose nodes would reject the config says which and why, and has no duration', () => {
  const message = 'evictionHard[memory.available] is 500MB, and this kubelet exits at its start';
  const rejections = [{ nodes: ['node-0', 'node-1'], kubeletVersion: 'v1.33.1', reason: 'StartWouldFail', message }];
  const text = planText(planned(fleet, { rejections }), room);
  expect(text).toContain('Outcome:     would be rejected by 2 nodes (StartWouldFail)\n');
  expect(text.replace(/\s+/g, ' ')).toContain(
    `- 2 nodes with kubelet v1.33.1 (node-0 and node-1), StartWouldFail: ${message}`,
  );
  expect(text).not.toContain('Duration:');
  expect(planObject(planned(fleet, { rejections }))).toMatchObject({ rejections });
});

test('of many names some are shown, and all are in the object for programs', () => {
  const many = Array.from({ length: 400 }, (_, at) => node(`node-${String(at).padStart(3, '0')}`));
  const text = planText(planned(many), room);
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
  const text = planText(planned(fleet, { drains: { drains, mayDrain: true } }), room);
  expect(text.replace(/\s+/g, ' ')).toContain(
    'Drains: 2 nodes are drained first, 3 pods would move; 1 cannot be drained as things are and would be left out',
  );
  expect(text).toContain(
    'Wave 1: 1 node, then a soak of 10m and approval\n    node-0\n    1 node is drained first, 2 pods',
  );
  expect(text.replace(/\s+/g, ' ')).toContain(`Cannot be drained as things are: - node-1, ${why}`);
  const unknown = planText(planned(fleet, { drains: { drains: [{ node: 'node-0' }] } }), room);
  expect(unknown.replace(/\s+/g, ' ')).toContain('they could not be listed; whether the controller may drain');
});
