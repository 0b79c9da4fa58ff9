/** Validation of ValidatingAdmissionPolicies: every expression must compile with the variables it will have. */

import { checkDns1035Label, checkDnsSubdomain, checkQualifiedName } from '../../../api/names.js';
import type { KubeObject } from '../../../api/object.js';
import { isReserved } from '../cel/escape.js';
import {
  duplicateField,
  type FieldError,
  invalidField,
  requiredField,
  tooManyField,
  unsupportedField,
} from '../field-error.js';
import { type CompiledPolicy, compilePolicy, type Expression } from './compiled-policy.js';
import { type PolicySpec, policySpec } from './policy.js';
import { validateMatch } from './validate-match.js';

const failurePolicies = ['Fail', 'Ignore'];
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const maxConditions = 64;
const maxAnnotations = 20;
const maxAnnotationExpressionBytes = 5 * 1024;

export function validatePolicy(policy: KubeObject): FieldError[] {
  const spec = policySpec(policy);
  const compiled = compilePolicy(policy);
  const { failurePolicy = '', paramKind, matchConstraints } = spec;
  return [
    ...(failurePolicies.includes(failurePolicy)
      ? []
      : [unsupportedField('spec.failurePolicy', failurePolicy, failurePolicies)]),
    ...(paramKind === undefined ? [] : validateParamKind(paramKind)),
    ...(matchConstraints === undefined
      ? [requiredField('spec.matchConstraints')]
      : validateMatch(matchConstraints, 'spec.matchConstraints')),
    // Without one the types of the policy's objects are unknown.
    ...((matchConstraints?.resourceRules ?? []).length === 0 && matchConstraints !== undefined
      ? [requiredField('spec.matchConstraints.resourceRules')]
      : []),
    ...validateConditions(spec, compiled),
    ...validateVariables(spec, compiled),
    ...validateValidations(spec, compiled),
    ...validateAnnotations(policy.metadata.name, spec, compiled),
  ];
}

