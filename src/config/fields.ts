/** Queries about fields: which exist in a minor, their type and default, and the flag that pins them. */
import { copy } from './copy.js';
import { fieldRows } from './facts/field-rows.js';
import { flagRows } from './facts/flag-rows.js';
import type { Minor } from './model.js';

export interface Field {
  /** `reservedMemory[].limits`: `[]` stands for each element of a list. */
  path: string;
  /** Go type without the pointer: `bool`, `int32`, `Duration`, `map[string]string`, `{}` … */
  goType: string;
  /** Nil unless set, so that an explicit zero value is kept. */
  pointer: boolean;
  first: Minor;
  last: Minor;
  /** The default from each minor on, of a document that sets nothing; empty when it is the type's zero value. */
  defaults: readonly (readonly [from: Minor, value: unknown])[];
  /** In words, where the default depends on other fields or on a gate. */
  computedDefault?: string;
  /** The flag that writes this field, without dashes. */
  flag?: string;
  /** A path on the host; relative ones are resolved against the config file's directory. */
  isHostPath: boolean;
}

const hostPaths = new Map<string, Minor>([
  ['staticPodPath', 11],
  ['authentication.x509.clientCAFile', 11],
  ['tlsCertFile', 11],
  ['tlsPrivateKeyFile', 11],
  ['resolvConf', 11],
  ['volumePluginDir', 19],
  ['podLogsDir', 30],
]);

const computedDefaults: Record<string, string> = {
  nodeStatusReportFrequency: '5m when nodeStatusUpdateFrequency is unset, else equal to it (1m before 1.17)',
  podPidsLimit: 'unset or negative becomes -1',
  resolvConf: '/etc/resolv.conf; empty on Windows',
  serializeImagePulls: 'true, but false when maxParallelImagePulls is 2 or more (since 1.27)',
  evictionHard:
    'a set of thresholds when left out; with mergeDefaultEvictionSettings only the missing ones (since 1.33)',
  enforceNodeAllocatable: '["pods"] when left out; an explicit empty list stays empty',
  'crashLoopBackOff.maxContainerRestartPeriod': '5m, only when gate KubeletCrashLoopBackOffMax is on',
  imagePullCredentialsVerificationPolicy:
    'NeverVerifyPreloadedImages, only when gate KubeletEnsureSecretPulledImages is on',
};

const flagOf = new Map(flagRows.map(([name, , field]) => [field, name]));

export const fields: readonly Field[] = fieldRows.map(([path, goType, first, last, ...defaults]) => {
  const pointer = goType.startsWith('*');
  const computed = computedDefaults[path];
  const flag = flagOf.get(path);
  return {
    path,
    goType: pointer ? goType.slice(1) : goType,
    pointer,
    first,
    last,
    defaults,
    isHostPath: hostPaths.has(path),
    ...(computed === undefined ? {} : { computedDefault: computed }),
    ...(flag === undefined ? {} : { flag }),
  };
});

const byPath = new Map(fields.map((field) => [field.path, field]));

export function fieldAt(path: string): Field | undefined {
  return byPath.get(path);
}

export function existsIn(field: Field, minor: Minor): boolean {
  return field.first <= minor && minor <= field.last;
}

export function fieldsOf(minor: Minor): Field[] {
  return fields.filter((field) => existsIn(field, minor));
}

/** Whether it has a value of its own: not a struct, whose fields do, and not a part of the items of a list. */
export const isLeaf = ({ path, goType }: Field): boolean => goType !== '{}' && !path.includes('[]');

/** Value in a document that sets nothing: the default of that minor, else the zero value of the type. */
export function defaultOf(field: Field, minor: Minor): unknown {
  for (let i = field.defaults.length - 1; i >= 0; i--) {
    const [from, value] = field.defaults[i]!;
    if (from <= minor) return copy(value);
  }
  return zeroOf(field);
}

/** Go's zero value; null is nil. */
export function zeroOf(field: Field): unknown {
  if (field.pointer) return null;
  switch (field.goType) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'Duration':
      return '0s';
    case 'Quantity':
      return '0';
    case '{}':
      return {};
    default:
      return /^(u?int|float)/.test(field.goType) ? 0 : null;
  }
}

/** Whether the kubelet resolves a relative value against the config file's directory. */
export function isResolvedPath(path: string, minor: Minor): boolean {
  const since = hostPaths.get(path);
  return since !== undefined && since <= minor;
}
