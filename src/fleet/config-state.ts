/**
 * How it stands with a node's config, from what is asked of the node and what it reports. Pure; the words are those that
 * `relet get` prints:
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
import type { NodeConfigSource, NodeConfigStatus } from '../api/node-config-source.js';
import { outcomeOfBeta, reasonOfBeta } from '../api/upstream-words.js';

export const configStates = ['local', 'active', 'trial', 'waiting', 'rejected', 'rolled back'] as const;
export type ConfigState = (typeof configStates)[number];

/** One source in one form, whichever dialect it came in. In spec there is no resourceVersion, and no uid but the alpha's. */
export interface SourceName {
  namespace: string;
  name: string;
  key: string;
  uid?: string;
  resourceVersion?: string;
}

/** Undefined is local; so is a source without a reference, which the node itself reports as an error. */
export function sourceName(source: NodeConfigSource | undefined): SourceName | undefined {
  const { configMap, configMapRef } = source ?? {};
  if (configMap) {
    const { namespace, name, kubeletConfigKey: key, uid, resourceVersion } = configMap;
    return { namespace, name, key, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  }
  if (configMapRef) {
    const { namespace, name, uid } = configMapRef;
    return { namespace, name, key: 'kubelet', ...(uid && { uid }) };
  }
  return undefined;
}

/** The same ConfigMap and key, whatever its version. A uid counts where both have one. */
export function sameReference(a: SourceName | undefined, b: SourceName | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const sameUid = a.uid === undefined || b.uid === undefined || a.uid === b.uid;
  return a.namespace === b.namespace && a.name === b.name && a.key === b.key && sameUid;
}

/** The same version of the same ConfigMap. */
export function sameExactSource(a: SourceName | undefined, b: SourceName | undefined): boolean {
  return sameReference(a, b) && a?.resourceVersion === b?.resourceVersion;
}

/** The reason for an error in a node's status: that of ConfigOK beside it, or, on a Node, the one its words stand for. */
export function errorReason(error: string, condition?: { reason: string }): ConfigErrorReason | undefined {
  return isConfigErrorReason(condition?.reason) ? condition.reason : reasonOfBeta(error);
}

/** What became of the assigned config, where the node's status has an error. */
export function errorOutcome(error: string, condition?: { reason: string }): ConfigErrorOutcome {
  return isConfigErrorReason(condition?.reason) ? configErrors[condition.reason].outcome : outcomeOfBeta(error);
}

export interface AskedAndReported {
  configSource?: NodeConfigSource | undefined;
  status?: NodeConfigStatus | undefined;
  /** Nothing is asked of it: it goes on with what it has. */
  undecided?: boolean;
  /** ConfigOK, from the same status. */
  condition?: { reason: string } | undefined;
}

export function configState({
  configSource,
  status = {},
  undecided = false,
  condition,
}: AskedAndReported): ConfigState {
  const [wanted, assigned, active, good] = [
    sourceName(undecided ? status.assigned : configSource),
    sourceName(status.assigned),
    sourceName(status.active),
    sourceName(status.lastKnownGood),
  ];
  if (!sameReference(wanted, assigned)) return 'waiting';
  const outcome = status.error ? errorOutcome(status.error, condition) : undefined;
  // A node that cannot follow its reference goes on with what it has; the error stands beside.
  if (outcome === 'rejected' || outcome === 'rolled back') return outcome;
  if (outcome === 'crashing' || !sameExactSource(assigned, active)) return 'waiting';
  if (active === undefined) return 'local';
  return sameExactSource(active, good) ? 'active' : 'trial';
}
