/** Puts what is remembered and what runs into the report. */
import type { AgentParts } from './agent-parts.js';
import type { Run } from './run.js';
import { sourceOf } from './transitions.js';

export function announce({ memory, reporter }: Pick<AgentParts, 'memory' | 'reporter'>, run: Run | undefined): void {
  reporter.update({
    assigned: sourceOf(memory.assigned()),
    lastKnownGood: sourceOf(memory.lastKnownGood()),
    // A kubelet that has not answered yet is not active: until then the status keeps the one before.
    ...(run?.alive && { active: run.choice.source }),
    ...(run && { fault: run.choice.fault, warnings: [...run.choice.accepted.warnings, ...run.warnings] }),
  });
  if (run?.alive) reporter.publish();
}
