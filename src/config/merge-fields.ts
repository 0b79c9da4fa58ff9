/** Merges one config into another, both as written: structs field by field, maps key by key, everything else is replaced. */
import { isObject } from '../json.js';
import { setOwn } from './copy.js';
import type { KubeletConfig } from './model.js';
import type { StructShape } from './shape.js';

/** A new object, which shares maps and lists with the two. Nil values of `over` set nothing. */
export function mergeFields(base: KubeletConfig, over: KubeletConfig, shape: StructShape): KubeletConfig {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    if (value === undefined || value === null) continue;
    const child = shape.fields.get(name);
    const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
    if (child?.kind === 'struct' && isObject(value))
      setOwn(merged, name, mergeFields(isObject(before) ? before : {}, value, child));
    else if (child?.kind === 'map' && isObject(value) && isObject(before))
      setOwn(merged, name, mergeKeys(before, value));
    else setOwn(merged, name, value);
  }
  return merged;
}

/** Own properties whatever their names. */
export const mergeKeys = (base: KubeletConfig, over: KubeletConfig): KubeletConfig => ({ ...base, ...over });

/** Changes `config`. True if there was something to remove. */
export function removeField(config: KubeletConfig, [name, ...rest]: readonly string[]): boolean {
  const child = Object.hasOwn(config, name!) ? config[name!] : undefined;
  if (child === undefined) return false;
  if (rest.length > 0) return isObject(child) && removeField(child, rest);
  delete config[name!];
  return true;
}
