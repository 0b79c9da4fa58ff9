/** The config that a node runs with an overlay: the local config as written, and the overlay over it. */
import { asYaml } from '../go/yaml/write.js';
import { isObject } from '../json.js';
import { canonical } from './canonical.js';
import { defaultOf, fieldAt } from './fields.js';
import { header } from './header.js';
import { mergeFields } from './merge-fields.js';
import { type LocalFile, mergeLocal, type Origin } from './merge-local.js';
import { type Finding, type KubeletConfig, knownMinor, type Minor } from './model.js';
import { decodeOverlay, type Overlay } from './overlay.js';
import { findField } from './set-field.js';
import { type StructShape, shapeOf } from './shape.js';

export { type LocalConfig, type LocalFile, mergeLocal, type Origin } from './merge-local.js';

export interface Merged {
  /** A v1beta1 document with its header, and nothing that neither the local files nor the overlay set. */
  document: KubeletConfig;
  /** The document with sorted keys; its digest identifies the merged config. */
  text: string;
  /** Where a value comes from: of a field, `maxPods`, or of a key of a map, `evictionHard[memory.available]`. */
  origin(path: string): Origin | undefined;
  /** What the kubelet forgives in the local files, and warnings about the overlay. */
  findings: Finding[];
}

export interface MergeOptions {
  minor: Minor;
  local: readonly LocalFile[];
  overlay: string;
  /** Name of the overlay in messages. */
  overlayFile?: string;
}

/** Throws DecodeError when the overlay, or a local file, cannot be decoded. */
export function mergeOverlay({ minor, local, overlay: text, overlayFile }: MergeOptions): Merged {
  const known = knownMinor(minor);
  const base = mergeLocal({ minor: known, local });
  const { overlay, findings, positions } = decodeOverlay(text, {
    minor: known,
    ...(overlayFile !== undefined && { file: overlayFile }),
  });
  const config = withOverlay(base.config, overlay, known);
  const document = { ...header, ...canonical(withoutEmptyStructs(config, shapeOf(known))) };
  const unset = new Set(overlay.unset);
  const origin = (path: string): Origin | undefined => {
    const position = positions.get(path);
    if (position === undefined) return base.origin(path);
    return { in: unset.has(path) ? 'default' : 'overlay', ...(overlayFile && { file: overlayFile }), position };
  };
  return { document, text: asYaml(document), origin, findings: [...base.findings, ...findings] };
}

/** The overlay over a config as written; without header, not canonical. */
function withOverlay(base: KubeletConfig, { config, unset }: Overlay, minor: Minor): KubeletConfig {
  const merged = mergeFields(withThresholds(base, config, minor), config, shapeOf(minor));
  for (const name of unset) remove(merged, findField(name, minor).path);
  return merged;
}

/** One threshold alone would drop the default ones, which the kubelet fills in only where there is none. */
function withThresholds(base: KubeletConfig, over: KubeletConfig, minor: Minor): KubeletConfig {
  const thresholds = over.evictionHard;
  if (isObject(base.evictionHard) || !isObject(thresholds) || Object.keys(thresholds).length === 0) return base;
  return { ...base, evictionHard: defaultOf(fieldAt('evictionHard')!, minor) };
}

/** A map whose last key is removed is removed too, so that the kubelet's default holds. */
function remove(config: KubeletConfig, [name, ...rest]: string[]): void {
  const child = config[name!];
  if (rest.length > 0 && isObject(child)) remove(child, rest);
  if (rest.length === 0 || (isObject(child) && Object.keys(child).length === 0)) delete config[name!];
}

function withoutEmptyStructs(config: KubeletConfig, shape: StructShape): KubeletConfig {
  const kept: KubeletConfig = {};
  for (const [name, value] of Object.entries(config)) {
    const child = shape.fields.get(name);
    const inner = child?.kind === 'struct' && isObject(value) ? withoutEmptyStructs(value, child) : value;
    if (child?.kind !== 'struct' || child.pointer || !isObject(inner) || Object.keys(inner).length > 0)
      kept[name] = inner;
  }
  return kept;
}
