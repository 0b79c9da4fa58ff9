/** One rule of a role, and whether it allows a request. Rules only allow; there are no rules that deny. */
import type { KubeObject } from '../../../api/object.js';
import type { Attributes } from '../../../memory-api/attributes.js';

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export function ruleAllows(rule: PolicyRule, request: Attributes): boolean {
  if (!matches(rule.verbs, request.verb)) return false;
  if (!request.isResource) return (rule.nonResourceURLs ?? []).some((url) => urlMatches(url, request.path));
  return (
    matches(rule.apiGroups, request.apiGroup) &&
    (rule.resources ?? []).some((resource) => resourceMatches(resource, request)) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(request.name))
  );
}

/** The rules of a stored role, whatever was stored: a value that is not a list of strings counts as absent. */
export function rulesOf(role: KubeObject): PolicyRule[] {
  if (!Array.isArray(role.rules)) return [];
  return role.rules
    .filter((rule): rule is Record<string, unknown> => typeof rule === 'object' && rule !== null)
    .map((rule) => ({
      verbs: strings(rule.verbs) ?? [],
      ...optional('apiGroups', strings(rule.apiGroups)),
      ...optional('resources', strings(rule.resources)),
      ...optional('resourceNames', strings(rule.resourceNames)),
      ...optional('nonResourceURLs', strings(rule.nonResourceURLs)),
    }));
}

const matches = (allowed: string[] | undefined, asked: string) =>
  allowed !== undefined && (allowed.includes('*') || allowed.includes(asked));

/** `*` is everything with subresources, `pods/status` exactly that, `*\/status` the status of any resource. */
function resourceMatches(allowed: string, { resource, subresource }: Attributes): boolean {
  if (allowed === '*') return true;
  if (subresource === '') return allowed === resource;
  return allowed === `${resource}/${subresource}` || allowed === `*/${subresource}`;
}

const urlMatches = (allowed: string, path: string) =>
  allowed === path || (allowed.endsWith('*') && path.startsWith(allowed.replace(/\*+$/, '')));

function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined;
}

function optional<K extends string>(key: K, value: string[] | undefined) {
  return value === undefined ? {} : ({ [key]: value } as Record<K, string[]>);
}
