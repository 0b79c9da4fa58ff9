/**
 * Files of --config-dir, as kubelets merge them. Three ways:
 *
 *   1.28       each drop-in with its defaults, over the config; a zero value counts as not set
 *   1.29–1.31  what the drop-ins write, over the config with its defaults; an explicit zero stays zero
 *   1.32–      the same, and the result gets defaults again; null removes
 */
import { isObject } from '../json.js';
import { copy, setOwn } from './copy.js';
import { DecodeError, decode } from './decode.js';
import { complete } from './decode-fields.js';
import { setDefaults } from './defaults.js';
import { type DropIn, decodeDropIn } from './drop-in-decode.js';
import { resolvePaths } from './host-paths.js';
import { stillPointers } from './internal-version.js';
import { mergeFields, mergeKeys, removeField } from './merge-fields.js';
import type { KubeletConfig, Minor } from './model.js';
import { type Shape, type StructShape, shapeOf } from './shape.js';

/** A config to which drop-ins are added, one by one. */
export interface DropInMerger {
  /** Throws DecodeError where the kubelet would not read the file. */
  add(path: string, text: string): DropIn;
  /** Every field, as the kubelet has it in the end. */
  effective(): KubeletConfig;
  /** What the files write, one over the other. It may mean something else than `effective`. */
  written(): KubeletConfig;
}

/** `base` as written. */
export function dropInMerger(base: KubeletConfig, minor: Minor): DropInMerger {
  if (minor < 28) {
    const message = `kubelet 1.${minor} has no --config-dir: it reads one file and no drop-ins`;
    throw new DecodeError(message, [{ severity: 'error', source: 'relet', path: '', message }]);
  }
  if (minor === 28) return overDefaults(base, minor);
  return minor < 32 ? overInternal(base, minor) : overVersioned(base, minor);
}

/** 1.28: the drop-in's defaults count as if it had written them. */
function overDefaults(base: KubeletConfig, minor: Minor): DropInMerger {
  let [effective, written] = [setDefaults(base, minor), base];
  return {
    add(path, text) {
      const { config, positions, findings } = decode(text, { minor, file: path, strict: false });
      resolvePaths(config, path, minor);
      effective = overrideNonZero(effective, setDefaults(config, minor), shapeOf(minor));
      written = mergeFields(written, config, shapeOf(minor));
      return { config, sparse: config, removed: [], positions, findings };
    },
    effective: () => effective,
    written: () => written,
  };
}

function overrideNonZero(base: KubeletConfig, over: KubeletConfig, shape: StructShape): KubeletConfig {
  const merged = copy(base);
  for (const [name, child] of shape.fields) {
    const [before, value] = [merged[name], over[name]];
    if (value === null || value === undefined || (isZero(value) && !stillPointers.has(name))) continue;
    if (child.kind === 'struct' && !child.pointer && isObject(value) && isObject(before))
      merged[name] = overrideNonZero(before, value, child);
    else if (child.kind === 'map' && isObject(value) && isObject(before)) merged[name] = mergeKeys(before, value);
    else merged[name] = copy(value);
  }
  return merged;
}

function isZero(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return ['', 0, false, '0s'].includes(value as string);
}

/** 1.29–1.31: one JSON patch of all drop-ins, decoded over the kubelet's internal object. */
function overInternal(base: KubeletConfig, minor: Minor): DropInMerger {
  const shape = shapeOf(minor);
  let patch: KubeletConfig = {};
  return {
    add(_path, text) {
      const dropIn = decodeDropIn(text, { minor });
      ignoreResolvConf(dropIn, minor);
      patch = withPatch(patch, { ...dropIn, config: dropIn.sparse }, shape);
      return dropIn;
    },
    effective: () => decodeOver(setDefaults(base, minor), patch, shape),
    written: () => mergeFields(base, patch, shape),
  };
}

/** The internal object calls it ResolverConfig, which no JSON name of the drop-in fits. */
function ignoreResolvConf(dropIn: DropIn, minor: Minor): void {
  const at = dropIn.positions.get('resolvConf');
  if (at === undefined) return;
  delete dropIn.config.resolvConf;
  delete dropIn.sparse.resolvConf;
  const message = `kubelet 1.${minor} ignores resolvConf in a drop-in: write it in the file of --config`;
  dropIn.findings.push({ severity: 'warning', source: 'relet', path: 'resolvConf', ...at, message });
}

/** Go decodes into what is there: keys of a map stay, and so do fields of a list's items, by index. */
function decodeOver(before: KubeletConfig, over: KubeletConfig, shape: StructShape): KubeletConfig {
  const merged = copy(before);
  for (const [name, value] of Object.entries(over)) {
    const child = shape.fields.get(name);
    if (child !== undefined) setOwn(merged, name, decodeValueOver(merged[name], value, child));
  }
  return merged;
}

function decodeValueOver(before: unknown, value: unknown, shape: Shape): unknown {
  if (shape.kind === 'struct' && isObject(value))
    return complete(decodeOver(isObject(before) ? before : {}, value, shape), shape);
  if (shape.kind === 'map' && isObject(value)) return mergeKeys(isObject(before) ? before : {}, value);
  if (shape.kind === 'list' && shape.item.kind === 'struct' && Array.isArray(value)) {
    const items = Array.isArray(before) ? before : [];
    return value.map((item, index) => decodeValueOver(items[index], item, shape.item));
  }
  return copy(value);
}

/** 1.32 and later: over the versioned object, whose JSON leaves out empty lists. */
function overVersioned(base: KubeletConfig, minor: Minor): DropInMerger {
  const shape = shapeOf(minor);
  let document = withoutEmptyLists(setDefaults(base, minor));
  let written = base;
  return {
    add(_path, text) {
      const dropIn = decodeDropIn(text, { minor, over: document });
      document = withPatch(document, dropIn, shape);
      written = withPatch(written, dropIn, shape);
      return dropIn;
    },
    effective() {
      // Since 1.26 the thresholds are filled in where --config is loaded, not with the other defaults.
      const { evictionHard, mergeDefaultEvictionSettings = false, ...rest } = document;
      const thresholds = { evictionHard: evictionHard ?? {}, mergeDefaultEvictionSettings };
      return { ...setDefaults(rest, minor), ...thresholds };
    },
    written: () => written,
  };
}

const withoutEmptyLists = (config: KubeletConfig): KubeletConfig =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => !(Array.isArray(value) && value.length === 0)));

function withPatch(config: KubeletConfig, { config: over, removed }: DropIn, shape: StructShape): KubeletConfig {
  const merged = mergeFields(config, over, shape);
  for (const path of removed) removeField(merged, path);
  return merged;
}
