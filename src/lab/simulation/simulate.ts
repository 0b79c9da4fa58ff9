/** Runs schedules by seed, and shortens the one that breaks a promise. `npm run simulate` and the tests start here. */
import type { KubeObject } from '../../api/object.js';
import { formatEntry } from './history.js';
import { findViolations, hasConverged, type Violation } from './model.js';
import { runSchedule, type ScheduleRun } from './run-schedule.js';
import { makeSchedule, type Schedule } from './schedule.js';

export interface SimulationResult {
  run: ScheduleRun;
  violations: Violation[];
}

export async function simulate(schedule: Schedule, manifests: readonly KubeObject[]): Promise<SimulationResult> {
  const run = await runSchedule(schedule, manifests, hasConverged);
  return { run, violations: findViolations(run) };
}

/** Leaves out actions for as long as the same promise is still broken. */
export async function shorten(result: SimulationResult, manifests: readonly KubeObject[]): Promise<SimulationResult> {
  const { promise } = result.violations[0]!;
  let shortest = result;
  for (let at = shortest.run.schedule.actions.length - 1; at >= 0; at--) {
    const { schedule } = shortest.run;
    const actions = schedule.actions.filter((_, index) => index !== at);
    if (!isPossible(actions)) continue;
    const shorter = await simulate({ ...schedule, actions }, manifests);
    if (shorter.violations[0]?.promise === promise) shortest = shorter;
  }
  return shortest;
}

/** A config is created before it is used. */
function isPossible(actions: Schedule['actions']): boolean {
  const created = new Set<string>();
  return actions.every((action) => {
    if (action.kind === 'create') created.add(action.config.name);
    if (action.kind === 'edit') return created.has(action.config.name);
    return action.kind !== 'assign' || created.has(action.config);
  });
}

/** For people: the promises that were broken, and what happened. */
export function describe({ run, violations }: SimulationResult): string {
  const lines = violations.map(
    ({ promise, atMs, what }) => `promise ${promise} at ${(atMs / 1000).toFixed(3)} s: ${what}`,
  );
  return [...lines, '', ...run.history.entries.map(formatEntry)].join('\n');
}

export { makeSchedule };
