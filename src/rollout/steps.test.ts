/** The steps of a rollout: who, why and result are recorded once, when they take effect, and shown in the condition and in Events. */

import { describe, expect, test } from 'vitest';
import { anySetNode as node } from '../../test/rig/planned-set.js';
import { parseRef } from '../api/config-ref.js';
import type { NodeConfigCondition } from '../api/node-config.js';
import { mostSteps, type NodeConfigSetStatus, type RolloutBlock, type SetStrategy } from '../api/node-config-set.js';
import { rfc3339 } from '../clock.js';
import { eventsOf } from '../controller/set-events.js';
import type { SetNode } from './members.js';
import { type Plan, type PlanInput, plan } from './plan.js';
import { readRules } from './spec.js';
import type { SetState } from './state.js';
import { textOf } from './status.js';
import { stepText } from './steps.js';

const nowMs = Date.parse('2026-06-05T12:00:00Z');
const at = rfc3339(nowMs);
const desired = (revision = 'new') => ({
  revision,
  summary: '',
  source: (attempt: number) => parseRef(`n/${revision}-${attempt}/k`)!,
});
const started: SetState = {
  updateRevision: 'new',
  revisions: [{ revision: 'new', source: parseRef('n/new-1/k'), startedAt: rfc3339(nowMs - 600_000) }],
  steps: [{ at, step: 'Started', revision: 'new' }],
};

const claimed = (more: Partial<SetNode>) => ({
  claim: {
    set: 'gpu',
    revision: 'new',
    source: parseRef('n/new-1/k'),
    wave: 1,
    at: rfc3339(nowMs - 60_000),
    previous: undefined,
  },
  ...more,
});
const failure = { reason: 'CrashLoop', message: 'the kubelet kept crashing' };
const crashed = (name: string) => node(name, claimed({ state: 'rolled back', failure }));

function planned(state: SetState, more: Partial<PlanInput> & { strategy?: SetStrategy; paused?: boolean } = {}): Plan {
  const { strategy = {}, paused = false, ...rest } = more;
  const rules = readRules({ selector: {}, config: {}, strategy, paused });
  const fixed = { set: 'gpu', rules, desired: desired(), nodes: [node('a'), node('b')], nowMs, areNamesChecked: true };
  return plan({ ...fixed, state, ...rest });
}

const asking = (rollout: RolloutBlock, state = started): SetState => ({ ...state, rollout });
const abort = { action: 'Abort', revision: 'new', by: 'ann', why: 'wrong value' } as const;

describe('a request', () => {
  test('names the person and the reason in the condition and in the steps', () => {
    const { state, progress } = planned(asking({ request: abort }));
    expect(state.steps?.[0]).toEqual({
      at,
      step: 'Aborted',
      revision: 'new',
      by: 'ann',
      verified: true,
      why: 'wrong value',
    });
    expect(textOf(progress)).toEqual({
      reason: 'Aborted',
      message: `ann aborted revision new: "wrong value"; change the config in the spec, or 'relet rollout retry gpu'`,
    });
  });

  test('where no policy checks names, the name is shown as unverified', () => {
    const { state, progress } = planned(asking({ request: abort }), { areNamesChecked: false });
    expect(state.steps?.[0]).not.toHaveProperty('verified');
    expect(textOf(progress).message).toMatch(/^ann \(unverified\) aborted revision new: "wrong value";/);
  });

  test('nobody is named where the request names nobody', () => {
    const { by: _, why: __, ...request } = abort;
    expect(textOf(planned(asking({ request })).progress).message).toMatch(/^revision new was aborted; change/);
  });

  test('an undo and a retry keep who and why; one for another revision leaves no step', () => {
    const undone = planned(asking({ request: { ...abort, action: 'Undo' } })).state;
    expect(stepText(undone.steps![0]!)).toBe('ann undid revision new: "wrong value"');
    const retry = { ...abort, action: 'Retry', by: 'bob', why: 'fixed the nodes' } as const;
    const { steps } = planned(asking({ request: retry }, undone)).state;
    expect(steps!.map(({ step, by }) => [step, by])).toEqual([
      ['Retried', 'bob'],
      ['Undone', 'ann'],
      ['Started', undefined],
    ]);
    expect(planned(asking({ request: { ...abort, revision: 'other' } })).state.steps).toEqual(started.steps);
  });

  test('a reason of many lines and characters is one short line', () => {
    const { steps } = planned(asking({ request: { ...abort, why: `a\nb${'x'.repeat(2000)}` } })).state;
    expect(steps![0]!.why).toMatch(/^a\\nbx+…$/);
    expect(steps![0]!.why).toHaveLength(200);
  });
});

describe('an approval', () => {
  const approve = { revision: 'new', wave: 1, by: 'ann', why: 'looks good' };
  const stepsAfter = (state: SetState, more?: Partial<PlanInput>) => planned(state, more).state.steps!;

  test('is recorded once, and again where it is another one', () => {
    const first = planned(asking({ approve })).state;
    expect(first.steps![0]).toMatchObject({ step: 'Approved', wave: 1, by: 'ann', verified: true, why: 'looks good' });
    expect(stepsAfter(first)).toEqual(first.steps);
    const second = stepsAfter(asking({ approve: { ...approve, wave: 2, by: 'bob' } }, first));
    expect(second.map(({ step, wave, by }) => [step, wave, by])).toEqual([
      ['Approved', 2, 'bob'],
      ['Approved', 1, 'ann'],
      ['Started', undefined, undefined],
    ]);
  });

  test('of an earlier relet, which no policy checked, is shown as unverified', () => {
    const { steps: _, ...old } = asking({ approve });
    expect(stepsAfter(old)[0]).toMatchObject({ step: 'Approved', by: 'ann' });
    expect(stepsAfter(old)[0]).not.toHaveProperty('verified');
  });

  test('of another revision is not recorded', () => {
    expect(stepsAfter(asking({ approve: { ...approve, revision: 'old' } }))).toEqual(started.steps);
  });
});

