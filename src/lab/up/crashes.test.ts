/** What `relet up` reports of a kubelet that does not stay up. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { type Crashes, lastLines, watchCrashes } from './crashes.js';

let dir: string;
let log: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'relet-crashes-'));
  log = join(dir, 'log');
  mkdirSync(join(dir, 'meta'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const record = (count: number, blame = 'config', at = `2026-11-15T23:33:${10 + count}Z`) =>
  writeFileSync(join(dir, 'meta/last-exit'), JSON.stringify({ at, why: 'exit code 1', blame, count }));

async function watching(work: (clock: ManualClock) => Promise<void>): Promise<Crashes[]> {
  const clock = new ManualClock();
  const stop = new AbortController();
  const reports: Crashes[] = [];
  const over = watchCrashes({ dir, log, clock, signal: stop.signal, report: (crashes) => reports.push(crashes) });
  await work(clock);
  stop.abort();
  await over;
  return reports;
}

test('a kubelet that keeps crashing is reported at once, and again while it continues, not at every crash', async () => {
  const reports = await watching(async (clock) => {
    for (let second = 1; second <= 32; second++) {
      record(second);
      await clock.advance(1000);
    }
  });
  expect(reports.map(({ count }) => count)).toEqual([1, 16, 31]);
  expect(reports[0]).toMatchObject({ why: 'exit code 1' });
});

test('an exit that is not the fault of the config, or of an earlier run, is not reported', async () => {
  record(3);
  const reports = await watching(async (clock) => {
    await clock.advance(1000);
    record(4, 'none');
    await clock.advance(1000);
  });
  expect(reports).toEqual([]);
});

test('the last lines are the errors of the kubelet, or all lines where it has none', () => {
  expect(lastLines(log)).toEqual([]);
  appendFileSync(log, '{"level":"info","event":"kubelet started"}\ncannot open shared object file\n');
  expect(lastLines(log).at(-1)).toBe('cannot open shared object file');
  const error = 'E1115 20:19:54.250432 20375 run.go:74] "command failed" err="failed to run Kubelet: no runtime"';
  appendFileSync(log, `${error}\nI1115 20:19:54.250432 20375 server.go:302] "harmless"\n`);
  expect(lastLines(log)).toEqual([error]);
});
