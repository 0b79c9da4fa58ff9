/**
 * Decides which fields a dynamic config may change. Pure: compares the candidate with the local config, both after defaults and flags.
 * Without a policy file, the built-in policy rejects only what opens access that the local config keeps closed; a file
 * (`--field-policy`) replaces it. docs/field-policy.md describes the format.
 */
import type { FieldPolicy } from '../api/field-policy.js';
import { diff } from './diff.js';
import { isWithin } from './field-path.js';
import { getField, type KubeletConfig, type Minor } from './model.js';

export interface Objection {
  field: string;
  /** Why, in a sentence that names the values. */
  message: string;
}

export const defaultFieldPolicy: FieldPolicy = { openingAccess: 'refuse' };

export function objections(
  policy: FieldPolicy,
  candidate: KubeletConfig,
  local: KubeletConfig,
  minor: Minor,
): Objection[] {
  return [
    ...changeObjections(policy, candidate, local, minor),
    ...boundObjections(policy, candidate),
    ...(policy.openingAccess === 'allow' ? [] : openings(candidate, local)),
  ];
}

function changeObjections(
  policy: FieldPolicy,
  candidate: KubeletConfig,
  local: KubeletConfig,
  minor: Minor,
): Objection[] {
  if (policy.allow === undefined && policy.deny === undefined) return [];
  return diff(local, candidate, minor).flatMap(({ path }) => {
    const why = whyNot(policy, path);
    return why === undefined
      ? []
      : [{ field: path, message: `${path} differs from the local config, and the field policy ${why}` }];
  });
}

function whyNot({ allow, deny }: FieldPolicy, field: string): string | undefined {
  if (deny?.some((pattern) => isWithin(field, pattern))) return 'denies changing it';
  if (allow !== undefined && !allow.some((pattern) => isWithin(field, pattern))) return 'does not list it under allow';
  return undefined;
}

/** Paths that a payload writes, whatever the local config has: `sets` are the paths of values, `unsets` may be those of whole maps. */
export interface WrittenPaths {
  sets: readonly string[];
  unsets: readonly string[];
}

/** The fields that a payload may not even name. */
export function writtenObjections(policy: FieldPolicy, { sets, unsets }: WrittenPaths): Objection[] {
  const found = sets.map((field) => ({ field, verb: 'is set', why: whyNot(policy, field) }));
  for (const field of unsets) {
    const hidden = policy.deny?.find((pattern) => isWithin(pattern, field));
    const why = whyNot(policy, field) ?? (hidden === undefined ? undefined : `denies changing ${hidden}`);
    found.push({ field, verb: 'is unset', why });
  }
  return found.flatMap(({ field, verb, why }) =>
    why === undefined ? [] : [{ field, message: `${field} ${verb}, and the field policy ${why}` }],
  );
}

export function boundObjections({ bounds = {} }: FieldPolicy, candidate: KubeletConfig): Objection[] {
  return Object.entries(bounds).flatMap(([field, { min, max }]) => {
    const value = getField(candidate, field);
    if (typeof value !== 'number' && typeof value !== 'bigint') return [];
    if (min !== undefined && value < min)
      return [{ field, message: `${field} is ${value}, below the field policy's minimum ${min}` }];
    if (max !== undefined && value > max)
      return [{ field, message: `${field} is ${value}, above the field policy's maximum ${max}` }];
    return [];
  });
}

// Each row: the field, and whether going from the local value to the candidate's opens something.
const doors: { field: string; opens(local: unknown, candidate: unknown): boolean; what: string }[] = [
  {
    field: 'authentication.anonymous.enabled',
    opens: (local, candidate) => local !== true && candidate === true,
    what: 'lets anyone without credentials talk to the kubelet',
  },
  {
    field: 'authorization.mode',
    opens: (local, candidate) => local !== 'AlwaysAllow' && candidate === 'AlwaysAllow',
    what: 'lets every authenticated user run commands in every pod of the node',
  },
  {
    field: 'readOnlyPort',
    opens: (local, candidate) => !local && Number(candidate ?? 0) !== 0,
    what: 'serves pod specs and metrics without authentication',
  },
  { field: 'staticPodURL', opens: another, what: 'makes the node run what that address serves' },
  {
    field: 'authentication.x509.clientCAFile',
    opens: another,
    what: 'trusts clients of another certificate authority',
  },
  { field: 'containerRuntimeEndpoint', opens: another, what: 'hands every container to another runtime' },
  { field: 'volumePluginDir', opens: another, what: 'runs volume plugins from another directory as root' },
];

function another(local: unknown, candidate: unknown): boolean {
  return typeof candidate === 'string' && candidate !== '' && candidate !== (local ?? '');
}

export function openings(candidate: KubeletConfig, local: KubeletConfig): Objection[] {
  return doors.flatMap(({ field, opens, what }) => {
    const [before, after] = [getField(local, field), getField(candidate, field)];
    if (!opens(before, after)) return [];
    return [
      {
        field,
        message: `${field}: ${JSON.stringify(after)} ${what}; the local config has ${JSON.stringify(before ?? null)}`,
      },
    ];
  });
}
