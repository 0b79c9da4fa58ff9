/** The parts of ValidatingAdmissionPolicies and their bindings that this server uses. */

import type { LabelSelectorObject } from '../../api/label-selector.js';
import type { KubeObject } from '../../api/object.js';

export const policyGroup = 'admissionregistration.k8s.io';
export const policyPlural = 'validatingadmissionpolicies';
export const bindingPlural = 'validatingadmissionpolicybindings';

export interface ResourceRule {
  resourceNames?: string[];
  operations?: string[];
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: string;
}

export interface MatchResources {
  namespaceSelector?: LabelSelectorObject;
  objectSelector?: LabelSelectorObject;
  resourceRules?: ResourceRule[];
  excludeResourceRules?: ResourceRule[];
  matchPolicy?: string;
}

export interface Validation {
  expression: string;
  message?: string;
  reason?: string;
  messageExpression?: string;
}

export interface PolicySpec {
  paramKind?: { apiVersion?: string; kind?: string };
  matchConstraints?: MatchResources;
  validations?: Validation[];
  failurePolicy?: string;
  matchConditions?: { name: string; expression: string }[];
  variables?: { name: string; expression: string }[];
}

export interface ParamRef {
  name?: string;
  namespace?: string;
  selector?: LabelSelectorObject;
  parameterNotFoundAction?: string;
}

export interface BindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
  validationActions?: string[];
}

export const policySpec = (policy: KubeObject) => (policy.spec ?? {}) as PolicySpec;
export const bindingSpec = (binding: KubeObject) => (binding.spec ?? {}) as BindingSpec;
