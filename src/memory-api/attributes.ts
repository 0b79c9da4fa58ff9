/** The user and the attributes of a request, on which authorization and admission decide. */

export interface User {
  name: string;
  uid?: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

/**
 * Verbs are Kubernetes' request verbs: get list watch create update patch delete deletecollection, or an HTTP method in
 * lower case.
 */
export interface Attributes {
  user: User;
  verb: string;
  /** True for /api and /apis paths that name a resource; else only `path` counts. */
  isResource: boolean;
  path: string;
  apiGroup: string;
  apiVersion: string;
  resource: string;
  subresource: string;
  namespace: string;
  /** Also filled from an exact `metadata.name=` field selector on list and watch, as Kubernetes does. */
  name: string;
  /** Requirements of a field selector on list and watch, with `=` for both spellings of equality. */
  fieldSelector?: FieldRequirement[];
}

export interface FieldRequirement {
  field: string;
  operator: '=' | '!=';
  value: string;
}

export interface Decision {
  allowed: boolean;
  /** Why it is denied (or allowed); shown behind the 403 message. */
  reason?: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision;
}
