/** Retries during an outage: they wait until the server is reachable, which one probe at a time finds out. */

import { describe, expect, test } from 'vitest';
import { fixedRandom } from '../../test/fixed-random.js';
import { ManualClock } from '../../test/manual-clock.js';
import { deadline, Reachability } from './requester.js';
import { ConnectionError } from './transport.js';

const refused = () => new ConnectionError('GET /version', Object.assign(new Error(), { code: 'ECONNREFUSED' }));

function setUp({ random = 0, probe }: { random?: number; probe?: () => Promise<unknown> } = {}) {
  const clock = new ManualClock();
  const probedMs: number[] = [];
  const reachability = new Reachability({
    clock,
    random: fixedRandom(random),
    probe: () => {
      probedMs.push(clock.monotonic());
      return probe?.() ?? Promise.reject(refused());
    },
  });
  const stop = new AbortController();
  const ended: string[] = [];
  const pause = (name: string, ms: number, signal = stop.signal) =>
    void reachability.waitBeforeRetry(ms, signal).then(
      () => ended.push(name),
      () => ended.push(`${name} aborted`),
    );
  return { clock, reachability, probedMs, stop, ended, pause };
}

describe('reachability', () => {
  test('a retry waits its backoff while the server answers', async () => {
    const { clock, ended, pause, probedMs } = setUp();
    pause('a', 8000);
    await clock.advance(7999);
    expect(ended).toEqual([]);
    await clock.advance(1);
    expect([ended, probedMs]).toEqual([['a'], []]);
  });

  test('after an outage of any length all retries proceed with the first response', async () => {
    const { clock, reachability, ended, pause, probedMs } = setUp();
    reachability.lost();
    for (const name of ['list', 'status', 'sync']) pause(name, 200);
    await clock.advance(120_000);
    expect(ended).toEqual([]);
    const probes = probedMs.length;
    reachability.answered();
    await clock.advance(0);
    expect(ended).toEqual(['list', 'status', 'sync']);
    await clock.advance(60_000);
    expect(probedMs).toHaveLength(probes);
    expect(clock.sleeping).toEqual([]);
  });

  test('one probe is sent for all retries, soon at first and every 5 s later', async () => {
    const { clock, reachability, pause, probedMs } = setUp();
    reachability.lost();
    for (const name of ['list', 'status', 'sync']) pause(name, 0);
    await clock.advance(22_000);
    expect(probedMs).toEqual([200, 600, 1400, 3000, 6200, 11_200, 16_200, 21_200]);
  });

  test('probes have jitter, so that many nodes do not connect at the same moment', async () => {
    const { clock, reachability, pause, probedMs } = setUp({ random: 1 });
    reachability.lost();
    pause('a', 0);
    await clock.advance(3000);
    expect(probedMs).toEqual([100, 300, 700, 1500]);
  });

  test('a request that fails while the server is reachable keeps its backoff', async () => {
    const { clock, reachability, ended, pause } = setUp();
    reachability.lost();
    pause('broken', 8000);
    reachability.answered();
    await clock.advance(7999);
    expect(ended).toEqual([]);
  });

  test('a probe that fails for another reason than the connection ends the wait', async () => {
    const { clock, reachability, ended, pause } = setUp({ probe: () => Promise.reject(new Error('no credentials')) });
    reachability.lost();
    pause('a', 0);
    await clock.advance(200);
    expect(ended).toEqual(['a']);
  });

  test('an aborted retry leaves no timer, and does not end the probes of others', async () => {
    const { clock, reachability, ended, pause, stop, probedMs } = setUp();
    const other = new AbortController();
    reachability.lost();
    pause('a', 0);
    pause('b', 0, other.signal);
    await clock.advance(1000);
    stop.abort();
    await clock.advance(1000);
    expect(ended).toEqual(['a aborted']);
    expect(probedMs).toHaveLength(3);
    other.abort();
    await clock.advance(0);
    expect(ended).toEqual(['a aborted', 'b aborted']);
    expect(clock.sleeping).toEqual([]);
  });
});

test('twenty requests at once with one signal print no warning of a leak', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  const clock = new ManualClock();
  const stop = new AbortController();
  const limits = Array.from({ length: 20 }, () => deadline(clock, 1000, stop.signal, 'request'));
  const signals = limits.map(({ signal }) => signal);
  await clock.advance(0);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
  stop.abort();
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  for (const limit of limits) limit.done();
});
