/** Merges an overlay into the local config of a node, as written. The result is the document that the kubelet is started with. */
import { asYaml } from '../go/yaml/write.js';
import { header } from './header.js';
import { type LocalConfig, type LocalFile, mergeLocal } from './merge-local.js';
import { type Finding, type KubeletConfig, knownMinor, type Minor } from './model.js';
import { type Layer, type Origin, originOf } from './origin.js';
import { type DecodedOverlay, decodeOverlay } from './overlay.js';
import { withOverlay } from './with-overlay.js';

export { baseOf, type LocalConfig, type LocalFile, mergeLocal } from './merge-local.js';
export type { Origin } from './origin.js';

export interface Merged {
  /** A v1beta1 document with its header, and nothing that neither the local files nor the overlay set. */
  document: KubeletConfig;
  /** The document with sorted keys; its digest identifies the merged config. */
  text: string;
  /** Origin of the value of a field, `maxPods`, or of a key of a map, `evictionHard[memory.available]`. */
  origin(path: string): Origin | undefined;
  /** Mistakes in the local files that the kubelet ignores, and warnings about the overlay. */
  findings: Finding[];
}

export interface MergeOptions {
  minor: Minor;
  local: readonly LocalFile[];
  overlay: string;
  /** Name of the overlay in messages. */
  overlayFile?: string;
  /** Unknown and duplicate fields of the overlay are errors, not warnings. Default true. */
  strict?: boolean;
}

/** Throws DecodeError when the overlay, or a local file, cannot be decoded. */
export function mergeOverlay({ minor, local, overlay, overlayFile, strict }: MergeOptions): Merged {
  const base = mergeLocal({ minor, local });
  const decoded = decodeOverlay(overlay, {
    minor,
    ...(overlayFile !== undefined && { file: overlayFile }),
    ...(strict !== undefined && { strict }),
  });
  return mergeDecoded(base, decoded, { minor, overlayFile });
}

export function mergeDecoded(
  base: LocalConfig,
  { overlay, findings, positions }: DecodedOverlay,
  { minor, overlayFile }: { minor: Minor; overlayFile: string | undefined },
): Merged {
  const config = withOverlay(base.config, overlay, knownMinor(minor));
  const document = { ...header, ...config };
  const layers: Layer[] = [
    ...base.layers,
    { in: 'overlay', ...(overlayFile !== undefined && { file: overlayFile }), positions },
  ];
  return {
    document,
    text: asYaml(document),
    origin: (path) => originOf(path, layers, config),
    findings: [...base.findings, ...findings],
  };
}
