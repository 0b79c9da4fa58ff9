/**
 * Reads `status.localConfig` of a NodeConfig. A node writes it and its value is free-form, so its size is checked before any other code
 * walks it: without recursion, and never beyond the bounds. The schema of NodeConfigs has the same bounds as far as a schema can. Pure.
 */
import { isObject } from '../json.js';
import type { LocalConfig, NodeConfig } from './node-config.js';

/** A KubeletConfiguration is 4 levels deep, has some 130 fields, and is a few kB. */
export const localConfigBounds = {
  files: 64,
  pathLength: 4096,
  /** Objects and lists inside each other; the config of a file is the first. */
  depth: 7,
  /** Entries of each object and of each list. */
  entries: 1000,
  textLength: 32_768,
  /** Size of all files together, as JSON. */
  bytes: 65_536,
} as const;

/** Stands for the values of a header in `staticPodURLHeader`, which may be secret. */
export const hiddenHeader = 'hidden';

export interface ReportedLocalConfig {
  /** Undefined if the node reports none, or one that cannot be used. */
  local?: LocalConfig;
  /** Why the report cannot be used: `it is nested deeper than 7 levels`. */
  unusable?: string;
}

export function readLocalConfig(value: unknown): ReportedLocalConfig {
  if (value === undefined || value === null) return {};
  const files = isObject(value) ? value.files : undefined;
  if (!Array.isArray(files) || !files.every(isLocalFile)) return { unusable: 'it is not a list of files' };
  const { files: mostFiles, pathLength } = localConfigBounds;
  if (files.length > mostFiles) return { unusable: `it has more than ${mostFiles} files` };
  if (files.some(({ path }) => path.length > pathLength)) return { unusable: 'the path of a file is too long' };
  const unusable = excessOf(files.map(({ config }) => config));
  return unusable === undefined ? { local: value as unknown as LocalConfig } : { unusable };
}

const isLocalFile = (file: unknown): file is LocalConfig['files'][number] =>
  isObject(file) &&
  typeof file.path === 'string' &&
  isObject(file.config) &&
  (file.dropIn === undefined || typeof file.dropIn === 'boolean');

/** The first bound that these values are beyond. */
function excessOf(configs: readonly unknown[]): string | undefined {
  const { depth: mostDepth, entries: mostEntries, textLength, bytes: mostBytes } = localConfigBounds;
  const open = configs.map((value) => ({ value, depth: 1 }));
  let bytes = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) {
      const { length } = typeof value === 'string' ? value : String(value);
      if (length > textLength) return `a value is longer than ${textLength} characters`;
      bytes += length + 2;
    } else {
      if (depth > mostDepth) return `it is nested deeper than ${mostDepth} levels`;
      const parts: [string, unknown][] = Object.entries(value);
      if (parts.length > mostEntries) return `an object or a list of it has more than ${mostEntries} entries`;
      bytes += 2;
      for (const [key, part] of parts) {
        bytes += key.length + 4;
        open.push({ value: part, depth: depth + 1 });
      }
    }
    if (bytes > mostBytes) return `it is larger than ${mostBytes} bytes`;
  }
  return undefined;
}

/** A NodeConfig whose local config was measured, and is left out where it cannot be used. */
export interface MeasuredNodeConfig extends NodeConfig {
  /** Why the report of the node cannot be used. */
  unusable?: string;
}

/** For each object of a list, before it is kept or shown. */
export function measured(object: NodeConfig): MeasuredNodeConfig {
  const { unusable } = readLocalConfig(object.status?.localConfig);
  if (unusable === undefined) return object;
  const { localConfig: _, ...status } = object.status!;
  return { ...object, status, unusable: unusableReport(unusable) };
}

/** For people: `the report of its local config cannot be used: it is nested deeper than 7 levels`. */
const unusableReport = (why: string): string => `the report of its local config cannot be used: ${why}`;
