/** Sorts the keys of a config, so that equal configs serialize to equal text. */
import { isObject } from '../json.js';
import { setOwn } from './copy.js';
import type { KubeletConfig } from './model.js';

/** A copy with sorted keys, at every depth, without nil values. */
export function canonical(config: KubeletConfig): KubeletConfig {
  const keys = Object.keys(config);
  // A large map is mostly one that was sorted when it was read, and flat: then one copy is enough.
  if (keys.every((key, index) => isScalar(config[key]) && (index === 0 || keys[index - 1]! < key)))
    return { ...config };
  const sorted: KubeletConfig = {};
  for (const key of keys.sort()) {
    const value = config[key];
    if (value !== null && value !== undefined) setOwn(sorted, key, canonicalValue(value));
  }
  return sorted;
}

const isScalar = (value: unknown): boolean => value !== undefined && typeof value !== 'object';

function canonicalValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonicalValue);
  return isObject(value) ? canonical(value) : value;
}
