/** Aggregated ClusterRoles: the rules that such a role should have now. Pure; access-controllers.ts stores them. */

import { type LabelSelectorObject, selectsLabels } from '../../../api/label-selector.js';
import type { KubeObject } from '../../../api/object.js';
import { identityOf } from '../../../memory-api/json-equality.js';
import { type PolicyRule, rulesOf } from './policy-rule.js';

/** Whether a role is aggregated, or one of these aggregated roles selects it. */
export function takesPart(role: KubeObject, aggregated: KubeObject[]): boolean {
  return isAggregated(role) || aggregated.some((one) => feeds(role, one));
}

export const isAggregated = (role: KubeObject): boolean => role.aggregationRule !== undefined;

function feeds(role: KubeObject, aggregated: KubeObject): boolean {
  const { clusterRoleSelectors = [] } = aggregated.aggregationRule as { clusterRoleSelectors?: LabelSelectorObject[] };
  return clusterRoleSelectors.some((selector) => selectsLabels(selector, role.metadata.labels));
}

/**
 * The rules of all roles its selectors match, each once, in the order of the roles' names; undefined for a role that is
 * not aggregated.
 */
export function aggregatedRules(role: KubeObject, all: KubeObject[]): PolicyRule[] | undefined {
  const rule = role.aggregationRule as { clusterRoleSelectors?: LabelSelectorObject[] } | undefined;
  if (rule === undefined) return undefined;
  const byName = [...all].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules = new Map<string, PolicyRule>();
  for (const selector of rule.clusterRoleSelectors ?? [])
    for (const source of byName) {
      // Not itself: its rules are the result.
      if (source.metadata.name === role.metadata.name || !selectsLabels(selector, source.metadata.labels)) continue;
      for (const found of rulesOf(source)) {
        const text = identityOf(found);
        if (!rules.has(text)) rules.set(text, found);
      }
    }
  return [...rules.values()];
}
