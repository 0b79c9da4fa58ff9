/** Access and token reviews: answers, and rejections of invalid reviews. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../api/object.js';
import type { ApiError } from '../../../api/status.js';
import type { User } from '../../../memory-api/attributes.js';
import { RequestAuthenticator } from './authenticate.js';
import { AuthorizerChain, masters } from './authorizer.js';
import { NodeAuthorizer } from './node-authorizer.js';
import { NodeGraph } from './node-graph.js';
import { RbacAuthorizer } from './rbac.js';
import { reviewResources } from './reviews.js';
import { rbacRules } from './rule-source.js';
import { readTokenFile } from './token-file.js';

const rbac = new RbacAuthorizer();
const object = (fields: Record<string, unknown>) =>
  ({ apiVersion: 'v1', kind: '', metadata: { name: '' }, ...fields }) as KubeObject;
rbac.apply(
  'roles',
  'ns',
  'r',
  object({ rules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] }] }),
);
rbac.apply(
  'rolebindings',
  'ns',
  'r',
  object({ roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'User', name: 'ann' }] }),
);
rbac.apply('clusterroles', '', 'm', object({ rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }] }));
rbac.apply(
  'clusterrolebindings',
  '',
  'm',
  object({ roleRef: { kind: 'ClusterRole', name: 'm' }, subjects: [{ kind: 'Group', name: 'g' }] }),
);

const clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678) };
const tokens = [readTokenFile('good,ann,7,g', 'f')];
const authenticator = new RequestAuthenticator({ tokens, anonymous: false, issuer: 'here', clock });
const resources = reviewResources({
  authorizer: new AuthorizerChain([masters, new NodeAuthorizer(new NodeGraph({ configAccess: 'automatic' })), rbac]),
  authenticateToken: (token, audiences) => authenticator.authenticateToken(token, audiences),
  rules: rbacRules(rbac, { nodes: true }),
  clock,
});

const ann: User = { name: 'ann', uid: '7', groups: ['g', 'system:authenticated'] };

async function ask(plural: string, spec: unknown, user = ann, metadata: Record<string, unknown> = {}) {
  const resource = resources.find((candidate) => candidate.plural === plural)!;
  const apiVersion = `${resource.group}/v1`;
  const sent = resource.decode({ apiVersion, kind: resource.kind, metadata, ...(spec ? { spec } : {}) }, 'json').object;
  return (await resource.answer!(sent, user)) as KubeObject & { status: Record<string, unknown> };
}

const status = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).status;
const problem = (...asked: Parameters<typeof ask>) => ask(...asked).then(undefined, (error: ApiError) => error.status);

describe('access reviews', () => {
  const getA = { verb: 'get', resource: 'configmaps', name: 'a', namespace: 'ns' };

  test('a self review answers for its user', async () => {
    expect(await ask('selfsubjectaccessreviews', { resourceAttributes: getA })).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      metadata: { creationTimestamp: null },
      spec: { resourceAttributes: getA },
      status: { allowed: true, reason: 'RBAC: allowed by RoleBinding "r/ns" of Role "r" to User "ann"' },
    });
    expect(await status('selfsubjectaccessreviews', { resourceAttributes: { ...getA, name: 'b' } })).toEqual({
      allowed: false,
    });
    expect(
      await status('selfsubjectaccessreviews', { nonResourceAttributes: { path: '/metrics', verb: 'get' } }),
    ).toMatchObject({
      allowed: true,
    });
    const node = { name: 'system:node:node-a', groups: ['system:nodes'] };
    expect(await status('selfsubjectaccessreviews', { resourceAttributes: { ...getA, name: 'zzz' } }, node)).toEqual({
      allowed: false,
      reason: "no relationship found between node 'node-a' and this object",
    });
    const selector = { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['node-a'] }] };
    const pods = { verb: 'list', resource: 'pods', fieldSelector: selector };
    expect(await status('selfsubjectaccessreviews', { resourceAttributes: pods }, node)).toEqual({ allowed: true });
  });

  test('a subject review answers for the user and groups it names, not for the caller', async () => {
    const root = { name: 'root', groups: ['system:masters'] };
    expect(await status('subjectaccessreviews', { user: 'ann', resourceAttributes: getA }, root)).toMatchObject({
      allowed: true,
    });
    expect(await status('subjectaccessreviews', { user: 'bob', resourceAttributes: getA }, root)).toEqual({
      allowed: false,
    });
    expect(
      await status(
        'subjectaccessreviews',
        { groups: ['g'], nonResourceAttributes: { path: '/metrics', verb: 'get' } },
        root,
      ),
    ).toMatchObject({ allowed: true });
  });

  test('reviews without a subject or without attributes are rejected', async () => {
    expect(await problem('subjectaccessreviews', { resourceAttributes: getA })).toEqual({
      apiVersion: 'v1',
      code: 422,
      details: {
        causes: [
          {
            field: 'spec.user',
            message: 'Invalid value: "": at least one of user or group must be specified',
            reason: 'FieldValueInvalid',
          },
        ],
        group: 'authorization.k8s.io',
      },
      kind: 'Status',
      message:
        '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified',
      metadata: {},
      reason: 'Invalid',
      status: 'Failure',
    });
    expect((await problem('subjectaccessreviews', { user: 'a' })) as { message: string }).toMatchObject({
      message:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    });
  });
});

describe('rules reviews', () => {
  test('a rules review lists rules by kind', async () => {
    expect(await status('selfsubjectrulesreviews', { namespace: 'ns' })).toEqual({
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'] }],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
      incomplete: false,
    });
    expect(
      await status('selfsubjectrulesreviews', { namespace: 'ns' }, { name: 'system:node:a', groups: ['system:nodes'] }),
    ).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: 'node authorizer does not support user rule resolution',
    });
    expect(await problem('selfsubjectrulesreviews', {})).toMatchObject({
      code: 400,
      message: 'no namespace on request',
    });
  });
});

describe('identity reviews', () => {
  test('a self subject review answers with the caller', async () => {
    const answer = await ask('selfsubjectreviews', undefined);
    expect(answer.metadata).toEqual({ creationTimestamp: '2026-01-02T03:04:05Z' });
    expect(answer.status).toEqual({ userInfo: { username: 'ann', uid: '7', groups: ['g', 'system:authenticated'] } });
  });

  test('a token review answers with the user of the token', async () => {
    expect(await status('tokenreviews', { token: 'good' })).toEqual({
      authenticated: true,
      user: { username: 'ann', uid: '7', groups: ['g', 'system:authenticated'] },
      audiences: ['here'],
    });
    expect(await status('tokenreviews', { token: 'nope' })).toEqual({ user: {}, error: 'invalid bearer token' });
    expect(await problem('tokenreviews', {})).toMatchObject({
      code: 400,
      message: 'token is required for TokenReview in authentication',
    });
  });
});
