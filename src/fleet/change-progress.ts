/**
 * The progress of a node with a changed reference, and a watch until the change is over. An error counts only if it is about the
 * reference that was written. The status of a NodeConfig shows that (observedGeneration); that of a Node does not, so an error that may
 * be about the earlier reference is `uncertain` until it has been reported for a while.
 *
 *   assigned ──► accepted ──► active
 *     │            ├────────► rejected, rolled back
 *     └─────────────────────► cannot follow
 */
import { type ConfigRef, type NodeConfigSource, refOf, sameConfig } from '../api/config-ref.js';
import type { HeldState } from '../api/node-config.js';
import type { Clock } from '../clock.js';
import { agentPresence } from './agent-presence.js';
import { type ConfigReferences, type ConfiguredNode, configState, errorOutcome } from './configured-node.js';

export type ChangeProgress =
  | { kind: 'assigned'; error?: string }
  | { kind: 'accepted' }
  /** The local config is active, and relet has not left the host yet. */
  | { kind: 'detaching' }
  | { kind: 'active'; ready: boolean; trialPassed: boolean }
  /** `uncertain`: it may be about the reference that the node had before. */
  | { kind: 'rejected' | 'rolled back' | 'cannot follow'; error: string; uncertain?: true }
  | { kind: 'changed' };

export interface Assignment {
  to: NodeConfigSource | undefined;
  /** relet is to leave the host as well. */
  detach?: true | undefined;
  /** The node as it was when the reference was written. */
  written: Pick<ConfiguredNode, 'generation' | 'status' | 'ready'>;
}

/** Pure. */
export function changeProgress(node: ConfiguredNode, { to, detach, written }: Assignment): ChangeProgress {
  const wanted = refOf(to);
  if (!sameConfig(wanted, refOf(node.configSource), 'name')) return { kind: 'changed' };
  const { assigned, active, lastKnownGood, error } = node.status;
  const isAbout = aboutWritten(node, written);
  if (isAbout === 'no') return { kind: 'assigned', ...(error && { error }) };
  const kind = error === undefined ? undefined : errorOutcome(error, node.condition);
  if (kind === 'not followed')
    return { kind: 'cannot follow', error: error!, ...(isAbout === 'unknown' && { uncertain: true }) };
  if (!sameConfig(wanted, refOf(assigned), 'name')) return { kind: 'assigned', ...(error && { error }) };
  if (kind === 'rejected' || kind === 'rolled back') {
    const wasAssigned = sameConfig(wanted, refOf(written.status.assigned), 'name');
    return { kind, error: error!, ...(isAbout === 'unknown' && wasAssigned && { uncertain: true }) };
  }
  if (kind === 'crashing' || !sameConfig(refOf(assigned), refOf(active), 'version')) return { kind: 'accepted' };
  if (detach && configState(node) !== 'detached') return { kind: 'detaching' };
  const ready = node.ready === 'True' || written.ready !== 'True';
  return { kind: 'active', ready, trialPassed: hasPassedTrial(refOf(active), refOf(lastKnownGood)) };
}

/** Whether the status is about the reference that was written, or about one before it. */
function aboutWritten(
  { observedGeneration }: ConfiguredNode,
  { generation }: Assignment['written'],
): 'yes' | 'no' | 'unknown' {
  if (observedGeneration === undefined || generation === undefined) return 'unknown';
  return observedGeneration >= generation ? 'yes' : 'no';
}

const hasPassedTrial = (active: ConfigRef | undefined, good: ConfigRef | undefined): boolean =>
  active === undefined || sameConfig(active, good, 'document');

/** State to wait for, as `relet wait --for` names it. */
export type Goal = 'active' | 'lastKnownGood' | 'ok';

/** `never`: not without another change. What a node without an agent runs is not known. */
export function reaches(node: ConfiguredNode, goal: Goal, nowMs: number): 'yes' | 'not yet' | 'never' {
  if (agentPresence(node, nowMs).kind !== 'Present') return 'not yet';
  const state = configState(node);
  if (state === 'rejected' || state === 'rolled back') return 'never';
  if (state === 'waiting') return node.held === undefined ? 'not yet' : 'never';
  if (goal === 'ok') return node.status.error === undefined ? 'yes' : 'not yet';
  return goal === 'active' || state !== 'trial' ? 'yes' : 'not yet';
}

