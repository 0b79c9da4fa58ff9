/**
 * How far a node is with a change that was just asked of it. Pure. An error counts only if it is about the reference that
 * was written. A NodeConfig's status says so (observedGeneration); a Node's does not, so what it reports about following
 * its reference is `doubtful` until it has been reported for a while.
 *
 *   asked ──► taken ──► active
 *     │         ├─────► rejected, rolled back
 *     └───────────────► cannot follow
 */

import { type ConfigRef, type NodeConfigSource, refOf, sameConfig } from '../api/config-ref.js';
import { configState, errorOutcome } from './config-state.js';
import type { ConfiguredNode } from './configured-node.js';

export type ChangeProgress =
  | { kind: 'asked'; error?: string }
  | { kind: 'taken' }
  | { kind: 'active'; ready: boolean; proven: boolean }
  /** `doubtful`: it may be about the reference that the node had before. */
  | { kind: 'rejected' | 'rolled back' | 'cannot follow'; error: string; doubtful?: true }
  | { kind: 'changed' };

export interface Wish {
  to: NodeConfigSource | undefined;
  /** The node as it was when the reference was written. */
  written: Pick<ConfiguredNode, 'generation' | 'status' | 'ready'>;
}

export function changeProgress(node: ConfiguredNode, { to, written }: Wish): ChangeProgress {
  const wanted = refOf(to);
  if (!sameConfig(wanted, refOf(node.configSource), 'name')) return { kind: 'changed' };
  const { assigned, active, lastKnownGood, error } = node.status;
  const isAbout = aboutWritten(node, written);
  if (isAbout === 'no') return { kind: 'asked', ...(error && { error }) };
  const kind = error === undefined ? undefined : errorOutcome(error, node.condition);
  if (kind === 'not followed')
    return { kind: 'cannot follow', error: error!, ...(isAbout === 'unknown' && { doubtful: true }) };
  if (!sameConfig(wanted, refOf(assigned), 'name')) return { kind: 'asked', ...(error && { error }) };
  if (kind === 'rejected' || kind === 'rolled back') {
    const wasAssigned = sameConfig(wanted, refOf(written.status.assigned), 'name');
    return { kind, error: error!, ...(isAbout === 'unknown' && wasAssigned && { doubtful: true }) };
  }
  if (kind === 'crashing' || !sameConfig(refOf(assigned), refOf(active), 'version')) return { kind: 'taken' };
  const ready = node.ready === 'True' || written.ready !== 'True';
  const proven = isProven(refOf(active), refOf(lastKnownGood));
  return { kind: 'active', ready, proven };
}

/** Whether the status is about the reference that was written, or about one before it. */
function aboutWritten(
  { observedGeneration }: ConfiguredNode,
  { generation }: Wish['written'],
): 'yes' | 'no' | 'unknown' {
  if (observedGeneration === undefined || generation === undefined) return 'unknown';
  return observedGeneration >= generation ? 'yes' : 'no';
}

const isProven = (active: ConfigRef | undefined, good: ConfigRef | undefined): boolean =>
  active === undefined || sameConfig(active, good, 'version');

/** What can still be waited for, as `relet wait --for` names it. */
export type Goal = 'active' | 'lastKnownGood' | 'ok';

/** `never`: it will not come by itself, something has to be done first. */
export function reaches(node: ConfiguredNode, goal: Goal): 'yes' | 'not yet' | 'never' {
  const state = configState(node);
  if (state === 'rejected' || state === 'rolled back') return 'never';
  if (state === 'waiting') return node.held === undefined ? 'not yet' : 'never';
  if (goal === 'ok') return node.status.error === undefined ? 'yes' : 'not yet';
  return goal === 'active' || state !== 'trial' ? 'yes' : 'not yet';
}
