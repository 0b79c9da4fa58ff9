/** Validation of access reviews. */

import type { KubeObject } from '../../../api/object.js';
import { type FieldError, invalidField } from '../../../memory-api/field-error.js';
import type { NonResourceAttributes, ResourceAttributes } from './review-attributes.js';

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
  if ((resource === undefined) !== (path === undefined)) return [];
  const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [
    invalidField(resource === undefined ? 'spec.resourceAttributes' : 'spec.nonResourceAttributes', null, detail),
  ];
}

export function checkSubject({ user = '', groups = [] }: AccessSpec): FieldError[] {
  return user === '' && groups.length === 0
    ? [invalidField('spec.user', '', 'at least one of user or group must be specified')]
    : [];
}

/** A review has no name and no labels: it is never stored. */
export function checkUnnamed({ metadata }: KubeObject): FieldError[] {
  const { managedFields: _, creationTimestamp: __, ...rest } = metadata;
  const given = Object.entries(rest).filter(([, value]) => value !== '' && value !== undefined);
  return given.length === 0 ? [] : [invalidField('metadata', Object.fromEntries(given), 'must be empty')];
}
