/** Types that this module shares: a config, a kubelet minor, a finding and its position; with helpers for versions and field paths. */
import type { Position } from '../go/yaml/value.js';

/**
 * A KubeletConfiguration keyed by its JSON field names (v1beta1). After decode and setDefaults every field of that minor
 * is present: a nil map, list or pointer is `null`, a duration is Go text ("1m0s"), a quantity its canonical text.
 * Integers beyond 2^53 are bigint.
 */
export type KubeletConfig = Record<string, unknown>;

/** The y of Kubernetes 1.y. */
export type Minor = number;

export const oldestMinor: Minor = 11;
export const newestMinor: Minor = 37;

/** 32 for '1.32', 'v1.32.1' or '1.32.1-gke.1'; undefined when it is not a version. Not bounded by what we know. */
export function parseMinor(version: string): Minor | undefined {
  const match = /^v?1\.(\d{1,3})(?:[.+-].*)?$/.exec(version.trim());
  return match ? Number(match[1]) : undefined;
}

/** 1 for 'v1.32.1-gke.1'; undefined for a version without one. */
export function parsePatch(version: string): number | undefined {
  const patch = /^v?1\.\d{1,3}\.(\d{1,4})(?![\d.])/.exec(version.trim())?.[1];
  return patch === undefined ? undefined : Number(patch);
}

/** The nearest minor our tables cover: older and newer kubelets are read by the oldest and newest we know. */
export function knownMinor(minor: Minor): Minor {
  return Math.min(Math.max(Math.trunc(minor), oldestMinor), newestMinor);
}

export type { Position };

/** The place of each path in the document: `authentication.webhook.enabled`, `clusterDNS[1]`, `evictionHard[memory.available]`. */
export type Positions = ReadonlyMap<string, Position>;

export interface Finding {
  /** `note`: worth knowing, and often meant. */
  severity: 'error' | 'warning' | 'note';
  /** `kubelet`: the kubelet reports this itself. `relet`: the kubelet does not report it, or only when it is too late. */
  source: 'kubelet' | 'relet';
  /** Dotted path; `` for the document as a whole, `--name` for a flag. */
  path: string;
  /** The file that line and column are in, where it is not the document that was checked: a local file under an overlay. */
  file?: string;
  line?: number;
  column?: number;
  message: string;
  /** Remedy, if the message is the kubelet's and does not show one. */
  remedy?: string;
  /** The kubelet would start, and a cgroup of the host would get less than it uses now. */
  starvesHost?: true;
  /** Stands for so many findings that are not listed. */
  more?: number;
}

/** Content of a KubeletConfigurationOverlay. */
export interface Overlay {
  /** Fields to set, without a header. */
  config: KubeletConfig;
  /** Paths to remove: `clusterDomain`, `evictionHard[memory.available]`. */
  unset: string[];
}

/** Known facts of the host that a config is for. Every part may be unknown; an unknown part settles nothing. */
export interface Host {
  /** Default: Linux. */
  os?: 'linux' | 'windows';
  cgroupVersion?: 1 | 2;
  cpus?: number;
  memoryBytes?: number;
  /** Processes and threads that the kernel allows: the smaller one of kernel.pid_max and kernel.threads-max. */
  maxPids?: number;
  swap?: boolean;
  systemd?: boolean;
  numaNodes?: number;
  /** Paths known to exist (true) or to be missing (false). */
  files?: Record<string, boolean>;
  /** By path below the root of the hierarchy, such as `/system.slice`: what it uses now, or false where there is none. */
  cgroups?: Record<string, CgroupUse | false>;
  /** Sysctls as the next boot sets them before the kubelet starts, by name: `kernel.panic`. */
  sysctlsAtBoot?: Record<string, SysctlAtBoot>;
}

export interface CgroupUse {
  /** Without what the kernel can take back at once: inactive pages of files. */
  memoryBytes?: number;
  pids?: number;
}

/** `by` is what sets it: a file, or the command line of the kernel. */
export interface SysctlAtBoot {
  value: string;
  by: string;
}

/** The command line as parsed: each flag the kubelet knows, canonical name (`max-pods`), values in order. */
export type CommandLine = ReadonlyMap<string, readonly string[]>;

export interface ValidationContext {
  minor: Minor;
  /** Patch release of the kubelet; undefined if only its minor is known. */
  patch?: number | undefined;
  /** Parsed kubelet flags; they already override the config. */
  flags: CommandLine;
  host?: Host;
  /** The document as decoded, before defaults and flags: the kubelet's defaulting looks at its own feature gates only. */
  document?: KubeletConfig;
}

/** Dotted path of a child. Map keys stand in brackets, since they hold dots themselves. */
export function childPath(parent: string, child: string | number, kind: 'field' | 'key' | 'index'): string {
  if (kind === 'field') return parent === '' ? String(child) : `${parent}.${child}`;
  return `${parent}[${child}]`;
}

/**
 * `logging` for `logging.format`, `evictionHard` for `evictionHard[memory.available]`, '' at the top. Always shorter, also of a key with
 * brackets, and without a regular expression, which needs quadratic time for a key of many brackets.
 */
export function parentPath(path: string): string {
  const isKey = path.endsWith(']');
  const end = isKey ? path.indexOf('[', path.lastIndexOf(']', path.length - 2) + 1) : path.lastIndexOf('.');
  if (end >= 0 && (isKey || path.lastIndexOf(']') < end)) return path.slice(0, end);
  return path.includes('[') ? fieldOf(path) : '';
}

/** The field that a path is in: `evictionHard` for `evictionHard[memory.available]`. */
export function fieldOf(path: string): string {
  const end = path.indexOf('[');
  return end < 0 ? path : path.slice(0, end);
}

/** The value at a field path such as `logging.options.json.infoBufferSize`; undefined if there is none. */
export function getField(config: KubeletConfig, path: string): unknown {
  let value: unknown = config;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
