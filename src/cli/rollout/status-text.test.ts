/** The status of a rollout, on a terminal of 80 columns and in a pipe. */
import { expect, test } from 'vitest';
import type { NodeConfigSet, NodeConfigSetSpec, NodeConfigSetStatus } from '../../api/node-config-set.js';
import { createPaint } from '../terminal/terminal.js';
import { statusLine, statusText } from './status-text.js';

const now = '2026-03-01T10:30:00Z';
const terminal = { columns: 80, width: 80, paint: createPaint(false) };

const condition = (type: string, reason: string, message: string) => ({
  type,
  status: 'True' as const,
  reason,
  message,
  lastTransitionTime: now,
});

const spec: NodeConfigSetSpec = {
  selector: { matchLabels: { pool: 'gpu' } },
  config: { overlay: { maxPods: 200 } },
  strategy: {
    waves: [{ nodes: 1, approve: true }, { nodes: '10%', soak: '10m' }, { nodes: '100%' }],
    maxUnavailable: 3,
  },
};

const underWay: NodeConfigSetStatus = {
  observedGeneration: 2,
  currentRevision: 'gpu-7kbx2',
  updateRevision: 'gpu-5t8b9kd2m4',
  revisions: [
    {
      revision: 'gpu-5t8b9kd2m4',
      source: 'relet-system/gpu-5t8b9kd2m4/kubelet',
      summary: 'sets maxPods: 200',
      startedAt: '2026-03-01T10:00:00Z',
    },
  ],
  selectedNodes: 42,
  excludedNodes: 2,
  updatedNodes: 4,
  inTrialNodes: 3,
  pendingNodes: 2,
  failedNodes: 0,
  unavailable: { allowed: 3, used: 3, nodes: ['node-17', 'node-3', 'node-9'] },
  inTrial: { allowed: 10, used: 5 },
  failed: { allowed: 0, used: 0 },
  wave: 3,
  waveText: '3/3',
  waves: [
    { wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'Done', endedAt: '2026-03-01T10:10:00Z' },
    { wave: 2, nodes: 4, assigned: 3, updated: 3, failed: 0, state: 'Done', endedAt: '2026-03-01T10:20:00Z' },
    { wave: 3, nodes: 40, assigned: 5, updated: 0, failed: 0, state: 'Rolling' },
  ],
  waiting: '3 of 3 allowed unavailable: node-17 NotReady for 4m, node-3 and node-9 not yet active',
  excluded: [
    { name: 'node-40', reason: 'Held', message: 'Held on its host since 2026-03-01T09:00:00Z by ann: repairs.' },
    { name: 'node-41', reason: 'OtherSet', message: 'The set blue has it.' },
  ],
  conditions: [condition('Reconciling', 'BudgetSpent', 'No further node may be changed.')],
};

const set = (status: NodeConfigSetStatus | undefined, generation = 2): NodeConfigSet => ({
  apiVersion: 'relet.dev/v1alpha1',
  kind: 'NodeConfigSet',
  metadata: { name: 'gpu', generation },
  spec,
  ...(status && { status }),
});

const page = (status: NodeConfigSetStatus | undefined, generation?: number) =>
  statusText(set(status, generation), { terminal, nowMs: Date.parse(now) });

test('a rollout that waits shows what for, its waves, its end, and which nodes are left out', () => {
  expect(page(underWay).split('\n')).toEqual([
    'Set:         gpu',
    'Revision:    gpu-5t8b9kd2m4, sets maxPods: 200',
    'Assessment:  progressing (BudgetSpent), wave 3 of 3',
    'Completion:  10%: 4 of 40 nodes updated, 3 in trial, 2 not active yet, 2',
    '             excluded',
    'Duration:    30m, 8 nodes an hour; about 45m left, until 11:15 UTC',
    'Budgets:     unavailable 3 of 3, in trial 5 of 10, failed 0 of 0',
    'Waits for:   3 of 3 allowed unavailable: node-17 NotReady for 4m, node-3 and',
    '             node-9 not yet active',
    '',
    'WAVE   NODES   ASSIGNED   UPDATED   FAILED   STATE',
    '1      1       1          1         0        Done',
    '2      3       3          3         0        Done',
    '3      36      5          0         0        Rolling',
    '└─ not available: node-17, node-3, node-9',
    '',
    'Not changed for now:',
    '  - node-40, Held: Held on its host since 2026-03-01T09:00:00Z by ann: repairs.',
    '  - node-41, OtherSet: The set blue has it.',
  ]);
});

