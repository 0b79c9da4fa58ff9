/** Which set a node belongs to, from the claim on its NodeConfig and its reference. Pure. */
import { formatRef, refOf } from '../api/config-ref.js';
import type { Claim } from '../api/node-config-set.js';
import type { ConfiguredNode } from './configured-node.js';

export interface Membership {
  claim: Claim;
  /** Somebody assigned another config since: the set leaves the node alone until it is released. */
  isTaken: boolean;
}

/** Undefined for a node without a set, and for one that its set has let go. */
export function membershipOf({ claim, configSource }: Pick<ConfiguredNode, 'claim' | 'configSource'>) {
  if (claim === undefined || claim.released) return undefined;
  return { claim, isTaken: formatRef(refOf(configSource), 'short') !== claim.source } satisfies Membership;
}
