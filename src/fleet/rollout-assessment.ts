/** Where the rollout of a set is, from its status alone: for `relet rollout status`, which waits for its end. Pure. */
import { setReadyReasons, setStalledReasons } from '../api/condition-reasons.js';
import type { NodeConfigCondition } from '../api/node-config.js';
import type { NodeConfigSet } from '../api/node-config-set.js';

/**
 * Transitions: unseen ─► progressing ─► complete or stopped; a changed spec, or a retry, leads back to unseen or progressing.
 * Complete and stopped are ends: without a person nothing happens any more.
 */
export type Assessment =
  /** The controller has not seen the newest spec or request. */
  { kind: 'unseen' } | { kind: 'progressing' | 'complete' | 'stopped'; reason: string; message: string };

export function assess({ metadata, status = {} }: NodeConfigSet): Assessment {
  const { observedGeneration = 0, conditions = [], rollout } = status;
  // An end that was reached before a request, or before the newest spec, is not the end of it.
  if (observedGeneration < (metadata.generation ?? 1) || rollout?.request !== undefined) return { kind: 'unseen' };
  const isTrue = (type: string): NodeConfigCondition | undefined =>
    conditions.find((one) => one.type === type && one.status === 'True');
  const [ready, stalled, reconciling] = ['Ready', 'Stalled', 'Reconciling'].map(isTrue);
  const condition = ready ?? stalled ?? reconciling;
  if (condition === undefined) return { kind: 'unseen' };
  const { reason, message } = condition;
  return { kind: ready ? 'complete' : stalled ? 'stopped' : 'progressing', reason, message };
}

/** Whether the rollout can continue without a change of the spec. */
export const mayRetry = (reason: string): boolean =>
  [
    setStalledReasons.halted,
    setStalledReasons.undrainable,
    setStalledReasons.aborted,
    setStalledReasons.undone,
    setStalledReasons.rolledBack,
    setStalledReasons.expired,
  ].some((one) => one.reason === reason);

export const hasNoNodes = (reason: string): boolean => reason === setReadyReasons.noNodes.reason;
