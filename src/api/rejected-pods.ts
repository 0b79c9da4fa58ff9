/**
 * `rejectedPods` in the status of a NodeConfig: pods that ran on the node and that its kubelet rejected when it restarted with a config
 * on trial.
 */
import { isObject } from '../json.js';

export interface RejectedPods {
  /** When that kubelet was started, by the clock of the node. */
  since: string;
  count: number;
  /** NAMESPACE/NAME of the first of them. */
  names: string[];
}

export const mostRejectedNamed = 3;

/** Unchecked but for the types: a node may write any number and any text. */
export function readRejectedPods(value: unknown): RejectedPods | undefined {
  if (!isObject(value)) return undefined;
  const { since, count, names } = value;
  if (typeof since !== 'string' || typeof count !== 'number' || !(count >= 1)) return undefined;
  const shown = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  return { since, count, names: shown.slice(0, mostRejectedNamed) };
}
