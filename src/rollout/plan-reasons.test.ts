/** plan(): what comes first when several things could be done, what ends, and when it is called next. */
import { describe, expect, test } from 'vitest';
import {
  batchOf,
  claim,
  minute,
  anySetNode as node,
  nowMs,
  planned,
  started,
  withOld,
} from '../../test/rig/planned-set.js';
import type { AnalysisStrategy, RevisionOutcome, SetStrategy, WaveAnalysis } from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import type { SetNode } from './members.js';
import type { Plan } from './plan.js';
import type { Revision, SetState } from './state.js';

type More = Parameters<typeof planned>[2];
const reason = ({ progress }: Plan) => `${progress.condition} ${progress.kind}`;
const problem = { kind: 'impact', message: 'why' } as const;
const withOutcome = (state: SetState, more: Partial<Revision>): SetState => ({
  ...state,
  revisions: state.revisions!.map((one, index) => (index === 0 ? { ...one, ...more } : one)),
});
const rejected = (outcome: RevisionOutcome): SetState => ({
  ...withOutcome(started, { outcome }),
  rejectedRevision: 'new',
  rollingBack: false,
});
const complete = withOutcome({ ...started, currentRevision: 'new' }, { outcome: 'Complete' });
const back: SetState = { ...withOld, rejectedRevision: 'new', rollingBack: true };
const updated = (name: string, more: Partial<SetNode> = {}) => node(name, { state: 'active', claim: claim(), ...more });
const outdated = (name: string, more: Partial<SetNode> = {}) =>
  updated(name, { claim: claim({ revision: 'old' }), ...more });
const wrong = node('wrong', { state: 'rolled back', claim: claim({ revision: 'bad' }) });

test.each<[string, SetNode[], More, string]>([
  ['a pause comes before a rollback', [updated('a')], { state: back, spec: { paused: true } }, 'Reconciling paused'],
  ['a node that joins comes before a problem', [node('a')], { state: withOld, problem }, 'Reconciling rolling'],
  ['a problem comes before a rejection', [updated('a')], { state: rejected('Aborted'), problem }, 'Stalled impact'],
  ['an undo is reported', [node('a')], { state: rejected('Undone') }, 'Stalled undone'],
  ['a rollback is reported', [node('a')], { state: rejected('RolledBack') }, 'Stalled rolledBack'],
  ['the end of its time is reported', [node('a')], { state: rejected('Expired') }, 'Stalled expired'],
  ['a rejection is reported also without nodes', [], { state: rejected('Undone') }, 'Stalled undone'],
  ['a problem keeps a set from being complete', [updated('a')], { problem }, 'Stalled impact'],
])('%s', (_name, nodes, more, expected) => {
  const found = planned(nodes, {}, more);
  expect(reason(found)).toBe(expected);
  expect(found.state.revisions?.[0]?.outcome).not.toBe('Complete');
});

