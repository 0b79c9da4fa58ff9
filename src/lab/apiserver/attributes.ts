/** Who asks for what: the facts about a request that authentication, authorization and admission decide on. */

export interface User {
  name: string;
  uid?: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

/** Verbs are Kubernetes' request verbs: get list watch create update patch delete deletecollection, or an HTTP method in lower case. */
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
  /** What a field selector on list and watch asks for, with `=` for both spellings of equality. */
  fieldSelector?: FieldRequirement[];
}

export interface FieldRequirement {
  field: string;
  operator: '=' | '!=';
  value: string;
}

export interface Decision {
  allowed: boolean;
  /** Why not (or why); shown behind the 403 message. */
  reason?: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision;
}
