/**
 * The state of a node's config, from its assignment and its report. Pure; the words are those that `relet get` prints:
 *
 *   local ── assigned ──► waiting ── started, healthy ──► trial ── trial over ──► active
 *                            ├── validation failed ──► rejected         (runs its last known good)
 *                            └── crashed, or never healthy ─► rolled back  (runs its last known good)
 */
import {
  type ConfigErrorOutcome,
  type ConfigErrorReason,
  configErrors,
  isConfigErrorReason,
} from '../api/config-error.js';
import { type NodeConfigSource, type NodeConfigStatus, refOf, sameConfig } from '../api/config-ref.js';
import { outcomeOfBeta, reasonOfBeta } from '../api/upstream-words.js';

export const configStates = ['local', 'active', 'trial', 'waiting', 'rejected', 'rolled back'] as const;
export type ConfigState = (typeof configStates)[number];

/** The reason for an error in a node's status: that of ConfigOK beside it, or, on a Node, the one its words stand for. */
export function errorReason(error: string, condition?: { reason: string }): ConfigErrorReason | undefined {
  return isConfigErrorReason(condition?.reason) ? condition.reason : reasonOfBeta(error);
}

/** One clause for people about an error in a node's status: what its reason means or, where it has none, its own words. */
export function errorText(error: string, condition?: { reason: string }): string {
  const reason = errorReason(error, condition);
  if (reason === undefined) return error;
  const { message } = configErrors[reason];
  return `${message.charAt(0).toLowerCase()}${message.slice(1, -1)}`;
}

/** What became of the assigned config, where the node's status has an error. */
export function errorOutcome(error: string, condition?: { reason: string }): ConfigErrorOutcome {
  return isConfigErrorReason(condition?.reason) ? configErrors[condition.reason].outcome : outcomeOfBeta(error);
}

export interface AskedAndReported {
  configSource?: NodeConfigSource | undefined;
  status?: NodeConfigStatus | undefined;
  /** Nothing is assigned to it: it keeps what it has. */
  unset?: boolean;
  /** ConfigOK, from the same status. */
  condition?: { reason: string } | undefined;
}

export function configState({ configSource, status = {}, unset = false, condition }: AskedAndReported): ConfigState {
  const [wanted, assigned, active, good] = [
    refOf(unset ? status.assigned : configSource),
    refOf(status.assigned),
    refOf(status.active),
    refOf(status.lastKnownGood),
  ];
  if (!sameConfig(wanted, assigned, 'name')) return 'waiting';
  const outcome = status.error ? errorOutcome(status.error, condition) : undefined;
  // A node that cannot follow its reference keeps its current config, and reports the error.
  if (outcome === 'rejected' || outcome === 'rolled back') return outcome;
  if (outcome === 'crashing' || !sameConfig(assigned, active, 'version')) return 'waiting';
  if (active === undefined) return 'local';
  return sameConfig(active, good, 'version') ? 'active' : 'trial';
}
