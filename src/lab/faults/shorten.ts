/**
 * Leaves out as much of a schedule as possible, while the same promise is still broken: first large parts of its actions, then smaller
 * ones, down to single ones. What remains is read by a person.
 */
import type { Action, Schedule } from './schedule.js';
import type { SimulationResult } from './simulate.js';

export interface ShortenOptions {
  run(schedule: Schedule): Promise<SimulationResult>;
  /** False once the person who waits has waited long enough. */
  mayContinue(): boolean;
}

export interface Shortened {
  shortest: SimulationResult;
  /** Actions of the schedule that it does without. */
  leftOut: number;
  /** Schedules that were tried. */
  runs: number;
  /** No single action can be left out any more; else the time was over. */
  isComplete: boolean;
}

export async function shorten(result: SimulationResult, { run, mayContinue }: ShortenOptions): Promise<Shortened> {
  const { promise } = result.violations[0]!;
  let shortest = result;
  let runs = 0;
  const actionsOf = () => shortest.run.schedule.actions;
  let size = Math.ceil(actionsOf().length / 2);
  let isChanged = false;
  for (let at = 0; size > 0; ) {
    if (!mayContinue()) break;
    const kept = actionsOf().filter((_, index) => index < at || index >= at + size);
    if (at < actionsOf().length && isPossible(kept)) {
      const shorter = await run({ ...shortest.run.schedule, actions: kept });
      runs++;
      if (shorter.violations.some((one) => one.promise === promise)) {
        shortest = shorter;
        isChanged = true;
        continue;
      }
    }
    at += size;
    if (at < actionsOf().length) continue;
    at = 0;
    // An action that could not be left out before may be useless without others.
    if (size > 1 || !isChanged) size = size > 1 ? Math.floor(size / 2) : 0;
    isChanged = false;
  }
  const leftOut = result.run.schedule.actions.length - actionsOf().length;
  return { shortest, leftOut, runs, isComplete: size === 0 };
}

/** A config is created before it is used. */
function isPossible(actions: readonly Action[]): boolean {
  const created = new Set<string>();
  return actions.every((action) => {
    if (action.kind === 'create') created.add(action.config.name);
    if (action.kind === 'edit') return created.has(action.config.name);
    return action.kind !== 'assign' || created.has(action.config);
  });
}
