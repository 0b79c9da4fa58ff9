/** Everything a user may do in a namespace, as far as it can be listed: what `kubectl auth can-i --list` shows. */
import type { User } from '../../../memory-api/attributes.js';
import { nodeNameOf } from '../well-known.js';
import type { RbacAuthorizer } from './rbac.js';

interface ResourceRule {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
}

interface NonResourceRule {
  verbs: string[];
  nonResourceURLs: string[];
}

export interface ListedRules {
  resourceRules: ResourceRule[];
  nonResourceRules: NonResourceRule[];
  /** There is more that cannot be listed. */
  incomplete: boolean;
  error?: string;
}

export interface RuleSource {
  rulesFor(user: User, namespace: string): ListedRules;
}

export const allRules: RuleSource = {
  rulesFor: () => ({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  }),
};

/** The rights of nodes depend on the objects of their pods, so their list is never complete. */
export function rbacRules(rbac: RbacAuthorizer, options: { nodes: boolean }): RuleSource {
  return {
    rulesFor(user, namespace) {
      const { rules, error } = rbac.rulesFor(user, namespace);
      const isNode = options.nodes && nodeNameOf(user) !== undefined;
      const errors = [isNode ? 'node authorizer does not support user rule resolution' : '', error ?? ''];
      return {
        resourceRules: rules
          .filter((rule) => rule.resources?.length)
          .map(({ verbs, apiGroups = [], resources = [], resourceNames }) => ({
            ...{ verbs, apiGroups, resources },
            ...(resourceNames?.length ? { resourceNames } : {}),
          })),
        nonResourceRules: rules
          .filter((rule) => rule.nonResourceURLs?.length)
          .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
        incomplete: isNode,
        ...(errors.some(Boolean) ? { error: errors.filter(Boolean).join(', ') } : {}),
      };
    },
  };
}
