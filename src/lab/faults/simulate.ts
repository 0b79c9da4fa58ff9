/** Runs a schedule and asks the model about it. `npm run simulate` and the tests start here. */
import type { KubeObject } from '../../api/object.js';
import { withoutStacks, withPlainSignals } from '../../rehearsal/simulation/process-wide.js';
import { formatEntry } from './history.js';
import { findViolations, hasConverged } from './model/model.js';
import type { Violation } from './model/violation.js';
import { runSchedule, type ScheduleRun } from './run-schedule.js';
import type { Schedule } from './schedule.js';

export interface SimulationResult {
  run: ScheduleRun;
  violations: Violation[];
}

export async function simulate(schedule: Schedule, manifests: readonly KubeObject[]): Promise<SimulationResult> {
  const run = await withoutStacks(() => withPlainSignals(() => runSchedule(schedule, manifests, hasConverged)));
  return { run, violations: findViolations(run) };
}

/** Entries that are shown; those before them are rarely of use. */
const mostEntries = 200;

/** For people: the promises that were broken, and what happened until then. */
export function describe({ run, violations }: SimulationResult): string {
  const lines = violations.map(
    ({ promise, atMs, what }) => `promise ${promise} at ${(atMs / 1000).toFixed(3)} s: ${what}`,
  );
  const before = run.history.entries.filter(({ atMs }) => atMs <= (violations[0]?.atMs ?? 0));
  const left = before.length - mostEntries;
  const omitted = left > 0 ? [`… ${left} entries before`] : [];
  return [...lines, '', ...omitted, ...before.slice(-mostEntries).map(formatEntry)].join('\n');
}