describe('a rollback', () => {
  const blocked = (reason: string) => ({ blocked: { reason, message: '' } });
  const rejectedAgain = { ...back, rollingBack: false };
  test.each<[string, SetNode, SetState, boolean]>([
    ['does not wait for a node that is held', updated('a', blocked('Held')), back, false],
    ['waits for a node that cannot be drained yet', updated('a', blocked('Undrainable')), back, true],
    ['waits until a node runs what it had', outdated('a', { state: 'waiting' }), back, true],
    ['does not wait for a node that fails with what it had', outdated('a', { state: 'rolled back' }), back, false],
    ['is over when the node runs what it had', outdated('a'), back, false],
    ['begins again when a node that has it is no longer held', updated('a'), rejectedAgain, true],
    ['does not begin again for a node that is held', updated('a', blocked('Held')), rejectedAgain, false],
    [
      'does not begin after an abort',
      updated('a'),
      { ...withOutcome(back, { outcome: 'Aborted' }), rollingBack: false },
      false,
    ],
  ])('%s', (_name, one, state, expected) => {
    expect(planned([one], {}, { state }).state.rollingBack).toBe(expected);
  });

  test('keeps to maxUnavailable, and names the nodes that are left', () => {
    const nodes = [updated('a'), updated('b'), updated('c', { state: 'rolled back' }), outdated('d')];
    const found = planned(nodes, { maxUnavailable: 1 }, { state: back });
    expect(found.state.intent).toMatchObject({ revision: 'old', wave: 0, names: ['c', 'a'], exempt: ['c'] });
    expect(reason(found)).toBe('Reconciling rollingBack');
    const away = updated('c', { isReady: false, blocked: { reason: 'Held', message: '' } });
    const left = [updated('a'), updated('b', { isCordoned: true }), away, outdated('d')];
    const spent = planned(left, { maxUnavailable: 0 }, { state: back });
    expect([batchOf(spent), reason(spent), spent.waiting]).toEqual([
      undefined,
      'Reconciling rollingBack',
      '2 nodes still to return to their previous config: a and b; 2 of 0 allowed unavailable, b cordoned, c NotReady',
    ]);
  });

  test('by onFailure counts every node again that could not get the revision, and is recorded with the node', () => {
    const refused = { kind: 'impact', revision: 'new', reason: 'r', message: 'm' } as const;
    const nodes = [updated('a', { state: 'rolled back' }), node('b', { refused })];
    const found = planned(nodes, { onFailure: 'Rollback' }, { state: withOld });
    expect(found.survey.excluded).toEqual([]);
    expect(found.state.steps?.[0]).toMatchObject({
      step: 'RolledBack',
      message: expect.stringMatching(/^1 failed.* a /),
    });
    expect(planned(nodes, { onFailure: 'Rollback' }, { state: complete }).state.rejectedRevision).toBeUndefined();
  });
});

test.each<[string, SetNode, SetState, string[] | undefined]>([
  ['that is not Ready does not get it yet', node('a', { isReady: false }), withOld, undefined],
  ['that a person does not let update does not get it', node('a', { createdAtMs: -1 }), withOld, undefined],
  ['that has another revision of the set waits for its wave', outdated('a'), withOld, undefined],
  ['that failed with a revision before it gets it, once the new one is rejected', wrong, back, ['wrong']],
  ['that has it does not get it again', outdated('a'), back, undefined],
])('the current revision, beside a new one in a closed window: a node %s', (_name, one, state, expected) => {
  const spec = { updateNodes: 'New' };
  const windows = [{ from: '22:00', to: '04:00' }];
  const found = planned([one], { windows }, { state: { ...state, rollingBack: false }, spec });
  expect(batchOf(found)).toEqual(expected);
  if (expected) expect(found.state.intent).toMatchObject({ revision: 'old', wave: 0, exempt: expected });
});

describe('after the rollout', () => {
  const windows = [{ from: '22:00', to: '04:00' }];
  const failed = (wave: number) => updated('a', { state: 'rolled back', claim: claim({ wave }) });

  test('in a closed window only nodes that the set never had get the config, and the set stays Ready', () => {
    const found = planned(
      [updated('a'), outdated('b'), node('c')],
      { windows, maxUnavailable: 3 },
      { state: complete },
    );
    expect(found.state.intent).toMatchObject({ revision: 'new', wave: 0, names: ['c'] });
    expect(reason(found)).toBe('Ready complete');
    expect(batchOf(planned([updated('a'), outdated('b')], {}, { state: complete }))).toEqual(['b']);
  });

  test('a node that fails is named, and stops the others only if it was caught up', () => {
    const refused = { kind: 'impact', revision: 'new', reason: 'r', message: 'too small' } as const;
    const nodes = [updated('b'), node('c', { refused })];
    const found = planned([failed(1), ...nodes], {}, { state: complete });
    expect(found.progress).toMatchObject({ condition: 'Ready', kind: 'complete' });
    expect(found.progress.message).toMatch(
      /^1 failed, 0 allowed: a \(.*\); 1 node does not get the config: c \(too small\)$/,
    );
    const caughtUp = planned([failed(0), node('d')], {}, { state: complete });
    expect([reason(caughtUp), batchOf(caughtUp)]).toEqual(['Stalled halted', undefined]);
    expect(reason(planned([failed(0), node('d')], { maxFailed: 1 }, { state: complete }))).toBe('Ready complete');
  });
});

