/**
 * How far a node is with a change that was just asked of it. Pure: looks at what the node reports now and what it had
 * reported before, so that an old error is not taken for an answer to the new config.
 *
 *   asked ──► taken ──► active
 *     │         ├─────► refused, rolled back
 *     └───────────────► cannot follow
 */
import {
  configState,
  errorKind,
  type SourceName,
  sameExactSource,
  sameReference,
  sourceName,
} from '../../api/config-state.js';
import type { NodeConfigSource } from '../../api/node-config-source.js';
import type { ConfiguredNode } from '../../kube/config-reference.js';

export type ChangeProgress =
  | { kind: 'asked'; error?: string }
  | { kind: 'taken' }
  | { kind: 'active'; ready: boolean; proven: boolean }
  /** `doubtful`: word for word what the node had reported before, so it may not have looked at the new config yet. */
  | { kind: 'refused' | 'rolled back' | 'cannot follow'; error: string; doubtful?: true }
  | { kind: 'changed' };

export interface Wish {
  to: NodeConfigSource | undefined;
  /** The error the node reported before the change; it says nothing about the new config. */
  errorBefore: string | undefined;
  /** The node was Ready before, so it is waited for until it is again. */
  readyBefore: boolean;
}

export function changeProgress(node: ConfiguredNode, { to, errorBefore, readyBefore }: Wish): ChangeProgress {
  const wanted = sourceName(to);
  if (!sameReference(wanted, sourceName(node.configSource))) return { kind: 'changed' };
  const { assigned, active, lastKnownGood, error } = node.status;
  if (!sameReference(wanted, sourceName(assigned))) return notTaken(error, errorBefore);
  const kind = error === undefined ? undefined : errorKind(error);
  if (kind === 'sync' && error !== errorBefore) return { kind: 'cannot follow', error: error! };
  if (kind === 'refused' || kind === 'rolled back')
    return { kind, error: error!, ...(error === errorBefore && { doubtful: true }) };
  if (!sameExactSource(sourceName(assigned), sourceName(active))) return { kind: 'taken' };
  const ready = node.ready === 'True' || !readyBefore;
  const proven = isProven(sourceName(active), sourceName(lastKnownGood));
  return { kind: 'active', ready, proven };
}

function notTaken(error: string | undefined, errorBefore: string | undefined): ChangeProgress {
  if (error === undefined) return { kind: 'asked' };
  if (errorKind(error) === 'sync' && error !== errorBefore) return { kind: 'cannot follow', error };
  return { kind: 'asked', error };
}

const isProven = (active: SourceName | undefined, good: SourceName | undefined): boolean =>
  active === undefined || sameExactSource(active, good);

/** What can still be waited for, as `relet wait --for` names it. */
export type Goal = 'active' | 'lastKnownGood' | 'ok';

/** `never`: it will not come by itself, something has to be done first. */
export function reaches(node: ConfiguredNode, goal: Goal): 'yes' | 'not yet' | 'never' {
  const state = configState(node);
  if (state === 'refused' || state === 'rolled back') return 'never';
  if (state === 'waiting') return 'not yet';
  if (goal === 'ok') return node.status.error === undefined ? 'yes' : 'not yet';
  return goal === 'active' || state !== 'trial' ? 'yes' : 'not yet';
}
