/**
 * Which fields a dynamic config may change on this host. Pure: compares the candidate with the local config, both after
 * defaults and flags. Without a policy file the built-in policy refuses only what opens access that the local config
 * keeps closed; a file (`--field-policy`) replaces it. docs/field-policy.md describes the format.
 */
import { diff } from '../../config/diff.js';
import { isWithin } from '../../config/field-path.js';
import { getField, type KubeletConfig, type Minor } from '../../config/model.js';

export interface FieldPolicy {
  /** When present, only these fields (and what is below them) may differ from the local config. */
  allow?: string[];
  /** These may never differ from the local config. */
  deny?: string[];
  /** Numbers must lie within, whether changed or not. */
  bounds?: Record<string, { min?: number; max?: number }>;
  /** Whether a config may open access that the local config keeps closed. Default refuse. */
  openingAccess?: 'refuse' | 'allow';
}

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
  return diff(local, candidate, minor).flatMap(({ path: field }) => {
    if (policy.deny?.some((pattern) => isWithin(field, pattern)))
      return [{ field, message: `${field} differs from the local config, and the field policy denies changing it` }];
    if (policy.allow !== undefined && !policy.allow.some((pattern) => isWithin(field, pattern)))
      return [
        { field, message: `${field} differs from the local config, and the field policy does not list it under allow` },
      ];
    return [];
  });
}

function boundObjections({ bounds = {} }: FieldPolicy, candidate: KubeletConfig): Objection[] {
  return Object.entries(bounds).flatMap(([field, { min, max }]) => {
    const value = getField(candidate, field);
    if (typeof value !== 'number') return [];
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

function openings(candidate: KubeletConfig, local: KubeletConfig): Objection[] {
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
