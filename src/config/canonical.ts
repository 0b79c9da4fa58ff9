/** One order of keys, so that equal configs give equal text. */
import { isObject } from '../json.js';
import { setOwn } from './copy.js';
import type { KubeletConfig } from './model.js';

/** A copy with sorted keys, at every depth, without nil values. */
export function canonical(config: KubeletConfig): KubeletConfig {
  const sorted: KubeletConfig = {};
  for (const key of Object.keys(config).sort()) {
    const value = config[key];
    if (value !== null && value !== undefined) setOwn(sorted, key, canonicalValue(value));
  }
  return sorted;
}

function canonicalValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonicalValue);
  return isObject(value) ? canonical(value) : value;
}
