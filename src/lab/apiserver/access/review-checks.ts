/** Validation of access reviews. */

import type { KubeObject } from '../../../api/object.js';
import { goQuote } from '../../../go/quote.js';
import { type FieldError, invalidField, requiredField } from '../field-error.js';
import type { NonResourceAttributes, ResourceAttributes, Selector } from './review-attributes.js';

export interface AccessSpec {
  user?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: NonResourceAttributes;
}

export function checkAttributes({
  resourceAttributes: resource,
  nonResourceAttributes: path,
}: AccessSpec): FieldError[] {
  if (resource === undefined && path === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [invalidField('spec.resourceAttributes', null, detail)];
  }
  if (resource === undefined) return [];
  const both =
    path === undefined ? [] : [wrongPath(path, 'cannot be specified in combination with resourceAttributes')];
  return [
    ...both,
    ...checkSelector(resource.fieldSelector, 'spec.resourceAttributes.fieldSelector'),
    ...checkSelector(resource.labelSelector, 'spec.resourceAttributes.labelSelector'),
  ];
}

function wrongPath({ path = '', verb = '' }: NonResourceAttributes, detail: string): FieldError {
  const value = `authorization.NonResourceAttributes{Path:${goQuote(path)}, Verb:${goQuote(verb)}}`;
  return { type: 'Invalid', field: 'spec.nonResourceAttributes', value, detail };
}

/** Raw or parsed, but not both. */
function checkSelector(selector: Selector | undefined, at: string): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = '', requirements = [] } = selector;
  const isListed = requirements.length > 0;
  if (rawSelector !== '' && isListed)
    return [invalidField(`${at}.rawSelector`, rawSelector, 'may not specified at the same time as requirements')];
  if (rawSelector !== '' || isListed) return [];
  return [requiredField(`${at}.requirements`, `when ${at} is specified, requirements or rawSelector is required`)];
}

export function checkSubject({ user = '', groups = [] }: AccessSpec): FieldError[] {
  return user === '' && groups.length === 0
    ? [invalidField('spec.user', '', 'at least one of user or group must be specified')]
    : [];
}

/** A review has no name and no labels: it is never stored. */
export function checkUnnamed({ metadata }: KubeObject, detail = 'must be empty'): FieldError[] {
  const { managedFields: _, creationTimestamp: __, ...rest } = metadata;
  const given = Object.entries(rest).filter(([, value]) => value !== '' && value !== undefined);
  return given.length === 0 ? [] : [invalidField('metadata', Object.fromEntries(given), detail)];
}

export function checkLocal(object: KubeObject, spec: AccessSpec): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  const { namespace: home = '', ...metadata } = object.metadata;
  const namespace = resource?.namespace ?? '';
  return [
    ...checkUnnamed({ ...object, metadata }, 'must be empty except for namespace'),
    ...(resource !== undefined && namespace !== home
      ? [invalidField('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace')]
      : []),
    ...(path === undefined ? [] : [wrongPath(path, 'disallowed on this kind of request')]),
  ];
}
