/**
 * How it stands with a node's config, from what is asked of the node and what it reports. Pure; the words are those that
 * `relet get` prints:
 *
 *   local ── assigned ──► waiting ── started, healthy ──► trial ── trial over ──► active
 *                            ├── judged and not taken ──► refused       (runs its last known good)
 *                            └── crashed, or never healthy ─► rolled back  (runs its last known good)
 */
import { faultOfReason } from './condition-reasons.js';
import { type FaultReason, faults } from './faults.js';
import type { NodeConfigSource, NodeConfigStatus } from './node-config-source.js';

export const configStates = ['local', 'active', 'trial', 'waiting', 'refused', 'rolled back'] as const;
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

export type ErrorKind = 'refused' | 'rolled back' | 'crashing' | 'sync';

const rollbacks: readonly FaultReason[] = ['crash-loop', 'unhealthy', 'no-api'];

/**
 * What an error in a node's status is about: by the reason of ConfigOK beside it, or, where that is not one of ours (a Node, an
 * older relet), by its words. Words of other versions that we do not know count as a refusal.
 */
export function errorKind(error: string, reason?: string): ErrorKind {
  const fault = faultOf(error, reason);
  if (fault !== undefined) return kindOf(fault);
  if (error.startsWith('failed to sync: ')) return 'sync';
  // What follows differs between versions of relet; no error of another kind begins like this.
  return /^rolled back\b/.test(error) ? 'rolled back' : 'refused';
}

/** Which of our faults an error is; undefined where its words are another version's, or are shared by several. */
export function faultOf(error: string, reason?: string): FaultReason | undefined {
  const byReason = faultOfReason(reason);
  if (byReason !== undefined) return byReason;
  const found = (Object.keys(faults) as FaultReason[]).filter((fault) => {
    const { at, beta } = faults[fault];
    return error === (at === 'sync' ? `failed to sync: ${beta}` : beta);
  });
  return found.length === 1 ? found[0] : undefined;
}

function kindOf(fault: FaultReason): ErrorKind {
  if (faults[fault].at === 'sync') return 'sync';
  if (fault === 'crashing') return 'crashing';
  return rollbacks.includes(fault) ? 'rolled back' : 'refused';
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
  const kind = status.error ? errorKind(status.error, condition?.reason) : undefined;
  // A node that cannot follow its reference goes on with what it has; the error stands beside.
  if (kind === 'refused' || kind === 'rolled back') return kind;
  if (kind === 'crashing' || !sameExactSource(assigned, active)) return 'waiting';
  if (active === undefined) return 'local';
  return sameExactSource(active, good) ? 'active' : 'trial';
}
