/** When a config that failed is started again although nobody assigned it again. */
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/manual-clock.js';
import { ConfigError } from '../api/config-error.js';
import { silentLog } from '../log.js';
import { FailedBefore } from './choose.js';
import { FailureRetry } from './failure-retry.js';
import { defaultTrialLimits, type Failure, type Results } from './trial/trial.js';

const failure: Failure = {
  kind: 'failed',
  reason: 'CrashLoop',
  cause: '',
  at: '2026-01-01T00:00:00Z',
  environment: { binary: 'b', files: { '/needed': 'ENOENT' } },
};

function setUp() {
  const clock = new ManualClock();
  const results: Results[] = [{ key: failure }];
  const machine = { content: 'ENOENT', reads: 0, applied: 0 };
  const state = { read: () => results[0], write: (_record: unknown, value: Results) => void results.unshift(value) };
  const hostFiles = {
    hasEntries: async () => false,
    contentOf() {
      machine.reads++;
      return machine.content;
    },
  };
  const driver = { fingerprint: () => 'b' };
  const options = { state, driver, hostFiles, limits: defaultTrialLimits, clock, log: silentLog };
  const retry = new FailureRetry({ ...options, current: { applyChoice: async () => void machine.applied++ } } as never);
  return { clock, machine, retry, results };
}

const choiceWith = (...failed: FailedBefore[]) =>
  ({ error: failed[0], passedOver: failed.map((error) => ({ source: undefined, error })) }) as never;

describe('a config that failed', () => {
  test('may be tried again after its fallback crashed as often, none of the crashes after it was healthy', () => {
    const { retry, results } = setUp();
    const choice = { error: new ConfigError('CrashLoop', '') } as never;
    const lifts = [false, false, true, false, false, false].map((healthy) =>
      retry.crashed({ choice, healthy, onTrial: false }),
    );
    expect(lifts).toEqual([false, false, false, false, false, true]);
    expect(results[0]).toEqual({});
  });

  test('is tried again when a file that it names has changed', async () => {
    const { clock, machine, retry } = setUp();
    const stop = new AbortController();
    const watching = retry.during({ choice: choiceWith(new FailedBefore('key', failure)) }, stop.signal);
    await clock.advance(90_000);
    expect(machine.applied).toBe(0);
    machine.content = 'there';
    await clock.advance(30_000);
    expect(machine.applied).toBe(1);
    stop.abort();
    await watching;
  });

  test('is the only reason to wake: without one no timer runs and no file is read', async () => {
    const { clock, machine, retry } = setUp();
    const stop = new AbortController();
    const run = { choice: choiceWith() };
    const watching = retry.during(run, stop.signal);
    await clock.advance(600_000);
    expect(clock.sleeping).toEqual([]);
    expect(machine.reads).toBe(0);
    run.choice = choiceWith(new FailedBefore('key', failure));
    retry.choiceChanged();
    await clock.advance(0);
    expect(clock.sleeping).toEqual([30_000]);
    stop.abort();
    await watching;
  });
});
