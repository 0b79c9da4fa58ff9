/** What follows from the end of a trial: records, a line in the log, an event. */
import { ConfigError } from '../../api/config-error.js';
import { type ExactRef, formatRef } from '../../api/config-ref.js';
import { betaError } from '../../api/upstream-words.js';
import type { AgentParts } from '../agent-parts.js';
import * as events from '../report/events.js';
import type { Run } from '../run.js';
import type { NodeState } from '../state/node-state.js';
import type { ApiSide } from '../sync/api-side.js';
import { failTrial, passTrial } from '../transitions.js';
import { environmentOf, pathsIn } from './retry.js';
import type { TrialEnd } from './trial.js';
import { trialRecord } from './trial.js';

export function concludeTrial(parts: AgentParts, api: ApiSide | undefined, run: Run, end: TrialEnd): void {
  const { state, clock, log, counters } = parts;
  const { source, rank } = run.choice;
  if (end.kind === 'graduate' && !run.onTrial) {
    state.remove(trialRecord);
    run.trial = undefined;
    return;
  }
  if (end.kind === 'graduate') {
    passTrial(state, run.choice);
    run.trial = undefined;
    counters.graduations++;
    log.info('config graduated', { config: formatRef(source, 'log'), rank });
    if (source && rank === 'assigned') api?.tell(events.graduated(source));
    return;
  }
  const environment = environmentOf(parts, pathsNamedBy(state, source));
  failTrial(state, run.choice, end, { at: new Date(clock.now()), environment });
  run.trial = undefined;
  counters.rollbacks++;
  const error = betaError(new ConfigError(end.reason, end.cause));
  log.error('config rolled back', { config: formatRef(source, 'log'), error, cause: end.cause });
  api?.tell(events.rolledBack(source, error, end.cause));
}

function pathsNamedBy(state: NodeState, source: ExactRef | undefined): string[] {
  try {
    return source ? pathsIn(state.checkpoints.load(source).config.toString('utf8')) : [];
  } catch {
    // A checkpoint that is gone or damaged is reported by whoever wants to start it.
    return [];
  }
}
