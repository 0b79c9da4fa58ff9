/** ValidatingAdmissionPolicies and their bindings as stored kinds. The API server of the lab validates and evaluates them. */
import type { KubeObject } from '../../api/object.js';
import type { Column } from '../resource.js';
import {
  bindingPlural,
  bindingSpec,
  type MatchResources,
  policyGroup,
  policyPlural,
  policySpec,
} from './admission-policy.js';
import { ageColumn, column, nameColumn } from './columns.js';
import { defineResource } from './define.js';

const shared = {
  group: policyGroup,
  namespaced: false,
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  categories: ['api-extensions'],
};

const validationsColumn: Column = {
  ...column(
    'Validations',
    'How many expressions must hold.',
    (policy) => (policySpec(policy).validations ?? []).length,
  ),
  type: 'integer',
};

export const validatingAdmissionPolicies = defineResource({
  ...shared,
  kind: 'ValidatingAdmissionPolicy',
  plural: policyPlural,
  shape: 'admissionregistration.v1.ValidatingAdmissionPolicy',
  hasStatus: true,
  columns: [
    nameColumn,
    validationsColumn,
    column('ParamKind', 'The kind of its parameters.', (policy) => {
      const { paramKind } = policySpec(policy);
      return paramKind === undefined ? '<unset>' : `${paramKind.apiVersion}/${paramKind.kind}`;
    }),
    ageColumn,
  ],
  setDefaults(policy) {
    const spec = policySpec(policy);
    spec.failurePolicy ??= 'Fail';
    if (spec.matchConstraints !== undefined) setMatchDefaults(spec.matchConstraints);
  },
  prepareForCreate(policy) {
    policy.status = {};
  },
});

export const validatingAdmissionPolicyBindings = defineResource({
  ...shared,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: bindingPlural,
  shape: 'admissionregistration.v1.ValidatingAdmissionPolicyBinding',
  columns: [
    nameColumn,
    column('PolicyName', 'The policy that it puts in force.', (binding) => bindingSpec(binding).policyName ?? ''),
    column('ParamRef', 'The parameters that it hands to the policy.', paramRefText),
    ageColumn,
  ],
  setDefaults(binding) {
    const { matchResources } = bindingSpec(binding);
    if (matchResources !== undefined) setMatchDefaults(matchResources);
  },
});

function setMatchDefaults(match: MatchResources): void {
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) rule.scope ??= '*';
}

function paramRefText(binding: KubeObject): string {
  const { paramRef } = bindingSpec(binding);
  if (paramRef?.name) return `${paramRef.namespace || '*'}/${paramRef.name}`;
  return paramRef?.selector === undefined ? '<unset>' : JSON.stringify(paramRef.selector);
}