function validateParamKind({ apiVersion = '', kind = '' }: NonNullable<PolicySpec['paramKind']>): FieldError[] {
  const at = 'spec.paramKind';
  const errors: FieldError[] = [];
  const parts = apiVersion.split('/');
  const [version = '', group = ''] = [...parts].reverse();
  if (apiVersion === '') errors.push(requiredField(`${at}.apiVersion`));
  else if (parts.length > 2)
    errors.push(invalidField(`${at}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  else {
    const wrongGroup = group === '' ? [] : checkDnsSubdomain(group);
    if (wrongGroup.length > 0) errors.push(invalidField(`${at}.apiVersion`, group, wrongGroup.join(',')));
    const wrongVersion = checkDns1035Label(version);
    if (version === '') errors.push(invalidField(`${at}.apiVersion`, apiVersion, 'version must be specified'));
    else if (wrongVersion.length > 0) errors.push(invalidField(`${at}.apiVersion`, version, wrongVersion.join(',')));
  }
  const wrongKind = checkDns1035Label(kind.toLowerCase());
  if (kind === '') errors.push(requiredField(`${at}.kind`));
  else if (wrongKind.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${wrongKind.join(',')}`;
    errors.push(invalidField(`${at}.kind`, kind, detail));
  }
  return errors;
}

function problemOf({ problem, source }: Expression, path: string): FieldError[] {
  return problem === undefined ? [] : [invalidField(path, source, problem)];
}

function validateConditions({ matchConditions = [] }: PolicySpec, compiled: CompiledPolicy): FieldError[] {
  const at = 'spec.matchConditions';
  const names = matchConditions.map(({ name }) => name);
  return [
    ...(matchConditions.length > maxConditions ? [tooManyField(at, matchConditions.length, maxConditions)] : []),
    ...matchConditions.flatMap(({ name, expression }, index) => [
      ...(expression.trim() === ''
        ? [requiredField(`${at}[${index}].expression`)]
        : problemOf(compiled.matchConditions[index]!, `${at}[${index}].expression`)),
      ...(name === ''
        ? [requiredField(`${at}[${index}].name`)]
        : checkQualifiedName(name).map((wrong) => invalidField(`${at}[${index}].name`, name, wrong))),
      ...(name !== '' && names.indexOf(name) < index ? [duplicateField(`${at}[${index}].name`, name)] : []),
    ]),
  ];
}

function validateVariables({ variables = [] }: PolicySpec, compiled: CompiledPolicy): FieldError[] {
  return variables.flatMap(({ name, expression }, index) => {
    const at = `spec.variables[${index}]`;
    const isName = /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !isReserved(name);
    return [
      ...(name.trim() === '' ? [requiredField(`${at}.name`, 'name is not specified')] : []),
      ...(name.trim() !== '' && !isName
        ? [invalidField(`${at}.name`, name, 'name is not a valid CEL identifier')]
        : []),
      ...(expression.trim() === ''
        ? [requiredField(`${at}.expression`, 'expression is not specified')]
        : problemOf(compiled.variables.all[index]!, `${at}.expression`)),
    ];
  });
}

function validateValidations(
  { validations = [], auditAnnotations = [] }: PolicySpec,
  compiled: CompiledPolicy,
): FieldError[] {
  if (validations.length + auditAnnotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item';
    return [requiredField('spec.validations', detail), requiredField('spec.auditAnnotations', detail)];
  }
  return validations.flatMap(({ expression, message = '', messageExpression = '', reason }, index) => {
    const at = `spec.validations[${index}]`;
    const { message: compiledMessage, ...compiledExpression } = compiled.validations[index]!;
    const errors: FieldError[] = [];
    if (expression.trim() === '') errors.push(requiredField(`${at}.expression`, 'expression is not specified'));
    else errors.push(...problemOf(compiledExpression, `${at}.expression`));
    if (messageExpression !== '' && messageExpression.trim() === '')
      errors.push(invalidField(`${at}.messageExpression`, messageExpression, 'must be non-empty if specified'));
    else if (compiledMessage !== undefined) errors.push(...problemOf(compiledMessage, `${at}.messageExpression`));
    if (message !== '' && message.trim() === '')
      errors.push(invalidField(`${at}.message`, message, 'message must be non-empty if specified'));
    else if (/[\n\r]/.test(message.trim()))
      errors.push(invalidField(`${at}.message`, message, 'message must not contain line breaks'));
    if (reason !== undefined && !reasons.includes(reason))
      errors.push(unsupportedField(`${at}.reason`, reason, reasons));
    return errors;
  });
}

function validateAnnotations(
  policy: string,
  { auditAnnotations = [] }: PolicySpec,
  compiled: CompiledPolicy,
): FieldError[] {
  const at = 'spec.auditAnnotations';
  const keys = auditAnnotations.map(({ key }) => key);
  return [
    ...(auditAnnotations.length > maxAnnotations
      ? [invalidField(at, auditAnnotations, `must not have more than ${maxAnnotations} auditAnnotations`)]
      : []),
    ...auditAnnotations.flatMap(({ key, valueExpression }, index) => [
      ...checkQualifiedName(`${policy}/${key}`).map((wrong) =>
        invalidField(`${at}[${index}].key`, `${policy}/${key}`, wrong),
      ),
      ...validateAnnotation(compiled.auditAnnotations[index]!, valueExpression, `${at}[${index}].valueExpression`),
      ...(keys.indexOf(key) < index ? [duplicateField(`${at}[${index}].key`, key)] : []),
    ]),
  ];
}

function validateAnnotation(compiled: Expression, source: string, path: string): FieldError[] {
  if (source.trim() === '') return [requiredField(path, 'valueExpression is not specified')];
  if (Buffer.byteLength(source.trim()) > maxAnnotationExpressionBytes)
    return [requiredField(path, `must not exceed ${maxAnnotationExpressionBytes} bytes in length`)];
  return problemOf(compiled, path);
}
