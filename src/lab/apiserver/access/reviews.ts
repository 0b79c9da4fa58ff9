/** Access, rules, identity and token reviews: answered on create, never stored. */
import type { KubeObject } from '../../../api/object.js';
import type { ApiError } from '../../../api/status.js';
import { type Clock, rfc3339 } from '../../../clock.js';
import type { Attributes, Authorizer, User } from '../../../memory-api/attributes.js';
import type { FieldError } from '../../../memory-api/field-error.js';
import type { Resource } from '../../../memory-api/resource.js';
import { defineResource } from '../../../memory-api/resources/define.js';
import { badRequest, invalid } from '../../../memory-api/status-error.js';
import type { TokenIdentity } from './authenticate.js';
import { nonResourceAttributes, resourceAttributes } from './review-attributes.js';
import { type AccessSpec, checkAttributes, checkSubject, checkUnnamed } from './review-checks.js';
import type { RuleSource } from './rule-source.js';

export interface ReviewOptions {
  authorizer: Authorizer;
  authenticateToken(token: string, audiences: string[]): TokenIdentity | { error: string };
  rules: RuleSource;
  clock: Pick<Clock, 'now'>;
}

const authorization = { group: 'authorization.k8s.io', verbs: ['create'], namespaced: false };
const authentication = { group: 'authentication.k8s.io', verbs: ['create'], namespaced: false };

export function reviewResources(options: ReviewOptions): Resource[] {
  const review = (object: KubeObject, user: User) => ({
    ...object,
    metadata: { ...object.metadata, creationTimestamp: null },
    status: decide(options.authorizer, object, user),
  });
  return [
    defineResource({
      ...authentication,
      kind: 'TokenReview',
      plural: 'tokenreviews',
      shape: 'authentication.v1.TokenReview',
      answer: (object) => reviewToken(object, options),
    }),
    defineResource({
      ...authentication,
      kind: 'SelfSubjectReview',
      plural: 'selfsubjectreviews',
      shape: 'authentication.v1.SelfSubjectReview',
      answer: (object, user) => reviewSelf(object, user, options.clock.now()),
    }),
    defineResource({
      ...authorization,
      kind: 'SelfSubjectAccessReview',
      plural: 'selfsubjectaccessreviews',
      shape: 'authorization.v1.SelfSubjectAccessReview',
      answer(object, user) {
        throwIfAny([...checkAttributes(specOf(object)), ...checkUnnamed(object)]);
        return asObject(review(object, user));
      },
    }),
    defineResource({
      ...authorization,
      kind: 'SelfSubjectRulesReview',
      plural: 'selfsubjectrulesreviews',
      shape: 'authorization.v1.SelfSubjectRulesReview',
      answer: (object, user) => reviewRules(object, user, options.rules),
    }),
    defineResource({
      ...authorization,
      kind: 'SubjectAccessReview',
      plural: 'subjectaccessreviews',
      shape: 'authorization.v1.SubjectAccessReview',
      answer(object) {
        const spec = specOf(object);
        throwIfAny([...checkAttributes(spec), ...checkSubject(spec), ...checkUnnamed(object)]);
        return asObject(review(object, subjectOf(object)));
      },
    }),
  ];
}

/** Kubernetes answers reviews with `creationTimestamp: null`, which the type of stored objects does not know. */
const asObject = (object: unknown) => object as KubeObject;

const specOf = (object: KubeObject) => (object.spec ?? {}) as AccessSpec;

function decide(authorizer: Authorizer, object: KubeObject, user: User) {
  const spec = specOf(object);
  const request: Attributes =
    spec.resourceAttributes === undefined
      ? nonResourceAttributes(user, spec.nonResourceAttributes ?? {})
      : resourceAttributes(user, spec.resourceAttributes);
  const { allowed, reason } = authorizer.authorize(request);
  return { allowed, ...(reason ? { reason } : {}) };
}

function subjectOf(object: KubeObject): User {
  const { user = '', uid, groups = [], extra } = specOf(object);
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
}

/** Kubernetes leaves the kind out here, so the message begins with a dot. */
function throwIfAny(errors: FieldError[]): void {
  if (errors.length > 0) throw withoutKind(invalid({ group: authorization.group, kind: '' }, '', errors));
}

function withoutKind(error: ApiError): ApiError {
  delete error.status.details?.kind;
  return error;
}

function reviewToken(object: KubeObject, { authenticateToken }: ReviewOptions): KubeObject {
  const { token = '', audiences = [] } = (object.spec ?? {}) as { token?: string; audiences?: string[] };
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const identity = authenticateToken(token, audiences);
  const status =
    'error' in identity
      ? { user: {}, error: identity.error }
      : {
          authenticated: true,
          user: userInfo(identity.user),
          ...(identity.audiences?.length ? { audiences: identity.audiences } : {}),
        };
  return asObject({ ...object, metadata: { ...object.metadata, creationTimestamp: null }, status });
}

function reviewSelf(object: KubeObject, user: User, nowMs: number): KubeObject {
  const creationTimestamp = rfc3339(nowMs);
  return { ...object, metadata: { ...object.metadata, creationTimestamp }, status: { userInfo: userInfo(user) } };
}

function reviewRules(object: KubeObject, user: User, rules: RuleSource): KubeObject {
  const { namespace = '' } = (object.spec ?? {}) as { namespace?: string };
  if (namespace === '') throw badRequest('no namespace on request');
  const { resourceRules, nonResourceRules, incomplete, error } = rules.rulesFor(user, namespace);
  return asObject({
    ...object,
    metadata: { creationTimestamp: null },
    spec: {},
    status: { resourceRules, nonResourceRules, incomplete, ...(error ? { evaluationError: error } : {}) },
  });
}

const userInfo = ({ name, uid, groups, extra }: User) => ({
  username: name,
  ...(uid ? { uid } : {}),
  ...(groups.length > 0 ? { groups } : {}),
  ...(extra && Object.keys(extra).length > 0 ? { extra } : {}),
});