describe('a wave that was compared', () => {
  const record = (more: Partial<WaveAnalysis>): SetState => ({
    ...withOld,
    analyses: [{ revision: 'new', attempt: 1, wave: 1, state: 'Done', message: 'worse: slower', ...more }],
  });
  const span = (from: number, to: number): [string, string] => [rfc3339(nowMs + from), rfc3339(nowMs + to)];
  const cohort = { canaries: ['a'], controls: ['b'], before: span(-10 * minute, -5 * minute), after: span(0, minute) };
  const observing = record({ state: 'Observing', ...cohort });
  const [worse, unclear] = [record({ outcome: 'Worse' }), record({ outcome: 'CannotTell' })];
  const nodes = [updated('a'), ...['b', 'c', 'd'].map((name) => outdated(name))];
  test.each<[string, AnalysisStrategy, SetState, string, string]>([
    ['worse stops the rollout', {}, worse, 'Stalled worse', 'wave 1 is worse: slower. Correct'],
    ['worse is rolled back', { onWorse: 'Rollback' }, worse, 'Reconciling rollingBack', 'changing'],
    ['without a result yet holds the next', {}, observing, 'Reconciling analyzing', '1 canary of wave 1 is compared'],
    [
      'without a result asks a person',
      { onCannotTell: 'Pause' },
      unclear,
      'Reconciling approval',
      'wave 1: worse: slow',
    ],
  ])('%s', (_name, analysis, state, expected, message) => {
    const found = planned(nodes, { analysis }, { state });
    expect(reason(found)).toBe(expected);
    expect(found.progress.message?.startsWith(message)).toBe(true);
    const step = { 'Stalled worse': 'Halted', 'Reconciling rollingBack': 'RolledBack' }[expected];
    expect(found.state.steps?.[0]).toEqual(
      step && expect.objectContaining({ step, message: expect.stringMatching(/^wave 1/) }),
    );
  });
});

test.each<[string, SetStrategy]>([
  ['soaking', { waves: [{ nodes: 1, soak: '1h' }] }],
  ['approval', { waves: [{ nodes: 1, approve: true }] }],
  ['window', { windows: [{ from: '22:00', to: '04:00' }] }],
])('while a rollout waits (%s) a node that has failed is corrected, and no other is changed', (kind, strategy) => {
  const others = [updated('a'), outdated('b')];
  const waiting = planned(others, strategy, { state: withOld });
  expect([reason(waiting), batchOf(waiting)]).toEqual([`Reconciling ${kind}`, undefined]);
  const { intent } = planned([...others, wrong], strategy, { state: withOld }).state;
  expect(intent).toMatchObject({ names: ['wrong'], exempt: ['wrong'] });
});

test('failed nodes that use up maxUnavailable halt the rollout, others only keep it waiting', () => {
  const away = updated('a', { isReady: false });
  const strategy: SetStrategy = { maxFailed: 1, maxUnavailable: 1, waves: [{ nodes: '100%' }] };
  expect(reason(planned([{ ...away, state: 'rolled back' }, node('b')], strategy))).toBe('Stalled halted');
  expect(reason(planned([away, node('b')], strategy))).toBe('Reconciling budget');
  expect(reason(planned([away, node('b')], { ...strategy, maxUnavailable: 0 }))).toBe('Reconciling budget');
  expect(reason(planned([node('b', { isReady: false })], strategy))).toBe('Reconciling nothing');
});

test.each<[string, SetNode[], SetStrategy, More, number | undefined]>([
  ['when a node may have failed', [updated('a', { state: 'waiting' })], {}, {}, 14 * minute + 1],
  ['when the revision expires', [updated('a')], {}, { spec: { expiresAfter: '1h' } }, 50 * minute],
  ['no more than events ask for', [updated('a'), node('b')], {}, {}, undefined],
  [
    'at the soonest of these',
    [updated('a', { state: 'waiting' }), node('b')],
    { windows: [{ from: '12:30', to: '12:05' }] },
    { spec: { expiresAfter: '20m' } },
    5 * minute,
  ],
])('the next pass is due %s', (_name, nodes, strategy, more, afterMs) => {
  const { nextAtMs } = planned(nodes, strategy, more);
  expect(nextAtMs).toBe(afterMs === undefined ? undefined : nowMs + afterMs);
});
