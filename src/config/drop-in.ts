/**
 * What a kubelet makes of one file of --config-dir. Three ways:
 *
 *   1.28       the drop-in with its defaults, over the config; zero values count as not set
 *   1.29–1.31  what the drop-in writes, over the config with its defaults; an explicit zero stays zero
 *   1.32–      the same, and the result gets defaults again
 */
import { isObject } from '../json.js';
import { copy, setOwn } from './copy.js';
import { setDefaults } from './defaults.js';
import { mergeFields } from './merge-fields.js';
import type { KubeletConfig, Minor } from './model.js';
import { type StructShape, shapeOf } from './shape.js';

/** Both with what the kubelet has after `effective`: a new config with every field. */
export function mergeDropIn(effective: KubeletConfig, dropIn: KubeletConfig, minor: Minor): KubeletConfig {
  if (minor < 29) return overrideNonZero(effective, setDefaults(dropIn, minor), shapeOf(minor));
  const merged = mergeFields(effective, dropIn, shapeOf(minor));
  return minor < 32 ? merged : setDefaults(merged, minor);
}

function overrideNonZero(base: KubeletConfig, over: KubeletConfig, shape: StructShape): KubeletConfig {
  const merged = copy(base);
  for (const [name, child] of shape.fields) {
    const value = over[name];
    const before = merged[name];
    if (isZero(value)) continue;
    if (child.kind === 'struct' && isObject(value) && isObject(before))
      setOwn(merged, name, overrideNonZero(before, value, child));
    else if (child.kind === 'map' && isObject(before))
      setOwn(merged, name, { ...before, ...copy(value as KubeletConfig) });
    else setOwn(merged, name, copy(value));
  }
  return merged;
}

function isZero(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === 0 || value === false || value === '0s')
    return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