test('a rollout that halted shows why, the nodes that failed, and three ways on', () => {
  const halted = page({
    ...underWay,
    failedNodes: 12,
    waves: underWay.waves!.map((wave) => ({ ...wave, failed: wave.wave === 1 ? 1 : 0 })),
    failedSamples: [{ name: 'node-3', reason: 'CrashLoop', message: 'The kubelet kept crashing with the config.' }],
    excluded: [],
    conditions: [condition('Stalled', 'Halted', 'More nodes have failed than the strategy allows: node-3.')],
  });
  expect(halted).toContain('Assessment:  stopped (Halted)\n');
  expect(halted).toMatch(/^Because: {5}More nodes have failed than the strategy allows, and no further\n/m);
  expect(halted).toMatch(
    /^1 .* 1 +Done, with failures\n├─ node-3, CrashLoop: The kubelet kept crashing with the config\.\n└─ and 11 more failed\n2 .* Done\n3 .* Stopped$/m,
  );
  const words = halted.replace(/\s+/g, ' ');
  expect(words).toContain("'relet describe node-3' shows why; apply a corrected config");
  expect(words).toContain("'relet rollout retry gpu' tries the same again, 'relet rollout undo gpu' takes it back");
});

test.each([
  [
    'AwaitingApproval',
    [
      { wave: 1, nodes: 1, assigned: 1, updated: 1, failed: 0, state: 'AwaitingApproval' as const },
      { wave: 2, nodes: 8, assigned: 0, updated: 0, failed: 0, state: 'Pending' as const },
    ],
    "'relet rollout approve gpu --wave 1' changes the next 7 nodes",
  ],
  ['Paused', [], "'relet rollout resume gpu' continues"],
])('a rollout with the reason %s shows the command that lets it continue', (reason, waves, next) => {
  const text = page({ ...underWay, waves, conditions: [condition('Reconciling', reason, '')] });
  expect(text.replace(/\s+/g, ' ')).toContain('not counting this wait');
  expect(text.replace(/\s+/g, ' ')).toContain(`Next: ${next}`);
});

test('nodes in trial are below the present wave, each once; failures of several waves are below all of them', () => {
  const waves = underWay.waves!.map((wave) => ({ ...wave, failed: wave.wave === 2 ? 0 : 1 }));
  const failedSamples = [{ name: 'node-3', reason: 'CrashLoop' }];
  const inTrial = { allowed: 10, used: 2, nodes: ['node-3', 'node-9', 'node-10'] };
  const text = page({ ...underWay, waves, failedSamples, inTrial });
  expect(text).toMatch(
    /\n3 .*\n├─ in trial: node-9, node-10\n└─ not available: node-17\n\nNodes in trouble:\n {2}- node-3,/,
  );
});

test('a rollout that drains names the nodes and what each waits for, also an undo, which has no waves', () => {
  const message = 'pod default/web-1: The disruption budget web needs 4 healthy pods and has 4 currently';
  const draining: NodeConfigSetStatus = {
    ...underWay,
    drainingNodes: 3,
    draining: [
      { name: 'node-3', reason: 'Draining', message },
      { name: 'node-4', reason: 'Draining', message: '' },
    ],
    conditions: [condition('Reconciling', 'Draining', '')],
  };
  const text = page(draining).replace(/[\s│]+/g, ' ');
  expect(text).toContain(`├─ node-3, being drained: ${message} ├─ node-4, being drained: cordoned ├─ and 1 more being`);
  expect(page({ ...draining, waves: [] }).replace(/\s+/g, ' ')).toContain(` - node-3, being drained: ${message} - `);
  expect(text).toContain("'relet rollout abort gpu' lifts the cordons");
});

test('a rollout whose controller may not drain shows how to let it', () => {
  const text = page({ ...underWay, conditions: [condition('Stalled', 'DrainNotAllowed', 'node-3 must be drained')] });
  expect(text.replace(/\s+/g, ' ')).toContain("Next: 'kubectl apply -k deploy/drain/', or the chart's");
});

test('a wave that soaks shows how long', () => {
  const waves = underWay.waves!.map((wave) =>
    wave.wave === 2 ? { ...wave, state: 'Soaking' as const, endedAt: '2026-03-01T10:26:00Z' } : wave,
  );
  expect(page({ ...underWay, waves })).toMatch(/^2 .* Soaking, 6m left$/m);
});

test('a set whose newest spec the controller has not seen is neither complete nor stopped', () => {
  const complete = { ...underWay, conditions: [condition('Ready', 'RolloutComplete', '')] };
  expect(page(complete)).toContain('complete (RolloutComplete)');
  expect(page(complete, 3)).toContain('not seen by the controller yet');
  expect(page({ ...complete, rollout: { request: { action: 'Retry', revision: 'x' } } })).toContain('not seen');
  expect(page(undefined)).toContain('not seen by the controller yet');
});

