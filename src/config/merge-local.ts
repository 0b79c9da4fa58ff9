/**
 * The node's local config as written: the --config file, then the drop-ins of --config-dir as the kubelet of that minor
 * merges them. What nobody wrote stays out, so that later defaults count.
 */
import { type Decoded, DecodeError, decode } from './decode.js';
import { setDefaults } from './defaults.js';
import { diff } from './diff.js';
import { mergeDropIn } from './drop-in.js';
import { resolvePaths } from './host-paths.js';
import { mergeFields } from './merge-fields.js';
import { type Finding, getField, type KubeletConfig, knownMinor, type Minor, type Position } from './model.js';
import { withSetting } from './set-field.js';
import { shapeOf } from './shape.js';

export interface LocalFile {
  /** Absolute: relative paths in the file count from its directory. */
  path: string;
  text: string;
  /** From --config-dir. Needed on the first file only, where the host has no --config; all others are. */
  dropIn?: boolean;
}

/** Where the value of a field comes from. A default has a position where an overlay unsets the field. */
export interface Origin {
  in: 'overlay' | 'local' | 'default';
  file?: string;
  position?: Position;
}

export interface LocalConfig {
  /** What the files set, by v1beta1 field names, paths absolute; without header and defaults. */
  config: KubeletConfig;
  /** What the kubelet forgives in the files. */
  findings: Finding[];
  /** Of a field or of a key of a map, `evictionHard[memory.available]`; undefined where no file sets it. */
  origin(path: string): Origin | undefined;
}

/** --config first, then the drop-ins in the kubelet's order; none at all on a host without --config. Throws DecodeError. */
export function mergeLocal({ minor, local }: { minor: Minor; local: readonly LocalFile[] }): LocalConfig {
  const known = knownMinor(minor);
  const files = local.map((file) => ({ file, decoded: decodeLocal(file, known) }));
  const hasConfig = local.length > 0 && local[0]!.dropIn !== true;
  const dropIns = hasConfig ? files.slice(1) : files;
  const base = hasConfig ? files[0]!.decoded.config : legacyDefaults();
  const written =
    dropIns.length === 0
      ? base
      : withDropIns(
          base,
          dropIns.map(({ decoded }) => decoded.config),
          known,
        );
  const origins = new Map<string, Origin>();
  for (const { file, decoded } of files)
    for (const [path, position] of decoded.positions) origins.set(path, { in: 'local', file: file.path, position });
  return {
    config: written,
    findings: files.flatMap(({ decoded }) => decoded.findings),
    origin: (path) => origins.get(path),
  };
}

/** A kubelet without --config keeps what its flags meant before there was a config file. */
const legacyDefaults = (): KubeletConfig => ({
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  readOnlyPort: 10255,
});

function decodeLocal({ path, text }: LocalFile, minor: Minor): Decoded {
  const inFile = (finding: Finding): Finding => ({ ...finding, file: path });
  try {
    const decoded = decode(text, { minor, file: path, strict: false });
    resolvePaths(decoded.config, path, minor);
    return { ...decoded, findings: decoded.findings.map(inFile) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(`local config ${path}: ${error.message}`, error.findings.map(inFile));
  }
}

/** As written, but meaning what the kubelet makes of the files: it merges drop-ins over a config that has its defaults. */
function withDropIns(base: KubeletConfig, dropIns: readonly KubeletConfig[], minor: Minor): KubeletConfig {
  let effective = setDefaults(base, minor);
  let written = base;
  for (const dropIn of dropIns) {
    effective = mergeDropIn(effective, dropIn, minor);
    written = mergeFields(written, dropIn, shapeOf(minor));
  }
  return meaning(effective, written, minor);
}

/** Changes `written` until it means `wanted`: first takes out the fields that differ, then writes those that still do. */
function meaning(wanted: KubeletConfig, written: KubeletConfig, minor: Minor): KubeletConfig {
  let result = written;
  for (const step of ['remove', 'write'] as const)
    for (const { path } of diff(result, wanted, minor)) {
      const parts = path.replace(/\[.*$/s, '').split('.');
      result = withSetting(result, {
        path: parts,
        value: step === 'remove' ? undefined : getField(wanted, parts.join('.')),
      });
    }
  return result;
}
