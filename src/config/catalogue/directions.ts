/**
 * Directions of a change (raised, lowered, turned on, removed, …) and their effect on the pods of a node: the building blocks of
 * catalogue entries.
 */
import { tryParseDuration } from '../../go/duration.js';
import { parseQuantity } from '../../go/quantity.js';
import { admissionFailures, type PodFailure } from '../admission.js';
import type { Change } from '../diff.js';
import { getField, type KubeletConfig } from '../model.js';
import { meaningOf } from '../same-value.js';
import type { Case, PodsEffect, Situation } from './entry.js';

type Applies = Case['applies'];

/** A number, a duration or a quantity as one that can be compared; undefined for anything else. 1m is a minute, or a thousandth. */
function size(value: unknown, path: string): number | bigint | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const meaning = meaningOf(path.replace(/\[[^[\]]*\]$/s, '{}'));
  if (meaning === 'duration') return tryParseDuration(value);
  return meaning === 'quantity' ? parseQuantity(value)?.nano : undefined;
}

/** -1 lowered, 1 raised; undefined if the two cannot be compared. A value that is not there is zero. */
export function direction({ path, before, after }: Change): number | undefined {
  const [old, next] = [size(before ?? 0, path), size(after ?? 0, path)];
  return old === undefined || next === undefined ? undefined : old === next ? 0 : old < next ? 1 : -1;
}

export const isRaised: Applies = (change) => direction(change) === 1;
export const isLowered: Applies = (change) => direction(change) === -1;
export const isTurnedOn: Applies = ({ after }) => after === true;
export const isTurnedOff: Applies = ({ after }) => after === false;
export const isRemoved: Applies = ({ after }) => after === undefined || after === null || after === '';
export const isAdded: Applies = ({ before }) => before === undefined || before === null || before === '';

/** The key of a change in a map: `memory` for `kubeReserved[memory]`. */
export const keyOf = ({ path }: Change): string | undefined => /\[(.*)\]$/s.exec(path)?.[1];

export const textAt = (config: KubeletConfig, path: string): string => String(getField(config, path) ?? '');

export function listAt(config: KubeletConfig, path: string): string[] {
  const value = getField(config, path);
  return Array.isArray(value) ? value.map(String) : [];
}

export const isStaticCPU = (config: KubeletConfig): boolean => textAt(config, 'cpuManagerPolicy') === 'static';
export const isStaticMemory = (config: KubeletConfig): boolean => textAt(config, 'memoryManagerPolicy') === 'Static';

/** On the node as it is and as it will be. */
export const both = (situation: Situation, holds: (config: KubeletConfig) => boolean): boolean =>
  holds(situation.before) && holds(situation.after);

/** Cached per situation: its pods are the same for each of its changes. */
const failuresIn = new WeakMap<Situation, PodFailure[] | 'unknown'>();

/** Undefined if pods or resources are not known. A reason may be a prefix: `OutOf`. */
function rejections(situation: Situation, reasons: readonly string[]): PodFailure[] | undefined {
  const failures = failuresIn.get(situation) ?? admissionFailures(situation) ?? 'unknown';
  failuresIn.set(situation, failures);
  if (failures === 'unknown') return undefined;
  return failures.filter(({ reason }) => [...reasons, 'Preempting'].some((one) => reason.startsWith(one)));
}

interface Rejecting {
  /** `lowered`. */
  when: string;
  applies: Applies;
  /** Why pods are rejected, as the kubelet reports it. */
  reasons: readonly string[];
  why: string;
  risk: string;
  /** Applies if no pod is rejected. */
  otherwise?: { risk: string; pods: PodsEffect['kind'] };
}

/**
 * A direction in which the kubelet may reject pods that run: it admits all of them again at the restart. Where the pods are known,
 * that is computed: a drain where some are rejected, and nothing more than a restart where all fit.
 */
export function rejecting({ when, applies, reasons, why, risk, otherwise }: Rejecting): Case[] {
  const rejected = (situation: Situation) => rejections(situation, reasons);
  return [
    {
      when: `${when}, and pods that run are rejected`,
      applies: (change, situation) => applies(change, situation) && (rejected(situation) ?? []).length > 0,
      needs: 'drain',
      why,
      risk,
      pods: (_change, situation) => ({ kind: 'fail admission', pods: rejected(situation)! }),
    },
    {
      when: `${when}, and no pod that runs is rejected`,
      applies: (change, situation) => applies(change, situation) && rejected(situation) !== undefined,
      risk: otherwise?.risk ?? '',
      pods: otherwise?.pods ?? 'unaffected',
    },
    {
      when: `${when}, while the pods are not known`,
      applies,
      mayNeed: 'drain',
      risk,
      pods: otherwise?.pods ?? 'unknown',
    },
  ];
}
