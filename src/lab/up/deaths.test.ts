/** What a log tells of a kubelet that does not stay up. */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { deathsIn, followDeaths } from './deaths.js';

const started = '2026-11-15T23:33:01.931Z INFO  kubelet started pid=1 command=kubelet';
const died = (why: string) => `2026-11-15T23:33:02.392Z WARN  kubelet exited why=${why} blame=config`;

describe('deaths', () => {
  test('none', () => expect(deathsIn(`${started}\nI1115 all is well\n`)).toBeUndefined());

  test('the last words are the kubelet’s errors before the last death, not relet’s lines nor what came after', () => {
    const log = [
      started,
      'E1115 20:19:54.250432 20375 server.go:302] "first"',
      died('"exit code 1"'),
      started,
      'I1115 20:19:54.250432 20375 server.go:302] "harmless"',
      'E1115 20:19:54.250432 20375 run.go:74] "command failed" err="failed to run Kubelet: no runtime"',
      died('"exit code 1"'),
      'E1115 20:19:54.250432 20375 server.go:302] "later"',
    ];
    expect(deathsIn(log.join('\n'))).toEqual({ count: 2, why: 'exit code 1', words: [log[1], log[5]] });
  });

  test('of one that does not complain as kubelets do, whatever it said', () => {
    expect(deathsIn(`${started}\ncannot open shared object file\n${died('SIGSEGV')}\n`)).toEqual({
      count: 1,
      why: 'SIGSEGV',
      words: ['cannot open shared object file'],
    });
  });
});

test('a kubelet that keeps crashing is reported at once, and again while it continues, not at every crash', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'relet-deaths-'));
  const log = join(dir, 'log');
  const clock = new ManualClock();
  const stop = new AbortController();
  const counts: number[] = [];
  const following = followDeaths({
    log,
    from: 0,
    clock,
    signal: stop.signal,
    report: ({ count }) => counts.push(count),
  });
  for (let second = 0; second < 32; second++) {
    appendFileSync(log, `${died('"exit code 1"')}\n`);
    await clock.advance(1000);
  }
  stop.abort();
  await following;
  rmSync(dir, { recursive: true });
  expect(counts).toHaveLength(3);
  expect(counts[2]).toBeGreaterThan(counts[1]!);
});
