/**
 * Every change of what a node remembers, as short orders of writes. Each order is chosen so that a crash between any two
 * writes leaves a state that boots: a record names only complete checkpoints, and a way back is kept before it is needed.
 */
import { ConfigError } from '../api/config-error.js';
import type { ExactRef } from '../api/config-ref.js';
import type { Log } from '../log.js';
import { type Choice, type FailedBefore, isLastKnownGood } from './choose.js';
import type { InHand, Memory, Recorded } from './state/memory.js';
import { type Environment, type Failure, type Verdicts, withoutFailures, withVerdict } from './state/verdicts.js';
import type { Resolved } from './sync/resolve.js';
import type { Trial, TrialFailure } from './trial/trial.js';

/** Saves what was downloaded. True when it was not there, or no longer whole. */
export function checkpoint(memory: Memory, { source, payload }: Resolved): boolean {
  const about = { uid: source.uid };
  try {
    memory.checkpoints.exists(source);
  } catch (cause) {
    throw new ConfigError('CheckpointUnreadable', cause, about);
  }
  try {
    return memory.checkpoints.save(source, payload);
  } catch (cause) {
    throw new ConfigError('CheckpointNotSaved', cause, about);
  }
}

/** From now on this is assigned. `replaces` is what ran well so far: after a reset it is the way back. */
export function assign(memory: Memory, source: ExactRef | undefined, replaces: ExactRef | undefined): void {
  try {
    if (source === undefined && replaces !== undefined) memory.wayBack.write(replaces);
    memory.assign(source);
    if (source !== undefined) memory.wayBack.remove();
  } catch (cause) {
    if (source !== undefined) throw new ConfigError('AssignmentNotSaved', cause, { uid: source.uid });
    // Where local runs already, only the record had to change.
    throw new ConfigError(replaces === undefined ? 'DefaultNotSaved' : 'ResetNotSaved', cause);
  }
}

/** An edit in place, or the same again, is no new assignment. */
export function isAnotherAssignment(memory: Memory, source: ExactRef | undefined): boolean {
  const present = sourceOf(memory.assigned());
  return source?.uid !== present?.uid || source?.kubeletConfigKey !== present?.kubeletConfigKey;
}

/** A new chance: what failed before may be tried again. */
export function forgetFailures(memory: Memory): void {
  const verdicts = memory.verdicts.read();
  if (verdicts !== undefined) memory.verdicts.write(withoutFailures(verdicts));
}

/** The trial is over and all was well. What is assigned and runs becomes last known good. */
export function graduate(memory: Memory, choice: Choice): void {
  if (choice.rank === 'assigned') becomeLastKnownGood(memory, choice.source);
  if (choice.source !== undefined) remember(memory, choice.key, { kind: 'proven' });
  memory.trial.remove();
}

/** What is assigned runs, and has proven itself before: last known good follows it. If not now, then at the next chance. */
export function settleOn(memory: Memory, source: ExactRef | undefined, log: Log): void {
  try {
    becomeLastKnownGood(memory, source);
  } catch (cause) {
    log.error('last known good cannot be written', { cause });
  }
}

function becomeLastKnownGood(memory: Memory, source: ExactRef | undefined): void {
  memory.setLastKnownGood(source);
  memory.wayBack.remove();
}

/** It failed: not started again until the assignment, the kubelet, the flags or a file that it names changes. */
export function fail(
  memory: Memory,
  choice: Choice,
  { reason, cause }: TrialFailure,
  { at, environment }: { at: Date; environment: Environment },
): void {
  const { key } = choice;
  const before = memory.verdicts.read()?.[key];
  const failures = (before?.kind === 'accepted' ? (before.failures ?? 0) : 0) + 1;
  const retryOnce = isLastKnownGood(memory, choice) && !memory.trial.read()?.isRetry;
  const failure: Failure = { kind: 'failed', reason, cause, at: at.toISOString(), failures, environment };
  remember(memory, key, { ...failure, ...(retryOnce && { retryOnce }) });
  memory.trial.remove();
}

/** One more start for a config that failed: it may run, and the first crash is one too many. */
export function retry(
  memory: Memory,
  { key, failure }: FailedBefore,
  count: Pick<Trial, 'key' | 'deaths' | 'bootId'>,
): void {
  const before = { nodeReady: false, apiAnswered: false, staticPods: false };
  // First the count: a crash between the two writes leaves a config that failed.
  memory.trial.write({ ...count, healthyMs: 0, before, isRetry: true });
  remember(memory, key, { kind: 'accepted', failures: failure.failures ?? 1 });
}

/** Takes away what nothing names any more. Never fails a pass: what cannot go today goes next time. */
export function tidy(memory: Memory, log: Log, inHand: InHand): void {
  try {
    memory.collect(inHand);
  } catch (cause) {
    log.warn('old checkpoints not deleted', { cause });
  }
}

/** An unreadable record names nothing. */
export function sourceOf(recorded: Recorded): ExactRef | undefined {
  return 'source' in recorded ? recorded.source : undefined;
}

function remember(memory: Memory, key: string, verdict: Verdicts[string]): void {
  memory.verdicts.write(withVerdict(memory.verdicts.read(), key, verdict));
}
