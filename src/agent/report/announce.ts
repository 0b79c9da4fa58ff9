/** Puts what is remembered and what runs into the report. */
import type { TrialState } from '../../api/node-config.js';
import type { AgentParts } from '../agent-parts.js';
import type { Run } from '../run.js';
import { sourceOf } from '../transitions.js';
import { apiTime } from './report.js';

type Parts = Pick<AgentParts, 'memory' | 'reporter' | 'clock' | 'options'>;

export function announce(parts: Parts, run: Run | undefined): void {
  const { memory, reporter } = parts;
  reporter.update({
    assigned: sourceOf(memory.assigned()),
    lastKnownGood: sourceOf(memory.lastKnownGood()),
    // A kubelet that has not answered yet is not active: until then the status keeps the one before.
    ...(run?.alive && { active: run.choice.source }),
    ...(run && {
      fault: (run.instead ?? run.choice).fault,
      warnings: [...run.choice.accepted.warnings, ...run.warnings],
      pinnedByFlags: run.choice.accepted.pinnedByFlags,
    }),
    trial: run && trialState(parts, run),
    held: memory.hold.read(),
  });
  if (run?.alive) reporter.publish();
}

function trialState({ clock, options }: Parts, { trial, healthy }: Run): TrialState | undefined {
  if (trial === undefined) return undefined;
  const remainingMs = Math.max(0, options.trial.durationMs - trial.healthyMs);
  const endsAt = apiTime(clock.now() + remainingMs);
  return { deaths: trial.deaths, healthySeconds: Math.floor(trial.healthyMs / 1000), ...(healthy && { endsAt }) };
}
