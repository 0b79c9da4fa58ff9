/** Rejects unknown keys of maps under `unset`: a key that no kubelet knows is a typo, and unsetting it would have no effect. Pure. */
import { quote } from '../go/quote.js';
import { evictionSignals } from './forecast/eviction.js';
import { unknownGate } from './gates.js';
import { type Minor, newestMinor } from './model.js';

const evictionMaps = ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod', 'evictionMinimumReclaim'];

/**
 * Error in the key of a path such as ['evictionHard', 'foo']; undefined if any kubelet knows it: a signal or a gate of
 * another version may have to be removed from a local config.
 */
export function unknownKey([map, key]: readonly string[], minor: Minor, { guess = true } = {}): string | undefined {
  if (map === undefined || key === undefined) return undefined;
  if (map === 'featureGates') return unknownGate(key, minor, { guess });
  if (!evictionMaps.includes(map) || evictionSignals(newestMinor).includes(key)) return undefined;
  return `${quote(key)} is not an eviction signal; use one of ${evictionSignals(minor).join(', ')}`;
}
