/** Decisions of a trial after each health check and each crash: pure functions, without a kubelet. */
import { describe, expect, test } from 'vitest';
import { explainExit } from './exit.js';
import {
  afterCheck,
  afterCrash,
  beginOrResume,
  counts,
  defaultTrialLimits,
  type Health,
  type Trial,
  type TrialCheck,
  unhealthyBefore,
} from './trial.js';

const before = { nodeReady: true, apiAnswered: true, staticPods: false };
const trial: Trial = { key: 'k', deaths: 0, healthyMs: 0, before, bootId: 'b' };
const well: Health = { alive: true, apiAnswers: true, readyAgain: true };
const seen = (change: Partial<TrialCheck> = {}): TrialCheck => ({
  trial,
  health: well,
  unhealthyMs: 0,
  apiSilentMs: 0,
  rebooted: false,
  ...change,
});

describe('a trial', () => {
  test.each<[string, Partial<TrialCheck>, string]>([
    ['continues while time is left', {}, 'continue'],
    ['ends well after its duration', { trial: { ...trial, healthyMs: 600_000 } }, 'passed'],
    [
      'does not end well while the kubelet is not healthy',
      { trial: { ...trial, healthyMs: 600_000 }, health: { ...well, alive: false } },
      'continue',
    ],
    [
      'fails when healthz is silent for the deadline',
      { health: { ...well, alive: false }, unhealthyMs: 60_000 },
      'NotHealthy',
    ],
    [
      'fails when the Node is not Ready again',
      { health: { ...well, readyAgain: false }, unhealthyMs: 60_000 },
      'NotHealthy',
    ],
    [
      'does not ask for a Ready that was not there before',
      {
        trial: { ...trial, before: { ...before, nodeReady: false } },
        health: { ...well, readyAgain: false },
        unhealthyMs: 60_000,
      },
      'continue',
    ],
    [
      'an API outage is not blamed',
      { health: { alive: true, apiAnswers: false, readyAgain: false }, apiSilentMs: 600_000 },
      'continue',
    ],
    [
      'an API server that is lost with the switch lets no trial pass',
      { trial: { ...trial, healthyMs: 600_000 }, health: { alive: true, apiAnswers: false, readyAgain: false } },
      'continue',
    ],
    [
      'an API that was never there is not waited for',
      {
        trial: { ...trial, healthyMs: 600_000, before: { ...before, apiAnswered: false } },
        health: { alive: true, apiAnswers: false, readyAgain: false },
      },
      'passed',
    ],
    [
      'with static pods a lost API is a failure',
      {
        trial: { ...trial, before: { ...before, staticPods: true } },
        health: { alive: true, apiAnswers: false, readyAgain: false },
        apiSilentMs: 60_000,
      },
      'APIServerLost',
    ],
    [
      'but not after a reboot, when it may only be slow',
      {
        trial: { ...trial, before: { ...before, staticPods: true } },
        health: { alive: true, apiAnswers: false, readyAgain: false },
        apiSilentMs: 60_000,
        rebooted: true,
      },
      'continue',
    ],
    [
      'after a reboot a Node may take its time',
      { health: { ...well, readyAgain: false }, unhealthyMs: 60_000, rebooted: true },
      'continue',
    ],
  ])('%s', (_name, change, expected) => {
    const step = afterCheck(seen(change), defaultTrialLimits);
    expect(step.kind === 'failed' ? step.reason : step.kind).toBe(expected);
  });

  test('a crash sets healthy time to zero, and the third one ends the trial', () => {
    let now: Trial = { ...trial, healthyMs: 599_000 };
    for (const expected of ['continue', 'continue', 'failed']) {
      const after = afterCrash(now, { why: 'exit code 1' }, defaultTrialLimits);
      expect(after.step.kind).toBe(expected);
      expect(after.trial.healthyMs).toBe(0);
      now = after.trial;
    }
  });

  test.each([
    [undefined, 'the kubelet crashed 3 times, last: exit code 1'],
    ['bind: address already in use', 'bind: address already in use; the kubelet crashed 3 times, last: exit code 1'],
  ])('the cause of a failed trial begins with the kubelet’s own error: %s', (error, cause) => {
    const { step } = afterCrash({ ...trial, deaths: 2 }, { why: 'exit code 1', error }, defaultTrialLimits);
    expect(step).toMatchObject({ reason: 'CrashLoop', cause });
  });

  test('the same bytes, version and flags continue a trial; anything else begins another', () => {
    const going = { ...trial, deaths: 2, healthyMs: 5 };
    expect(beginOrResume(going, { key: 'k', before, bootId: 'later' })).toEqual(going);
    expect(beginOrResume(going, { key: 'other', before, bootId: 'b' })).toEqual({ ...trial, key: 'other' });
  });

  test('time without the API that was there before does not count', () => {
    expect(counts(well, before)).toBe(true);
    expect(counts({ ...well, apiAnswers: false }, before)).toBe(false);
    expect(counts({ ...well, apiAnswers: false }, { ...before, apiAnswered: false })).toBe(true);
  });
});

test('time without health continues over a restart of relet, and starts again with the machine', () => {
  const before = { nodeReady: true, apiAnswered: true, staticPods: false };
  const trial = { key: 'k', deaths: 0, healthyMs: 0, before, bootId: 'a', unhealthy: { ms: 25_000, bootId: 'b' } };
  expect(unhealthyBefore(trial, 'b')).toBe(25_000);
  expect(unhealthyBefore(trial, 'c')).toBe(0);
  expect(unhealthyBefore(undefined, 'b')).toBe(0);
});

describe('whether a config is to blame for an exit', () => {
  const calm = { stopping: false, certificateExpired: false };
  test.each([
    ['an exit code of its own', { code: 1, signal: null }, calm, 'config'],
    ['a panic', { code: 2, signal: null }, calm, 'config'],
    ['a segmentation fault', { code: null, signal: 'SIGSEGV' as const }, calm, 'config'],
    ['a kill from outside', { code: null, signal: 'SIGKILL' as const }, calm, 'none'],
    ['a polite stop from outside', { code: 0, signal: null }, calm, 'none'],
    ['an expired certificate', { code: 1, signal: null }, { ...calm, certificateExpired: true }, 'none'],
    ['a machine going down', { code: 1, signal: null }, { ...calm, stopping: true }, 'none'],
    ['a missing binary', { code: null, signal: null, error: new Error('ENOENT') }, calm, 'none'],
  ])('%s', (_name, exit, circumstances, blame) => expect(explainExit(exit, circumstances).blame).toBe(blame));
});
