/** Validation of ValidatingAdmissionPolicies and their bindings: an expression that does not compile is not stored. */
import type { KubeObject } from '../../../api/object.js';
import { type FieldError, invalidField, requiredField } from '../../../memory-api/field-error.js';
import type { Resource, Strategy } from '../../../memory-api/resource.js';
import {
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../../memory-api/resources/admission-policies.js';
import { bindingSpec, policySpec } from '../../../memory-api/resources/admission-policy.js';
import { compilePolicy, type Expression } from './compiled-policy.js';

/** The stored kinds, validated. */
export const validatedPolicyKinds: Resource[] = [
  validated(validatingAdmissionPolicies, validatePolicy),
  validated(validatingAdmissionPolicyBindings, validateBinding),
];

function validated(kind: Resource, validate: (object: KubeObject) => FieldError[]): Resource {
  const strategy: Strategy = {
    ...kind.strategy,
    validateCreate: validate,
    validateUpdate: (object, _old, subresource) => (subresource === '' ? validate(object) : []),
  };
  return { ...kind, strategy };
}

function validatePolicy(policy: KubeObject): FieldError[] {
  const { matchConstraints, validations = [] } = policySpec(policy);
  const compiled = compilePolicy(policy);
  return [
    ...((matchConstraints?.resourceRules ?? []).length === 0
      ? [requiredField('spec.matchConstraints.resourceRules')]
      : []),
    ...(validations.length === 0 ? [requiredField('spec.validations')] : []),
    ...problems(compiled.matchConditions, 'spec.matchConditions'),
    ...problems(compiled.variables.all, 'spec.variables'),
    ...problems(compiled.validations, 'spec.validations'),
    ...compiled.validations.flatMap(({ message }, index) =>
      message === undefined ? [] : problem(message, `spec.validations[${index}].messageExpression`),
    ),
  ];
}

function validateBinding(binding: KubeObject): FieldError[] {
  const { policyName = '', validationActions = [] } = bindingSpec(binding);
  return [
    ...(policyName === '' ? [requiredField('spec.policyName')] : []),
    ...(validationActions.length === 0 ? [requiredField('spec.validationActions')] : []),
  ];
}

function problems(expressions: Expression[], path: string): FieldError[] {
  return expressions.flatMap((expression, index) => problem(expression, `${path}[${index}].expression`));
}

function problem({ problem, source }: Expression, path: string): FieldError[] {
  return problem === undefined ? [] : [invalidField(path, source, problem)];
}
