/** Catalogue entries for eviction: the thresholds at which the kubelet evicts pods to save the node. */
import { parseFloat32 } from '../../go/float.js';
import type { Change } from '../diff.js';
import { direction, isLowered, isRaised, isStaticMemory, isTurnedOff, keyOf, rejecting } from './directions.js';
import type { Case, Entries, Situation } from './entry.js';

const watcher = 'Thresholds are read once, when the eviction manager starts; it applies them within seconds.';

/** The resource of which a percentage of a signal is taken. */
const capacities: Readonly<Record<string, string>> = {
  'memory.available': 'memory',
  'allocatableMemory.available': 'memory',
  'nodefs.available': 'ephemeral-storage',
};

/** 0% and 100% turn a threshold off. A percentage is a quantity where the capacity is known. */
function amount(value: unknown, capacity: bigint | undefined): bigint | string {
  const text = String(value ?? '0%');
  if (text === '0%' || text === '100%') return 0n;
  if (!text.endsWith('%')) return text;
  const percent = parseFloat32(text.slice(0, -1));
  if (percent === undefined || capacity === undefined) return text;
  return (capacity * BigInt(Math.round(percent * 1000))) / 100_000n;
}

const isStricter = (change: Change, { facts }: Situation): boolean => {
  const capacity = facts.capacity?.[capacities[keyOf(change) ?? ''] ?? ''];
  // Without a capacity percentages can still be compared with each other.
  const of = (value: unknown) => amount(value, capacity ?? (isPercent(change) ? 10n ** 18n : undefined));
  return direction({ ...change, before: of(change.before), after: of(change.after) }) !== -1;
};

const isPercent = ({ before, after }: Change): boolean =>
  [before, after].every((value) => value === undefined || String(value).endsWith('%'));

const isMilder = (change: Change, situation: Situation): boolean => !isStricter(change, situation);

const lax = 'Pods may use more before the kubelet evicts any; the node itself may run out first.';
const strict = 'Pods are evicted within seconds where less than the new threshold is free now.';

/** The hard thresholds of memory and disk are also taken from what pods may request. */
const hardThreshold: readonly Case[] = [
  {
    when: 'memory.available, with memory manager policy Static',
    applies: (change, { before, after }) =>
      keyOf(change) === 'memory.available' && (isStaticMemory(before) || isStaticMemory(after)),
    needs: 'state-file',
    why: 'reservedMemory has to change with it, and the kubelet does not start when it differs from memory_manager_state under its root directory.',
  },
  { when: 'lowered or removed', applies: isMilder, risk: lax },
  ...rejecting({
    when: 'raised or added',
    applies: () => true,
    reasons: ['OutOfmemory', 'OutOfephemeral-storage'],
    why: 'Allocatable shrinks by it. The kubelet admits every pod again after a restart, oldest first, and not all fit.',
    risk: `The youngest pods that no longer fit fail, and a rollback does not bring them back. ${strict}`,
    otherwise: { risk: strict, pods: 'may be evicted' },
  }),
];

export const eviction: Entries = {
  evictionHard: {
    what: 'Thresholds at which pods are killed at once, such as memory.available: 100Mi. Naming one drops the defaults of the others.',
    needs: 'restart',
    why: watcher,
    risk: 'Raised above what is free now, pods are evicted within seconds. An unknown signal or a bad quantity stops the kubelet at start. It also lowers allocatable.',
    cases: hardThreshold,
  },
  evictionSoft: {
    what: 'Thresholds that must be crossed for a while before pods are evicted. Each needs a grace period.',
    needs: 'restart',
    why: watcher,
    risk: 'A signal without its grace period, or a bad quantity, stops the kubelet at start.',
    cases: [
      { when: 'lowered or removed', applies: isMilder, risk: lax },
      {
        when: 'raised or added',
        applies: () => true,
        risk: 'Pods are evicted after the grace period where less than the new threshold is free now.',
        pods: 'may be evicted',
      },
    ],
  },
  evictionSoftGracePeriod: {
    what: 'How long a soft threshold must be crossed before pods are evicted.',
    needs: 'restart',
    why: watcher,
    risk: 'Short periods turn brief peaks into evictions.',
    cases: [
      {
        when: 'raised',
        applies: isRaised,
        risk: 'Pods use the memory or disk that is left for longer before they are evicted.',
      },
      { when: 'lowered', applies: isLowered, pods: 'may be evicted' },
    ],
  },
  evictionPressureTransitionPeriod: {
    what: 'How long a node reports pressure after it is over.',
    needs: 'restart',
    why: watcher,
    risk: 'Short values make the condition flap and pods come back too early; 0 counts as unset.',
  },
  evictionMaxPodGracePeriod: {
    what: 'Longest time, in seconds, a pod gets to end in a soft eviction.',
    needs: 'restart',
    why: watcher,
    risk: 'Short values cut off clean-up; long ones let the node run into the hard threshold.',
  },
  evictionMinimumReclaim: {
    what: 'How far below a threshold an eviction must bring the use.',
    needs: 'restart',
    why: watcher,
    risk: 'Large values evict more pods than needed; none lets the node hover at the threshold.',
  },
  mergeDefaultEvictionSettings: {
    what: 'Whether thresholds left out of evictionHard keep their defaults.',
    needs: 'restart',
    why: watcher,
    risk: 'Turned on, thresholds come back that the node ran without until now, and pods may be evicted at once.',
    pods: 'may be evicted',
    cases: [{ when: 'turned off', applies: isTurnedOff, risk: lax, pods: 'unaffected' }],
  },
  kernelMemcgNotification: {
    what: 'Whether the kernel reports crossed memory thresholds, besides polling.',
    needs: 'restart',
    why: 'The listener is set up at start.',
    risk: 'Reacts faster, and also to peaks a poll would not have seen.',
  },
};