export type ChangeEnd =
  | { kind: 'active'; trialPassed: boolean }
  /** `reported`: the node as it was then. */
  | { kind: 'rejected' | 'rolled back' | 'cannot follow'; error: string; reported: ConfiguredNode }
  | { kind: 'held'; held: HeldState }
  | { kind: 'changed' | 'gone' | 'timed out' | 'interrupted' };

export interface WatchChange {
  references: ConfigReferences;
  clock: Clock;
  node: string;
  assignment: Assignment;
  timeoutMs: number;
  /** Ends the watch, with `interrupted`. */
  signal: AbortSignal;
  onProgress(text: string): void;
}

/**
 * How long the same uncertain error must be reported before it counts. The agent clears an old one when it has fetched and validated
 * the new config: it waits up to 5 s for permission, and validation takes a few more.
 */
const uncertainMs = 10_000;

/** Returns when the change is over or the time is. Never throws for what the node does; a watch that breaks is started again. */
export async function watchChange(options: WatchChange): Promise<ChangeEnd> {
  const { references, clock, node: name, assignment, timeoutMs, signal, onProgress } = options;
  const done = new AbortController();
  const end = (how: ChangeEnd) => done.abort(how);
  const endAfter = (ms: number, how: ChangeEnd, until: AbortSignal) =>
    void clock.sleep(ms, until).then(
      () => end(how),
      () => {},
    );
  let uncertain: { error: string; over: AbortController } | undefined;
  const onInterrupt = () => end({ kind: 'interrupted' });
  if (signal.aborted) onInterrupt();
  signal.addEventListener('abort', onInterrupt, { once: true });
  endAfter(timeoutMs, { kind: 'timed out' }, done.signal);
  const check = (node: ConfiguredNode | undefined) => {
    if (node === undefined) return end({ kind: 'gone' });
    const progress = changeProgress(node, assignment);
    if (progress.kind === 'assigned' && node.held !== undefined) return end({ kind: 'held', held: node.held });
    const over = endOf(progress, node);
    const error = 'uncertain' in progress ? progress.error : undefined;
    // The Node also changes for other reasons (heartbeats), and the time of the same error continues.
    if (uncertain?.error !== error) {
      uncertain?.over.abort();
      uncertain = error === undefined ? undefined : { error, over: new AbortController() };
      if (uncertain) endAfter(uncertainMs, over!, AbortSignal.any([uncertain.over.signal, done.signal]));
    }
    if (error !== undefined) onProgress(progressText({ kind: 'assigned', error }, node));
    else if (over !== undefined) end(over);
    else onProgress(progressText(progress, node));
  };
  try {
    await references.watch({
      name,
      signal: done.signal,
      onList: (present) => check(present.find((node) => node.name === name)),
      onChange: (node, gone) => check(gone ? undefined : node),
      onFailure: (error) => onProgress(`cannot be watched, trying again: ${(error as Error).message}`),
    });
    return done.signal.reason as ChangeEnd;
  } finally {
    done.abort();
    signal.removeEventListener('abort', onInterrupt);
  }
}

function endOf(progress: ChangeProgress, reported: ConfiguredNode): ChangeEnd | undefined {
  if (progress.kind === 'assigned' || progress.kind === 'accepted' || progress.kind === 'detaching') return undefined;
  if ('error' in progress) return { kind: progress.kind, error: progress.error, reported };
  if (progress.kind !== 'active') return progress;
  return progress.ready ? { kind: 'active', trialPassed: progress.trialPassed } : undefined;
}

/** Text that is printed during the wait. */
export function progressText(progress: ChangeProgress, { restartDelayedUntil, condition }: ConfiguredNode): string {
  const delayedUntil = /T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/.exec(restartDelayedUntil ?? '')?.[1];
  if (delayedUntil !== undefined && (progress.kind === 'assigned' || progress.kind === 'accepted'))
    return `restart delayed until ${delayedUntil} UTC (its config changed several times in a short time)`;
  switch (progress.kind) {
    case 'assigned': {
      // A rejection or rollback of the previous config no longer matters.
      const { error } = progress;
      const matters = error !== undefined && errorOutcome(error, condition) === 'not followed';
      return `waiting for the node to accept it${matters ? ` (it reports: ${error})` : ''}`;
    }
    case 'accepted':
      return 'accepted, restarting the kubelet';
    case 'detaching':
      return 'on its local config, waiting for relet to remove its files from the host';
    default:
      return 'active, waiting for the Node to be Ready again';
  }
}
