/** Configs that a node may run, from its records: assigned, last known good, the previous config, local. */
import { type ExactRef, isExactRef, sameConfig } from '../api/config-ref.js';
import { defineRecord } from './state/json-record.js';
import { isLocal, type NodeState, type Recorded, sourceOf } from './state/node-state.js';

export type Rank = 'assigned' | 'previous-config' | 'last-known-good' | 'local';

/** A config that was healthy and was replaced, by a reset or on trial, kept until local was healthy once or another passed its trial. */
export const previousConfigRecord = defineRecord('previous-config', isExactRef, { formerly: { name: 'way-back' } });

/** The records as they are, or as they will be once a config is assigned. */
export interface Records {
  assigned: Recorded;
  previous: ExactRef | undefined;
  lastKnownGood: Recorded;
}

export function recordsOf(state: NodeState): Records {
  return {
    assigned: state.assigned(),
    previous: state.read(previousConfigRecord),
    lastKnownGood: state.lastKnownGood(),
  };
}

export interface Ranked {
  rank: Rank;
  recorded: Recorded;
}

/**
 * The candidates in order of trust, without duplicates. After a reset, the previous config comes before last known good. Once another
 * config is assigned, it comes after: the reset was intended.
 */
export function candidates({ assigned, previous, lastKnownGood }: Records): Ranked[] {
  const good: Ranked = { rank: 'last-known-good', recorded: lastKnownGood };
  const before: Ranked[] = previous ? [{ rank: 'previous-config', recorded: { source: previous } }] : [];
  const ranked: Ranked[] = [
    { rank: 'assigned', recorded: assigned },
    ...(isLocal(assigned) ? [...before, good] : [good, ...before]),
  ];
  return ranked.filter(
    ({ recorded }, at) => !ranked.slice(0, at).some((earlier) => isSame(earlier.recorded, recorded)),
  );
}

function isSame(a: Recorded, b: Recorded): boolean {
  return 'source' in a && 'source' in b && sameConfig(a.source, b.source, 'document');
}

/** The config that a rollback returns to, from the records alone: the most trusted one beside the config that failed. */
export function fallbackOf(state: NodeState, failed: ExactRef | undefined): ExactRef | undefined {
  const fallback = candidates(recordsOf(state)).find(
    ({ rank, recorded }) => rank !== 'assigned' && 'source' in recorded && !isSame(recorded, { source: failed }),
  );
  return fallback && sourceOf(fallback.recorded);
}
