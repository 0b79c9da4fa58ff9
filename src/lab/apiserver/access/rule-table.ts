/** Short forms for tables of rules. Lists are sorted, as in the default roles of Kubernetes. */
import type { PolicyRule } from './policy-rule.js';

export const read = ['get', 'list', 'watch'];
export const write = ['create', 'delete', 'deletecollection', 'patch', 'update'];
export const readWrite = [...write, ...read].sort();

export function resourceRule(
  verbs: string[],
  apiGroups: string[],
  resources: string[],
  resourceNames?: string[],
): PolicyRule {
  return {
    apiGroups: [...apiGroups].sort(),
    ...(resourceNames === undefined ? {} : { resourceNames: [...resourceNames].sort() }),
    resources: [...resources].sort(),
    verbs: [...verbs].sort(),
  };
}

export const urlRule = (verbs: string[], nonResourceURLs: string[]): PolicyRule => ({
  nonResourceURLs: [...nonResourceURLs].sort(),
  verbs: [...verbs].sort(),
});
