/** One config over another, both as written: structs field by field, maps key by key, everything else replaced. */
import { isObject } from '../json.js';
import { copy, setOwn } from './copy.js';
import type { KubeletConfig } from './model.js';
import type { StructShape } from './shape.js';

/** A new object. An empty map replaces: there is no key to merge, and somebody wrote it. */
export function mergeFields(base: KubeletConfig, over: KubeletConfig, shape: StructShape): KubeletConfig {
  const merged = copy(base);
  for (const [name, value] of Object.entries(over)) {
    if (value === undefined || value === null) continue;
    const child = shape.fields.get(name);
    const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
    if (child?.kind === 'struct' && isObject(value))
      setOwn(merged, name, mergeFields(isObject(before) ? before : {}, value, child));
    else if (child?.kind === 'map' && isObject(value) && isObject(before) && Object.keys(value).length > 0)
      setOwn(merged, name, { ...before, ...copy(value) });
    else setOwn(merged, name, copy(value));
  }
  return merged;
}
