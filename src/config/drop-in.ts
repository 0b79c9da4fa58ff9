/**
 * Files of --config-dir, as kubelets merge them. Three ways:
 *
 *   1.28       each drop-in with its defaults, over the config; a zero value counts as not set
 *   1.29–1.31  what the drop-ins write, over the config with its defaults; an explicit zero stays zero
 *   1.32–      the same, and the result gets defaults again; null removes
 */
import type { Value } from '../go/yaml/value.js';
import { isObject } from '../json.js';
import { copy } from './copy.js';
import { DecodeError, decode } from './decode.js';
import { complete, decodeFields } from './decode-fields.js';
import { setDefaults } from './defaults.js';
import { type DropIn, decodeDropIn } from './drop-in-decode.js';
import { resolvePaths } from './host-paths.js';
import { mergeFields, mergeKeys } from './merge-fields.js';
import type { Finding, KubeletConfig, Minor } from './model.js';
import { type StructShape, shapeOf } from './shape.js';
import { asValue, decodedOver, mergePatch, withFieldNames } from './value-patch.js';

/** A config to which drop-ins are added, one by one. */
export interface DropInMerger {
  /** Throws DecodeError where the kubelet would not read the file. */
  add(path: string, text: string): DropIn;
  /** Every field, as the kubelet has it in the end. */
  effective(): KubeletConfig;
  /** The content of the files, one over the other. It may mean something else than `effective`. */
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
  // If the file has no thresholds, the kubelet takes its map of defaults itself and then writes into it: what one drop-in
  // sets is a default of the next.
  const isShared = !isObject(base.evictionHard);
  return {
    add(path, text) {
      const { config, positions, findings } = decode(text, { minor, file: path, strict: false });
      resolvePaths(config, path, minor);
      const over = setDefaults(config, minor);
      if (isShared && !isObject(config.evictionHard)) over.evictionHard = effective.evictionHard;
      effective = overrideNonZero(effective, over, shapeOf(minor));
      written = mergeFields(written, config, shapeOf(minor));
      return { positions, findings };
    },
    effective: () => effective,
    written: () => written,
  };
}

/** Pointers in the internal type too; all others are plain values there. */
const stillPointers: ReadonlySet<string> = new Set([
  'maxParallelImagePulls',
  'memoryThrottlingFactor',
  'singleProcessOOMKill',
  'enableSystemLogQuery',
  'maxContainerRestartPeriod',
]);

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
  let patch: Value = { kind: 'object', entries: [], at: { line: 1, column: 1 } };
  const named = () => withoutResolvConf(withFieldNames(patch, shape));
  return {
    add(_path, text) {
      const dropIn = decodeDropIn(text, minor);
      patch = mergePatch(patch, dropIn.patch);
      return withoutIgnored(dropIn, minor);
    },
    effective() {
      const before = asValue(setDefaults(base, minor), shape);
      return complete(fieldsIn(decodedOver(before, named(), shape), minor), shape);
    },
    written: () => mergeFields(base, fieldsIn(named(), minor), shape),
  };
}

const fieldsIn = (value: Value, minor: Minor): KubeletConfig => decodeFields(value, shapeOf(minor), minor).config;

/** The internal object calls it ResolverConfig, which no spelling of the drop-in fits. */
function withoutResolvConf(value: Value): Value {
  if (value.kind !== 'object') return value;
  return { ...value, entries: value.entries.filter(({ key }) => key !== 'resolvConf') };
}

function withoutIgnored({ positions, findings }: DropIn, minor: Minor): DropIn {
  const at = positions.get('resolvConf');
  if (at === undefined) return { positions, findings };
  const message = `kubelet 1.${minor} ignores resolvConf in a drop-in: write it in the file of --config`;
  const finding: Finding = { severity: 'warning', source: 'relet', path: 'resolvConf', ...at, message };
  const others = new Map([...positions].filter(([path]) => path !== 'resolvConf'));
  return { positions: others, findings: [...findings, finding] };
}

/** 1.32 and later: patches of the versioned object as JSON, which leaves out what is empty. */
function overVersioned(base: KubeletConfig, minor: Minor): DropInMerger {
  const shape = shapeOf(minor);
  let [document, written] = [asValue(setDefaults(base, minor), shape), asValue(base, shape)];
  return {
    add(_path, text) {
      const { patch, ...dropIn } = decodeDropIn(text, minor);
      document = mergePatch(document, patch);
      written = mergePatch(written, patch);
      return dropIn;
    },
    effective() {
      const config = fieldsIn(withFieldNames(document, shape), minor);
      const { evictionHard, mergeDefaultEvictionSettings: isMerged } = config;
      // Since 1.26 the thresholds are filled in where --config is loaded, not with the other defaults.
      const whole = setDefaults({ ...config, mergeDefaultEvictionSettings: false }, minor);
      return {
        ...whole,
        evictionHard: evictionHard ?? {},
        ...(isMerged === true && { mergeDefaultEvictionSettings: true }),
      };
    },
    written: () => fieldsIn(withFieldNames(written, shape), minor),
  };
}
