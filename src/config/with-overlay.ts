/** Merges an overlay into a config as written, without header. merge.ts applies it to the local files of a node. */
import { isObject } from '../json.js';
import { canonical } from './canonical.js';
import { copy } from './copy.js';
import { leavesOf } from './field-path.js';
import { defaultOf, fieldAt } from './fields.js';
import { mergeFields, removeField } from './merge-fields.js';
import { getField, type KubeletConfig, type Minor, type Overlay } from './model.js';
import { findField, withSetting } from './set-field.js';
import { type StructShape, shapeAt, shapeOf } from './shape.js';

/** A new config, canonical. Neither argument is changed. */
export function withOverlay(base: KubeletConfig, overlay: Overlay, minor: Minor): KubeletConfig {
  const { config, unset } = overlay;
  let merged = mergeFields(withThresholds(base, overlay, minor), config, shapeOf(minor));
  // An empty map has no key to merge: it was written to empty the map.
  for (const path of leavesOf(config, shapeOf(minor)))
    if (shapeAt(path, minor)?.kind === 'map') merged = withSetting(merged, { path, value: {} });
  if (unset.length > 0) {
    merged = copy(merged);
    unsetFields(
      merged,
      unset.map((name) => findField(name, minor).path),
      minor,
    );
  }
  return canonical(withoutEmptyStructs(merged, shapeOf(minor)));
}

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

/** One threshold alone would drop the default ones: the kubelet fills those in only where there is none at all. */
function withThresholds(base: KubeletConfig, { config, unset }: Overlay, minor: Minor): KubeletConfig {
  const { evictionHard } = config;
  if (isObject(base.evictionHard) || !isObject(evictionHard) || isEmpty(evictionHard)) return base;
  const fillsIn = { ...base, ...config }.mergeDefaultEvictionSettings === true;
  if (fillsIn && !unset.includes('mergeDefaultEvictionSettings')) return base;
  return { ...base, evictionHard: defaultOf(fieldAt('evictionHard')!, minor) };
}

/**
 * A map whose last key is removed goes too, so that the kubelet's default holds. Looked at once for each map, after all keys: to see
 * whether a map is empty takes as long as it is large.
 */
function unsetFields(config: KubeletConfig, paths: readonly (readonly string[])[], minor: Minor): void {
  const maps = new Set<string>();
  for (const path of paths) {
    const parent = path.slice(0, -1);
    if (removeField(config, path) && shapeAt(parent, minor)?.kind === 'map') maps.add(parent.join('.'));
  }
  for (const map of maps) if (isEmpty(getField(config, map))) removeField(config, map.split('.'));
}

/** `authentication: {}` has no effect; an empty struct behind a pointer has. */
export function withoutEmptyStructs(config: KubeletConfig, shape: StructShape): KubeletConfig {
  const kept: KubeletConfig = {};
  for (const [name, value] of Object.entries(config)) {
    const child = shape.fields.get(name);
    const inner = child?.kind === 'struct' && isObject(value) ? withoutEmptyStructs(value, child) : value;
    if (child?.kind === 'struct' && !child.pointer && isEmpty(inner)) continue;
    kept[name] = inner;
  }
  return kept;
}
