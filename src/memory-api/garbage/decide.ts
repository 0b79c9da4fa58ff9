/**
 * What the garbage collector does with one object. Pure: decides by the state of its owners and dependents.
 *
 *     an owner exists                keep it, drop references to owners that are deleted or being deleted
 *     all owners are deleted         delete it, dependents after it
 *     owners wait for it (foreground) delete it too, its own dependents first
 *     it is being deleted itself     orphan: remove it from its dependents; foreground: delete it once nothing blocks it
 */
import type { KubeObject } from '../../api/object.js';
import type { PropagationPolicy } from '../options.js';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

export type OwnerState =
  | 'there'
  /** It is in foreground deletion and waits for its dependents. */
  | 'waiting'
  | 'gone'
  /** Of a kind that is not served now, or one that cannot own this object: its state is unknown and nothing is done. */
  | 'unknown';

export type Action =
  | { kind: 'keep' }
  | { kind: 'forget-owners'; uids: string[] }
  | { kind: 'delete'; policy: PropagationPolicy; unblock: boolean }
  | { kind: 'free-dependents' }
  | { kind: 'wait-for-dependents' }
  | { kind: 'let-go'; finalizer: string };

export interface Surroundings {
  ownerState(uid: string): OwnerState;
  hasDependents: boolean;
  hasBlockingDependents: boolean;
  /** One of its dependents is in foreground deletion itself: they would wait for each other forever. */
  hasLeavingDependents: boolean;
}

export function decide({ metadata }: KubeObject, around: Surroundings): Action {
  const { finalizers = [], ownerReferences = [], deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return decideLeaving(finalizers, around);
  if (ownerReferences.length === 0) return { kind: 'keep' };
  const states = ownerReferences.map(({ uid }) => around.ownerState(uid));
  if (states.includes('unknown')) return { kind: 'keep' };
  if (states.includes('there')) {
    const uids = ownerReferences
      .filter((_, at) => states[at] === 'gone' || states[at] === 'waiting')
      .map(({ uid }) => uid);
    return uids.length === 0 ? { kind: 'keep' } : { kind: 'forget-owners', uids };
  }
  if (states.includes('waiting') && around.hasDependents) {
    return { kind: 'delete', policy: 'Foreground', unblock: around.hasLeavingDependents };
  }
  return { kind: 'delete', policy: policyOf(finalizers), unblock: false };
}

function decideLeaving(finalizers: string[], around: Surroundings): Action {
  if (finalizers.includes(orphanFinalizer)) {
    return around.hasDependents ? { kind: 'free-dependents' } : { kind: 'let-go', finalizer: orphanFinalizer };
  }
  if (!finalizers.includes(foregroundFinalizer)) return { kind: 'keep' };
  if (around.hasBlockingDependents) return { kind: 'wait-for-dependents' };
  return { kind: 'let-go', finalizer: foregroundFinalizer };
}

/** The object's finalizers may already set the policy for its dependents. */
function policyOf(finalizers: string[]): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}
