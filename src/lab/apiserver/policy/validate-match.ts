/** Validation of match constraints of policies and bindings. */

import { checkPathSegment } from '../../../api/names.js';
import { goQuote } from '../../../go/quote.js';
import { duplicateField, type FieldError, invalidField, requiredField, unsupportedField } from '../field-error.js';
import { validateSelector } from '../match-labels.js';
import type { MatchResources, ResourceRule } from './policy.js';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];
const matchPolicies = ['Equivalent', 'Exact'];

export function validateMatch(match: MatchResources, path: string): FieldError[] {
  const { matchPolicy = '', namespaceSelector = {}, objectSelector = {} } = match;
  return [
    ...(matchPolicies.includes(matchPolicy)
      ? []
      : [unsupportedField(`${path}.matchPolicy`, matchPolicy, matchPolicies)]),
    ...validateSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...validateSelector(objectSelector, `${path}.objectSelector`),
    ...(['resourceRules', 'excludeResourceRules'] as const).flatMap((field) =>
      (match[field] ?? []).flatMap((rule, index) => validateRule(rule, `${path}.${field}[${index}]`)),
    ),
  ];
}

/** Go prints the element type of a list. */
export function invalidList(field: string, list: string[], goType: string, detail: string): FieldError {
  return { type: 'Invalid', field, value: `[]${goType}{${list.map(goQuote).join(', ')}}`, detail };
}

function validateRule(rule: ResourceRule, path: string): FieldError[] {
  const { resourceNames = [], operations: given = [], apiGroups = [], apiVersions = [], scope } = rule;
  const alone = (field: string, list: string[], what: string, goType = 'string') =>
    list.length > 1 && list.includes('*')
      ? [invalidList(`${path}.${field}`, list, goType, `if '*' is present, must not specify other ${what}`)]
      : [];
  const some = (field: string, list: string[]) => (list.length === 0 ? [requiredField(`${path}.${field}`)] : []);
  return [
    ...resourceNames.flatMap((name, index) => [
      ...checkPathSegment(name).map((wrong) => invalidField(`${path}.resourceNames[${index}]`, name, wrong)),
      ...(resourceNames.indexOf(name) < index ? [duplicateField(`${path}.resourceNames[${index}]`, name)] : []),
    ]),
    ...some('operations', given),
    ...alone('operations', given, 'operations', 'admissionregistration.OperationType'),
    ...given.flatMap((operation, index) =>
      operations.includes(operation) ? [] : [unsupportedField(`${path}.operations[${index}]`, operation, operations)],
    ),
    ...some('apiGroups', apiGroups),
    ...alone('apiGroups', apiGroups, 'API groups'),
    ...some('apiVersions', apiVersions),
    ...alone('apiVersions', apiVersions, 'API versions'),
    ...apiVersions.flatMap((version, index) =>
      version === '' ? [requiredField(`${path}.apiVersions[${index}]`)] : [],
    ),
    ...validateResources(rule.resources ?? [], `${path}.resources`),
    ...(scope === undefined || scopes.includes(scope) ? [] : [unsupportedField(`${path}.scope`, scope, scopes)]),
  ];
}

/** A wildcard together with something that it covers is most likely a mistake. */
function validateResources(resources: string[], path: string): FieldError[] {
  if (resources.length === 0) return [requiredField(path)];
  const errors: FieldError[] = [];
  for (const [index, name] of resources.entries()) {
    const [resource = '', part] = name.split('/');
    const earlier = resources.slice(0, index);
    const complain = (by: string) =>
      errors.push(invalidField(`${path}[${index}]`, name, `if '${by}' is present, must not specify ${name}`));
    if (name === '') errors.push(requiredField(`${path}[${index}]`));
    if (part !== undefined && earlier.includes(`${resource}/*`)) complain(`${resource}/*`);
    if (part !== undefined && earlier.includes(`*/${part}`)) complain(`*/${part}`);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(invalidField(path, resources, "if '*/*' is present, must not specify other resources"));
  if (resources.includes('*') && resources.some((name) => name !== '*' && !name.includes('/')))
    errors.push(
      invalidField(path, resources, "if '*' is present, must not specify other resources without subresources"),
    );
  return errors;
}
