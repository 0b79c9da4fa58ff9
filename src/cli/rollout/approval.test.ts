/** The preview of an approval, on a terminal of 80 columns. */
import { expect, test } from 'vitest';
import { anySetPlan, anySetNode as node } from '../../../test/rig/planned-set.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { untilNextStop } from '../../rollout/next-stop.js';
import { plan } from '../../rollout/plan.js';
import { desiredRevision, payloadOf } from '../../rollout/revision.js';
import { readRules } from '../../rollout/spec.js';
import { storedState } from '../../rollout/state.js';
import { createPaint } from '../terminal/terminal.js';
import { approvalObject, approvalText } from './approval.js';
import { plannedWaves } from './plan-set.js';

const nowMs = Date.parse('2026-03-01T10:00:00Z');
const at = '2026-03-01T09:00:00Z';
const room = { columns: 80, width: 80, paint: createPaint(false) };
const spec: NodeConfigSet['spec'] = {
  selector: {},
  config: { overlay: { maxPods: 200 } },
  strategy: { waves: [{ nodes: 1, approve: true }, { nodes: '10%' }, { nodes: '100%' }] },
};
const desired = desiredRevision('gpu', payloadOf(spec.config)!);
const { revision } = desired;
const source = desired.source(1);

/** The canary has passed its trial. */
function awaiting() {
  const claim = { set: 'gpu', revision, source, wave: 1, at, previous: undefined };
  const others = Array.from({ length: 4 }, (_, index) => node(`node-${index + 2}`));
  const nodes = [node('node-1', { state: 'active', claim }), ...others];
  const state = {
    updateRevision: revision,
    revisions: [{ revision, source, startedAt: at, summary: desired.summary }],
  };
  const rules = readRules(spec);
  const decided = plan({ set: 'gpu', rules, state, desired, nodes, nowMs });
  const set: NodeConfigSet = {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'NodeConfigSet',
    metadata: { name: 'gpu' },
    spec,
    status: storedState(decided.state),
  };
  const waves = plannedWaves(decided, rules, nowMs);
  const found = anySetPlan({ set, revision, summary: desired.summary, decided, waves });
  return { set, revision, wave: 1, next: untilNextStop(set, 1, decided.waves.waves), found };
}

test('the nodes that follow are named, across a wave without nodes', () => {
  expect(approvalText(awaiting(), room).split('\n')).toEqual([
    'Set:         gpu',
    `Revision:    ${revision}, sets maxPods: 200`,
    'Approves:    wave 1. 4 nodes will change in wave 3. Then the rollout is',
    '             complete. Wave 2 has no nodes and is skipped.',
    '',
    'Wave 3: 4 nodes',
    '    node-2, node-3, node-4, node-5',
  ]);
  expect(approvalObject(awaiting())).toMatchObject({
    waves: [{ wave: 3, count: 4, nodes: ['node-2', 'node-3', 'node-4', 'node-5'] }],
    skipped: [2],
  });
});

test('pods that move with the nodes that follow are listed, those of other waves are not; so is why it would stop again', () => {
  const { found, ...rest } = awaiting();
  const drains = {
    drains: [
      { node: 'node-1', pods: ['a/old'] },
      { node: 'node-2', pods: ['a/x', 'a/y'] },
    ],
    mayDrain: true,
  };
  const stalled = { kind: 'undrainable' as const, message: 'node-2 (a budget)' };
  const approval = { ...rest, found: { ...found, drains, stalled } };
  expect(approvalText(approval, room)).toContain('1 node is drained first, 2 pods would move.');
  expect(approvalObject(approval)).toMatchObject({
    stalled: { message: 'node-2 (a budget)' },
    drains: [{ node: 'node-2', pods: ['a/x', 'a/y'] }],
  });
});

test('where the nodes may not be listed, their number is shown, and why there is no more', () => {
  const approval = { ...awaiting(), found: { why: 'The nodes and their difference are not shown: forbidden.' } };
  const text = approvalText(approval, room).replace(/\s+/g, ' ');
  expect(text).toContain('4 nodes will change in wave 3.');
  expect(text).toContain('not shown: forbidden.');
  expect(approvalObject(approval)).toMatchObject({ waves: [{ wave: 3, count: 4 }], drains: [], nodes: [] });
});
