/**
 * Merges a node's local config as written: the --config file, then the drop-ins of --config-dir as the kubelet of that minor merges
 * them. Unset fields stay unset, so that later defaults apply.
 */
import { asYaml } from '../go/yaml/write.js';
import { canonical } from './canonical.js';
import { DecodeError, decode } from './decode.js';
import { setDefaults } from './defaults.js';
import { type Change, diffWhole } from './diff.js';
import { dropInMerger } from './drop-in.js';
import { fields, isResolvedPath } from './fields.js';
import { header } from './header.js';
import { resolvePaths } from './host-paths.js';
import {
  type Finding,
  fieldOf,
  getField,
  type KubeletConfig,
  knownMinor,
  type Minor,
  type Positions,
} from './model.js';
import { type Layer, type Origin, originOf } from './origin.js';
import { withSetting } from './set-field.js';

export interface LocalFile {
  /** Absolute: relative paths in the file count from its directory. */
  path: string;
  text: string;
  /** Base of relative paths, if it is not the directory of the file: standard input has none. */
  directory?: string;
  /** True for a first file that is from --config-dir, on a host without --config. All files after the first are drop-ins. */
  dropIn?: boolean;
}

export interface LocalConfig {
  /** Fields that the files set, by v1beta1 names, paths absolute, keys sorted; without header and defaults. */
  config: KubeletConfig;
  /** The same as a document with its header. */
  text: string;
  /** Mistakes in the files that the kubelet ignores, and settings that no single file can express. */
  findings: Finding[];
  /** The fields that each file sets; later files win. */
  layers: readonly Layer[];
  /** Origin of a field, `maxPods`, or of a key of a map, `evictionHard[memory.available]`. */
  origin(path: string): Origin | undefined;
}

type Files = Pick<LocalConfig, 'config' | 'findings' | 'layers'>;

/** --config first, then the drop-ins in the kubelet's order; none at all on a host without --config. Throws DecodeError. */
export function mergeLocal({ minor, local }: { minor: Minor; local: readonly LocalFile[] }): LocalConfig {
  const known = knownMinor(minor);
  const [first, ...others] = local;
  const hasConfig = first !== undefined && first.dropIn !== true;
  const base = hasConfig ? loadConfig(first, known) : legacyDefaults(known);
  const { config, findings, layers } = withDropIns(base, hasConfig ? others : local, known);
  const origin = (path: string) => originOf(path, layers, config);
  return { config, text: asYaml({ ...header, ...config }), findings, layers, origin };
}

/** A kubelet without --config keeps what its flags meant before there was a config file, and since 1.26 no thresholds. */
const legacyDefaults = (minor: Minor): Files => ({
  config: {
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    ...(minor >= 26 && { evictionHard: {} }),
    readOnlyPort: 10255,
  },
  findings: [],
  layers: [],
});

function loadConfig(file: LocalFile, minor: Minor): Files {
  const { path, text } = file;
  const decoded = inFile(path, () => decode(text, { minor, file: path, strict: false }));
  resolvePaths(decoded.config, baseOf(file), minor);
  return {
    config: canonical(decoded.config),
    findings: decoded.findings.map((finding) => ({ ...finding, file: path })),
    layers: [layerOf(path, decoded.positions)],
  };
}

/** The file that relative paths count from. */
export const baseOf = ({ path, directory }: LocalFile): string =>
  directory === undefined ? path : `${directory}/file`;

const layerOf = (file: string, positions: Positions): Layer => ({ in: 'local', file, positions });

/** Runs `read`; its errors get the name of the file. */
function inFile<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const findings = error.findings.map((finding) => ({ ...finding, file }));
    throw new DecodeError(`local config ${file}: ${error.message}`, findings);
  }
}

function withDropIns(base: Files, files: readonly LocalFile[], minor: Minor): Files {
  if (files.length === 0) return base;
  const merger = inFile(files[0]!.path, () => dropInMerger(base.config, minor));
  const [findings, layers] = [[...base.findings], [...base.layers]];
  for (const file of files) {
    const { path, text } = file;
    const dropIn = inFile(path, () => merger.add(baseOf(file), text));
    for (const finding of dropIn.findings) findings.push({ ...finding, file: path });
    layers.push(layerOf(path, dropIn.positions));
  }
  const effective = merger.effective();
  const { config, lost } = writtenAs(effective, merger.written(), minor);
  const place = (path: string) => originOf(path, layers, effective);
  findings.push(...lost.map((change) => notExpressible(change, place(change.path), minor)));
  findings.push(...relativePaths(config, place, minor));
  resolvePaths(config, '/', minor);
  return { config: canonical(config), findings, layers };
}

/** Kubelets from 1.29 on leave them as they are in drop-ins, so that they count from the working directory. */
function relativePaths(config: KubeletConfig, place: (path: string) => Origin | undefined, minor: Minor): Finding[] {
  return fields.flatMap(({ path }): Finding[] => {
    const value = isResolvedPath(path, minor) ? getField(config, path) : undefined;
    if (typeof value !== 'string' || value === '' || value.startsWith('/')) return [];
    const message = `'${value}' is a relative path in a drop-in: kubelet 1.${minor} takes it from its working directory, and relet from /, which that of a service is; write it absolute`;
    return [{ severity: 'warning', source: 'relet', path, ...inOrigin(place(path)), message }];
  });
}

/** Changes `written` until it means `wanted`: takes out the fields that differ, then writes those that still do. */
function writtenAs(wanted: KubeletConfig, written: KubeletConfig, minor: Minor) {
  let config = written;
  const differences = () => diffWhole(setDefaults(config, minor), wanted, minor);
  const change = (value: (field: string) => unknown) => {
    for (const { path } of differences()) {
      const field = fieldOf(path);
      config = withSetting(config, { path: field.split('.'), value: value(field) });
    }
  };
  change(() => undefined);
  change((field) => getField(wanted, field) ?? undefined);
  // Thresholds are filled in where --config is loaded: in a drop-in this field comes too late, in one file it would not.
  if (differences().some(({ path }) => path.startsWith('evictionHard')))
    config = withSetting(config, { path: ['mergeDefaultEvictionSettings'], value: undefined });
  return { config, lost: differences().filter(({ path }) => path !== 'mergeDefaultEvictionSettings') };
}

function notExpressible({ path, before, after }: Change, origin: Origin | undefined, minor: Minor): Finding {
  const [shown, instead] = [after, before].map((value) => (typeof value === 'bigint' ? value : JSON.stringify(value)));
  const message = `kubelet 1.${minor} takes ${shown} from a drop-in; in one file it means ${instead}, which the merged config has`;
  return { severity: 'warning', source: 'relet', path, ...inOrigin(origin), message };
}

const inOrigin = (origin: Origin | undefined): Partial<Finding> =>
  origin?.file === undefined ? {} : { file: origin.file, ...origin.position };
