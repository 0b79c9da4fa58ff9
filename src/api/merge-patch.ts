/** JSON merge patch (RFC 7386): objects merge, null removes, everything else replaces. Hostile keys stay plain keys. */
import { isObject } from '../json.js';

export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, applyMergePatch(merged.get(key), value));
  }
  // fromEntries defines properties, where assigning to __proto__ would change the prototype.
  return Object.fromEntries(merged);
}