test('a set whose nodes nobody has counted yet is at no percentage', () => {
  expect(page(undefined)).not.toContain('%');
  expect(statusLine(set(undefined))).toBe(
    'gpu: not seen by the controller yet; waits for: the controller, which has not seen the newest spec or request yet',
  );
});

test('the last node of thousands is missing: not 100%', () => {
  expect(page({ ...underWay, selectedNodes: 1000, excludedNodes: 0, updatedNodes: 999 })).toContain('99%: 999 of 1000');
});

test('no line is wider than the terminal, however long names and sentences are', () => {
  const name = `ip-10-0-0-1.${'eu-central-1.'.repeat(6)}compute.internal`;
  const text = page({
    ...underWay,
    waiting: `${name} is not Ready. `.repeat(5),
    failedSamples: [{ name, reason: 'RolledBackByNode', message: 'The kubelet kept crashing. '.repeat(9) }],
  });
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('a value that a node reports cannot forge a line', () => {
  const failedSamples = [{ name: 'node-3', reason: 'CrashLoop', message: 'x\nAssessment:  complete' }];
  expect(page({ ...underWay, failedSamples, waiting: 'y\nSet: z' })).not.toMatch(/^(Assessment: {2}complete|Set: z)/m);
});

test('in a pipe a rollout that halted names the node that failed, and why', () => {
  const failedSamples = [{ name: 'node-3', reason: 'CrashLoop', message: 'it crashed' }];
  const conditions = [condition('Stalled', 'Halted', 'More failed than allowed: node-3 (it crashed).')];
  expect(statusLine(set({ ...underWay, failedSamples, conditions }))).toMatch(/; More .*: node-3 \(it crashed\)\.$/);
});

test('in a pipe it is one line', () => {
  expect(statusLine(set(underWay))).toBe(
    'gpu: progressing (BudgetSpent), wave 3/3, 10%: 4 of 40 nodes updated, 3 in trial, 2 not active yet, 2 excluded; waits for: 3 of 3 allowed unavailable: node-17 NotReady for 4m, node-3 and node-9 not yet active',
  );
});

test('a wave without nodes is shown as skipped', () => {
  const [first, , third] = underWay.waves!;
  const empty = { wave: 2, nodes: 1, assigned: 0, updated: 0, failed: 0, state: 'Pending' as const };
  expect(page({ ...underWay, waves: [first!, empty, third!] })).toMatch(/^2 +0 +0 +0 +0 +Skipped, no nodes$/m);
});

test('a person who approved the wave is named, and whether the API server checked the name', () => {
  const at = '2026-03-01T10:25:00Z';
  const approved = { at, step: 'Approved', revision: 'gpu-5t8b9kd2m4', wave: 1, by: 'ann', why: 'looks good' } as const;
  const lines = (steps: NodeConfigSetStatus['steps']) =>
    statusText(set({ ...underWay, steps: steps! }), {
      terminal: { ...terminal, columns: 200, width: 200 },
      nowMs: Date.parse(now),
    });
  expect(lines([{ ...approved, verified: true }])).toContain(
    'Last step:   ann approved wave 1 of revision gpu-5t8b9kd2m4: "looks good", 5m ago',
  );
  expect(lines([approved])).toContain('Last step:   ann (unverified) approved wave 1');
  expect(lines([{ ...approved, step: 'Aborted' }, approved])).not.toContain('Last step');
});

test('a revision that somebody aborted is called that, and the commands for it are shown once', () => {
  const message = `ann aborted revision gpu-5t8b9kd2m4: "wrong value"; change the config in the spec, or 'relet rollout retry gpu'`;
  const at = '2026-03-01T10:25:00Z';
  const text = page({
    ...underWay,
    rejectedRevision: 'gpu-5t8b9kd2m4',
    revisions: underWay.revisions!.map((one) => ({ ...one, outcome: 'Aborted' })),
    conditions: [condition('Stalled', 'Aborted', message)],
    steps: [{ at, step: 'Aborted', revision: 'gpu-5t8b9kd2m4', by: 'ann', why: 'wrong value', verified: true }],
  });
  expect(text).toContain('Revision:    gpu-5t8b9kd2m4 (aborted), sets maxPods: 200\n');
  expect(text).toContain('Because:     ann aborted revision gpu-5t8b9kd2m4: "wrong value"\nNext:');
  expect(text.match(/rollout retry gpu/g)).toHaveLength(1);
});
