/**
 * What the garbage collector does with one object. Pure: given how its owners are and who depends on it, what should become of it?
 *
 *     an owner is there              keep it, forget owners that are gone or going
 *     all owners are gone            delete it, dependents after it
 *     owners wait for it (foreground) delete it too, its own dependents first
 *     it goes itself                 orphan: free its dependents; foreground: go once nobody blocks it
 */
import type { KubeObject } from '../../../api/object.js';
import type { PropagationPolicy } from '../options.js';

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

export type OwnerState =
  | 'there'
  /** It goes in the foreground and waits for its dependents. */
  | 'waiting'
  | 'gone'
  /** Of a kind that is not served now, or one that cannot own this object: nothing is known, nothing is done. */
  | 'unknown';

export type Verdict =
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
  /** One of its dependents goes in the foreground itself: waiting for each other would never end. */
  hasLeavingDependents: boolean;
}

export function decide({ metadata }: KubeObject, around: Surroundings): Verdict {
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

function decideLeaving(finalizers: string[], around: Surroundings): Verdict {
  if (finalizers.includes(orphanFinalizer)) {
    return around.hasDependents ? { kind: 'free-dependents' } : { kind: 'let-go', finalizer: orphanFinalizer };
  }
  if (!finalizers.includes(foregroundFinalizer)) return { kind: 'keep' };
  if (around.hasBlockingDependents) return { kind: 'wait-for-dependents' };
  return { kind: 'let-go', finalizer: foregroundFinalizer };
}

/** An object may already say how its dependents are to be treated. */
function policyOf(finalizers: string[]): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}
