/**
 * Converts a whole config to an overlay with the same effect over the given local files, for configs that were written before overlays
 * existed.
 */
import { asYaml } from '../go/yaml/write.js';
import { canonical } from './canonical.js';
import { decode } from './decode.js';
import { setDefaults } from './defaults.js';
import { diffWhole } from './diff.js';
import { isWithin, leavesOf } from './field-path.js';
import { defaultOf, fieldAt } from './fields.js';
import { header } from './header.js';
import { hasOwnCertificate } from './host-paths.js';
import { type LocalFile, mergeLocal } from './merge-local.js';
import { childPath, fieldOf, getField, type KubeletConfig, knownMinor, type Minor, type Overlay } from './model.js';
import { type FieldSetting, withSetting } from './set-field.js';
import { shapeAt, shapeOf } from './shape.js';
import { withOverlay, withoutEmptyStructs } from './with-overlay.js';

export interface OverlayFromOptions {
  /** As written, or as on /configz with the empty lists and maps that it leaves out. */
  running: KubeletConfig;
  local: readonly LocalFile[];
  minor: Minor;
}

/**
 * Leaves out what equals the local config, by meaning, and what the kubelet derived. Fields that this minor does not have are
 * dropped. Throws DecodeError where a local file, or `running`, cannot be decoded.
 */
export function overlayFrom({ running, local, minor }: OverlayFromOptions): Overlay {
  const known = knownMinor(minor);
  const base = mergeLocal({ minor: known, local }).config;
  const { config } = decode(asYaml({ ...running, ...header }), { minor: known, strict: false });
  const wanted = setDefaults(withoutDerived(config, base), known);
  const lacks = (overlay: Overlay) => differingFields(base, overlay, wanted, known);
  let overlay: Overlay = { config: {}, unset: [] };
  const [unset, set] = [new Set<string>(), new Set<string>()];
  // A default may depend on another field, so a step can make further fields differ. Each is first unset, then set.
  const next = () => lacks(overlay).filter((field) => !set.has(field));
  for (let fields = next(); fields.length > 0; fields = next())
    for (const field of fields) {
      const isFirst = !unset.has(field) && getField(base, field) !== undefined;
      overlay = isFirst ? withUnset(overlay, field) : withSet(overlay, field, { base, wanted, minor: known });
      (isFirst ? unset : set).add(field);
    }
  return withoutSurplus(overlay, lacks, known);
}

function differingFields(base: KubeletConfig, overlay: Overlay, wanted: KubeletConfig, minor: Minor): string[] {
  const changes = diffWhole(setDefaults(withOverlay(base, overlay, minor), minor), wanted, minor);
  return [...new Set(changes.map(({ path }) => fieldOf(path)))];
}

const withUnset = ({ config, unset }: Overlay, path: string): Overlay => ({ config, unset: [...unset, path] });

interface Goal {
  base: KubeletConfig;
  wanted: KubeletConfig;
  minor: Minor;
}

function withSet({ config, unset }: Overlay, field: string, { base, wanted, minor }: Goal): Overlay {
  const path = field.split('.');
  const value = getField(wanted, field) ?? undefined;
  const kept = unset.filter((other) => !isWithin(other, field));
  if (shapeAt(path, minor)?.kind !== 'map') return { config: withSetting(config, { path, value }), unset: kept };
  const map = (value ?? {}) as KubeletConfig;
  const before = (getField(base, field) ?? (field === 'evictionHard' ? defaultThresholds(minor) : {})) as KubeletConfig;
  const gone = Object.keys(map).length === 0 ? [] : Object.keys(before).filter((key) => !Object.hasOwn(map, key));
  return {
    config: withSetting(config, { path, value: map }),
    unset: [...kept, ...gone.map((key) => childPath(field, key, 'key'))],
  };
}

const defaultThresholds = (minor: Minor): unknown => defaultOf(fieldAt('evictionHard')!, minor);

/** Takes out everything without which the overlay means the same. */
function withoutSurplus(overlay: Overlay, lacks: (overlay: Overlay) => string[], minor: Minor): Overlay {
  const most = lacks(overlay).length;
  let small = overlay;
  const keep = (candidate: Overlay) => {
    if (lacks(candidate).length <= most) small = candidate;
  };
  for (const path of leavesOf(overlay.config, shapeOf(minor)))
    keep({ ...small, config: withSetting(small.config, { path, value: undefined }) });
  for (const path of overlay.unset) keep({ ...small, unset: small.unset.filter((other) => other !== path) });
  return { config: canonical(withoutEmptyStructs(small.config, shapeOf(minor))), unset: small.unset.sort() };
}

/** The kubelet writes these into its own config when it starts, so /configz shows them although nobody set them. */
function withoutDerived(config: KubeletConfig, base: KubeletConfig): KubeletConfig {
  const { kubeReserved, systemReserved } = base as Record<string, KubeletConfig | undefined>;
  const derived: FieldSetting[] = [];
  if (hasOwnCertificate(config) && base.tlsCertFile !== config.tlsCertFile)
    derived.push({ path: ['tlsCertFile'], value: undefined }, { path: ['tlsPrivateKeyFile'], value: undefined });
  if (base.providerID === undefined) derived.push({ path: ['providerID'], value: undefined });
  // CPUs that are reserved by name replace those that are reserved by number.
  if ((config.reservedSystemCPUs ?? '') !== '')
    derived.push(
      { path: ['kubeReserved', 'cpu'], value: kubeReserved?.cpu },
      { path: ['systemReserved', 'cpu'], value: systemReserved?.cpu },
    );
  return derived.reduce(withSetting, config);
}
