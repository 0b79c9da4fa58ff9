/** Report of `relet up` about a kubelet that does not stay up. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import { temporaryDir } from '../../../test/temporary-dir.js';
import { type Crashes, watchCrashes } from './crashes.js';

let dir: string;
beforeEach(() => {
  dir = temporaryDir();
  mkdirSync(join(dir, 'meta'));
});

const record = (count: number, blame = 'config', at = `2026-11-15T23:33:${10 + count}Z`) =>
  writeFileSync(
    join(dir, 'meta/last-exit'),
    JSON.stringify({ at, why: 'exit code 1', error: 'no runtime', blame, count }),
  );

async function watching(work: (clock: ManualClock) => Promise<void>): Promise<Crashes[]> {
  const clock = new ManualClock();
  const stop = new AbortController();
  const reports: Crashes[] = [];
  const over = watchCrashes({ dir, clock, signal: stop.signal, report: (crashes) => reports.push(crashes) });
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
  expect(reports[0]).toEqual({ count: 1, why: 'exit code 1', error: 'no runtime' });
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
