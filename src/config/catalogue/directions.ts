/** In which direction a value moves, and what that does to the pods of a node: the building blocks of the cases of entries. */
import { tryParseDuration } from '../../go/duration.js';
import { parseQuantity } from '../../go/quantity.js';
import { admissionFailures } from '../admission.js';
import type { Change } from '../diff.js';
import type { PodsEffect, Situation } from './entry.js';

/** A number, a duration or a quantity as one that can be compared; undefined for anything else. */
function size(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return BigInt(Math.trunc(value));
  return typeof value === 'string' ? (parseQuantity(value)?.nano ?? tryParseDuration(value)) : undefined;
}

/** -1 lowered, 1 raised; undefined where the two cannot be compared, as 100Mi and 5% cannot. A value that is not there is zero. */
function direction({ before, after }: Change): number | undefined {
  const [old, next] = [size(before ?? 0), size(after ?? 0)];
  return old === undefined || next === undefined ? undefined : old === next ? 0 : old < next ? 1 : -1;
}

export const isRaised = (change: Change): boolean => direction(change) === 1;
export const isLowered = (change: Change): boolean => direction(change) === -1;

/** The pods that the kubelet rejects for one of these reasons when it restarts; all of them where a reason is a prefix, `OutOf`. */
export const rejects =
  (...reasons: string[]) =>
  (_change: Change, situation: Situation): PodsEffect => {
    const failures = admissionFailures(situation);
    if (failures === undefined) return { kind: 'unknown' };
    const pods = failures.filter(({ reason }) => [...reasons, 'Preempting'].some((one) => reason.startsWith(one)));
    return pods.length === 0 ? { kind: 'unaffected' } : { kind: 'fail admission', pods };
  };
