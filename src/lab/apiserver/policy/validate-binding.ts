/** Validation of ValidatingAdmissionPolicyBindings. */

import { checkDnsSubdomain, checkPathSegment } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../field-error.js';
import { validateSelector } from '../match-labels.js';
import { bindingSpec, type ParamRef } from './policy.js';
import { invalidList, validateMatch } from './validate-match.js';

const actions = ['Audit', 'Deny', 'Warn'];

export function validateBinding(binding: KubeObject): FieldError[] {
  const { policyName = '', paramRef, matchResources, validationActions = [] } = bindingSpec(binding);
  return [
    ...(policyName === ''
      ? [requiredField('spec.policyName')]
      : checkDnsSubdomain(policyName).map((wrong) => invalidField('spec.policyName', policyName, wrong))),
    ...(paramRef === undefined ? [] : validateParamRef(paramRef, 'spec.paramRef')),
    ...(matchResources === undefined ? [] : validateMatch(matchResources, 'spec.matchResources')),
    ...validateActions(validationActions, 'spec.validationActions'),
  ];
}

function validateParamRef({ name = '', selector, parameterNotFoundAction = '' }: ParamRef, path: string): FieldError[] {
  const exclusive = 'name and selector are mutually exclusive';
  const isBoth = name !== '' && selector !== undefined;
  return [
    ...checkPathSegment(name).map((wrong) => invalidField(`${path}.name`, name, wrong)),
    ...(isBoth ? [forbiddenField(`${path}.name`, exclusive)] : []),
    ...(selector === undefined ? [] : validateSelector(selector, `${path}.selector`)),
    ...(isBoth ? [forbiddenField(`${path}.selector`, exclusive)] : []),
    ...(name === '' && selector === undefined
      ? [requiredField(path, 'one of name or selector must be specified')]
      : []),
    ...(parameterNotFoundAction === '' ? [requiredField(`${path}.parameterNotFoundAction`)] : []),
    ...(parameterNotFoundAction !== '' && !['Deny', 'Allow'].includes(parameterNotFoundAction)
      ? [unsupportedField(`${path}.parameterNotFoundAction`, parameterNotFoundAction, ['Deny', 'Allow'])]
      : []),
  ];
}

function validateActions(given: string[], path: string): FieldError[] {
  const both =
    'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
  return [
    ...given.flatMap((action, index) => [
      ...(actions.includes(action) ? [] : [unsupportedField(`${path}[${index}]`, action, actions)]),
      ...(given.indexOf(action) < index ? [duplicateField(`${path}[${index}]`, action)] : []),
    ]),
    ...(given.includes('Deny') && given.includes('Warn')
      ? [invalidList(path, given, 'admissionregistration.ValidationAction', both)]
      : []),
    ...(given.length === 0 ? [requiredField(path, 'at least one validation action is required')] : []),
  ];
}