describe('a pause', () => {
  const isPaused = { paused: true, pauser: { by: 'ann', why: 'fan noise' } };

  test('names the person of the annotations, and the next who resumes without one is not taken for her', () => {
    const { state, waiting } = planned(started, isPaused);
    expect(state.steps![0]).toMatchObject({ step: 'Paused', by: 'ann', verified: true, why: 'fan noise' });
    expect(waiting).toBe(`ann paused the rollout: "fan noise"; 'relet rollout resume gpu' continues`);
    expect(planned(state, isPaused).state.steps).toEqual(state.steps);
    const resumed = planned(state).state.steps!;
    expect(stepText(resumed[0]!)).toBe('the rollout was resumed without relet (spec.paused)');
  });

  test('from Git has no name', () => {
    const { state, waiting } = planned(started, { paused: true });
    expect(stepText(state.steps![0]!)).toBe('the rollout was paused without relet (spec.paused)');
    expect(waiting).toBe("paused by spec.paused; 'relet rollout resume gpu' continues");
  });
});

describe('a result', () => {
  const texts = (state: SetState) => state.steps!.map(stepText);

  test('a failure is recorded when it happens, with node, reason and message, and so is the halt', () => {
    const { state } = planned(started, { nodes: [crashed('a'), node('b')] });
    expect(state.steps![1]).toEqual({ at, step: 'Failed', revision: 'new', node: 'a', ...failure });
    expect(texts(state).slice(0, 2)).toEqual([
      expect.stringMatching(/^revision new halted: 1 failed, 0 allowed: a \(the kubelet kept crashing\)/),
      'revision new failed on a (CrashLoop): the kubelet kept crashing',
    ]);
    expect(planned(state, { nodes: [crashed('a'), node('b')] }).state.steps).toEqual(state.steps);
    const repaired = planned(state, { nodes: [node('a', claimed({ state: 'active' })), node('b')] });
    expect(repaired.state.steps).toEqual(state.steps);
  });

  test('of many failures the first five are recorded, and again those after a retry', () => {
    const nodes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(crashed);
    const { state } = planned(started, { nodes });
    const failures = (all: SetState) => all.steps!.filter(({ step }) => step === 'Failed').map((one) => one.node);
    expect(failures(state)).toEqual(['e', 'd', 'c', 'b', 'a']);
    const retried = planned(asking({ request: { ...abort, action: 'Retry' } }, state), { nodes: [node('a')] }).state;
    const again = crashed('g');
    again.claim!.at = rfc3339(nowMs + 1000);
    expect(failures(planned(retried, { nodes: [again], nowMs: nowMs + 2000 }).state)).toHaveLength(6);
  });

  test('a rollback and its cause, completion, and the revision that supersedes another are recorded', () => {
    const rolledBack = planned(started, { nodes: [crashed('a')], strategy: { onFailure: 'Rollback' } }).state;
    expect(texts(rolledBack)[0]).toMatch(/^revision new is rolled back: 1 failed, 0 allowed: a/);
    const done = planned(started, { nodes: [node('a', claimed({ state: 'active' }))] }).state;
    expect(texts(done)[0]).toBe('revision new is complete');
    expect(planned(done, { nodes: [node('a', claimed({ state: 'active' }))] }).state.steps).toEqual(done.steps);
    expect(texts(planned(done, { desired: desired('next') }).state).slice(0, 2)).toEqual([
      'revision next started',
      'revision new is complete',
    ]);
    expect(texts(planned(started, { desired: desired('next') }).state).slice(0, 2)).toEqual([
      'revision next started',
      'revision new is superseded by the config in the spec',
    ]);
  });

  test('there is a limit, and the newest stay', () => {
    let state = started;
    for (let i = 1; i <= 40; i++)
      for (const paused of [true, false]) state = planned(state, { paused, pauser: { by: `p${i}` } }).state;
    expect(state.steps).toHaveLength(mostSteps);
    expect(state.steps![0]).toMatchObject({ step: 'Resumed', by: 'p40' });
  });
});

describe('Events', () => {
  const ready = (reason: string, message = ''): NodeConfigCondition[] => [
    { type: 'Ready', status: 'False', reason, message, lastTransitionTime: at },
  ];

  test('each step of a person and each failure is one, and what the condition names is not repeated', () => {
    const before = { conditions: ready('AwaitingApproval'), steps: started.steps! };
    const now: NodeConfigSetStatus = {
      conditions: ready('RollingOut', 'The config is being rolled out.'),
      steps: [
        { at, step: 'Failed', revision: 'new', node: 'a', ...failure },
        { at, step: 'Approved', revision: 'new', wave: 1, by: 'ann', verified: true },
        ...started.steps!,
      ],
    };
    expect(eventsOf(before, now)).toEqual([
      { type: 'Normal', reason: 'Approved', message: 'ann approved wave 1 of revision new' },
      {
        type: 'Warning',
        reason: 'NodeFailed',
        message: 'revision new failed on a (CrashLoop): the kubelet kept crashing',
      },
      { type: 'Normal', reason: 'RollingOut', message: 'The config is being rolled out.' },
    ]);
    expect(eventsOf(now, now)).toEqual([]);
    const aborted = { ...now, conditions: ready('Aborted', 'ann aborted it'), steps: [...now.steps!] };
    aborted.steps.unshift({ at, step: 'Aborted', revision: 'new', by: 'ann' });
    expect(eventsOf(now, aborted).map(({ reason }) => reason)).toEqual(['Aborted']);
  });
});
