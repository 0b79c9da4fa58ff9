/**
 * Every change of the node state, each a short sequence of writes. The order is chosen so that a crash between any two writes leaves a
 * state that boots: a record names only complete checkpoints, and a fallback is recorded before it is needed.
 */
import { ConfigError } from '../api/config-error.js';
import { type ExactRef, sameConfig } from '../api/config-ref.js';
import type { Log } from '../log.js';
import { previousConfigRecord, type Records, recordsOf } from './candidates.js';
import { type Choice, type FailedBefore, hasBytesOfLastKnownGood } from './choose.js';
import { recentDocuments } from './documents.js';
import { childRecord } from './drivers/child.js';
import { raiseFloor, signingRecord } from './signing-record.js';
import { type NodeState, sourceOf } from './state/node-state.js';
import type { Resolved } from './sync/config-map.js';
import {
  type Environment,
  type Failure,
  resultOf,
  setResult,
  type Trial,
  type TrialFailure,
  trialRecord,
} from './trial/trial.js';

/** Saves the downloaded files. True if the checkpoint did not exist, or was damaged. */
export function checkpoint(state: NodeState, { source, payload }: Resolved): boolean {
  const about = { uid: source.uid };
  try {
    state.checkpoints.exists(source);
  } catch (cause) {
    throw new ConfigError('CheckpointUnreadable', cause, about);
  }
  try {
    // Beyond a signature that was checked, nothing takes the place of what was signed.
    return state.checkpoints.save(source, payload, { isFixed: state.read(signingRecord) !== undefined });
  } catch (cause) {
    throw new ConfigError('CheckpointNotSaved', cause, about);
  }
}

/**
 * Records a config as assigned. `replaces` is the config that was active so far. After a reset, or if it is not last known good itself
 * (a reset may follow), it is kept as a fallback until local was healthy once or another config has passed its trial.
 */
export function assign(state: NodeState, source: ExactRef | undefined, replaces: ExactRef | undefined): void {
  try {
    const { previous } = recordsAfterAssign(state, source, replaces);
    if (previous !== undefined && previous === replaces) state.write(previousConfigRecord, previous);
    state.assign(source);
  } catch (cause) {
    if (source !== undefined) throw new ConfigError('AssignmentNotSaved', cause, { uid: source.uid });
    // If local runs already, only the record had to change.
    throw new ConfigError(replaces === undefined ? 'DefaultNotSaved' : 'ResetNotSaved', cause);
  }
}

/** The records as assign() will leave them. */
export function recordsAfterAssign(
  state: NodeState,
  source: ExactRef | undefined,
  replaces: ExactRef | undefined,
): Records {
  const { previous, lastKnownGood } = recordsOf(state);
  const isGood = replaces !== undefined && sameConfig(sourceOf(lastKnownGood), replaces, 'document');
  const isKept = source === undefined || !isGood;
  return { assigned: { source }, previous: (isKept ? replaces : undefined) ?? previous, lastKnownGood };
}

/** An edit in place, or the same again, is not a new assignment. */
export function isAnotherAssignment(state: NodeState, source: ExactRef | undefined): boolean {
  const present = sourceOf(state.assigned());
  return source?.uid !== present?.uid || source?.kubeletConfigKey !== present?.kubeletConfigKey;
}

/** The trial is over and the kubelet was healthy. A config that is assigned becomes last known good. */
export function passTrial(state: NodeState, choice: Choice): void {
  if (choice.rank === 'assigned') setLastKnownGood(state, choice.source);
  if (choice.source === undefined) state.remove(previousConfigRecord);
  if (choice.source !== undefined) setResult(state, choice.key, { kind: 'passed' });
  state.remove(trialRecord);
}

/** The assigned config runs and passed its trial before: it becomes last known good. On failure, at the next opportunity. */
export function keepAsLastKnownGood(state: NodeState, source: ExactRef | undefined, log: Log): void {
  try {
    setLastKnownGood(state, source);
  } catch (cause) {
    log.error('last known good cannot be written', { cause });
  }
}

function setLastKnownGood(state: NodeState, source: ExactRef | undefined): void {
  // First: a crash between the two must not leave a config that could be replaced by an older one.
  raiseFloor(state, source);
  state.setLastKnownGood(source);
  state.remove(previousConfigRecord);
}

/** The trial failed: not started again until the assignment, the kubelet, the flags or a file that it names changes. */
export function failTrial(
  state: NodeState,
  choice: Choice,
  { reason, cause }: TrialFailure,
  { at, environment }: { at: Date; environment: Environment },
): void {
  const { key } = choice;
  const before = resultOf(state, key);
  const failures = (before?.kind === 'validated' ? (before.failures ?? 0) : 0) + 1;
  const retryOnce = hasBytesOfLastKnownGood(state, choice) && !state.read(trialRecord)?.isRetry;
  const failure: Failure = { kind: 'failed', reason, cause, at: at.toISOString(), failures, environment };
  setResult(state, key, { ...failure, ...(retryOnce && { retryOnce }) });
  state.remove(trialRecord);
}

/** One more start for a config that failed: the first crash fails it again. */
export function retry(
  state: NodeState,
  { key, failure }: FailedBefore,
  count: Pick<Trial, 'key' | 'deaths' | 'bootId'>,
): void {
  const before = { nodeReady: false, apiAnswered: false, staticPods: false };
  // First the count: a crash between the two writes leaves a config that failed.
  state.write(trialRecord, { ...count, healthyMs: 0, before, isRetry: true });
  setResult(state, key, { kind: 'validated', failures: failure.failures ?? 1 });
}

/** Deletes checkpoints that nothing names, but for the one that arrives. Never fails a pass: the next one tries again. */
export function garbageCollect(state: NodeState, log: Log, arriving: ExactRef | undefined): void {
  try {
    const child = state.read(childRecord);
    state.garbageCollect({
      sources: [arriving, state.read(previousConfigRecord), child?.source],
      documents: [child?.converted, ...recentDocuments(state)],
    });
  } catch (cause) {
    log.warn('old checkpoints not deleted', { cause });
  }
}
