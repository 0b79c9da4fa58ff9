/**
 * A request through the whole server in memory: authentication, authorization, admission and reviews. N3 of the
 * conformance list. Rejections by a real server are replayed in test/api-replay.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { callInMemory } from '../../../../test/apiserver/call-in-memory.js';
import { systemClock } from '../../../clock.js';
import { systemRandom } from '../../../random.js';
import { type ControlPlane, type ControlPlaneOptions, createControlPlane } from '../apiserver.js';
import { parseModes } from './access.js';
import { newSigningKey } from './json-web-token.js';
import { readTokenFile } from './token-file.js';

const tokenFile = `admin-token,admin,,system:masters
node-token,system:node:node-a,,system:nodes
bob-token,bob,
`;

let plane: ControlPlane;

async function open(more: Partial<ControlPlaneOptions> = {}) {
  plane = await createControlPlane({
    clock: systemClock,
    random: systemRandom,
    anonymous: true,
    tokens: [readTokenFile(tokenFile, 'tokens.csv')],
    serviceAccountKey: newSigningKey(),
    kubeletClient: { cert: '', key: '' },
    ownPort: () => undefined,
    address: () => '127.0.0.1:6443',
    ...more,
  });
}
beforeEach(() => open());
afterEach(() => plane.close());

async function openAnother(more: Partial<ControlPlaneOptions>) {
  await plane.close();
  await open(more);
}

interface Answer {
  code: number;
  body: Record<string, unknown> & { message?: string; status?: unknown; details?: unknown };
}

const credentials: Record<string, Record<string, string>> = {
  admin: { authorization: 'Bearer admin-token' },
  node: { authorization: 'Bearer node-token' },
  bob: { authorization: 'Bearer bob-token' },
  bad: { authorization: 'Bearer unknown' },
  anonymous: {},
};

async function as(who: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  const response = await callInMemory(plane.handle, {
    method,
    path,
    headers: { accept: 'application/json', 'content-type': type, ...credentials[who] },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.ended;
  const text = response.text();
  return { code: response.code, body: text.startsWith('{') ? JSON.parse(text) : { message: text } };
}

describe('N3: the config of a node', () => {
  const configMap = '/api/v1/namespaces/kube-system/configmaps/node-config';
  const assign = (who: string, name: string | null) =>
    as(who, 'PATCH', '/api/v1/nodes/node-a', {
      spec: {
        configSource:
          name === null ? null : { configMap: { namespace: 'kube-system', name, kubeletConfigKey: 'kubelet' } },
      },
    });

  beforeEach(async () => {
    await as('admin', 'POST', '/api/v1/nodes', { metadata: { name: 'node-a' } });
    await as('admin', 'POST', '/api/v1/namespaces/kube-system/configmaps', {
      metadata: { name: 'node-config' },
      data: { kubelet: '{}' },
    });
  });

  test('a node may read its ConfigMap only while an administrator has it assigned', async () => {
    expect(await assign('node', 'node-config')).toMatchObject({
      code: 403,
      body: {
        message:
          'nodes "node-a" is forbidden: node "node-a" is not allowed to update configSource to a new non-nil configSource',
      },
    });
    expect(await as('node', 'GET', configMap)).toMatchObject({
      code: 403,
      body: {
        message:
          'configmaps "node-config" is forbidden: User "system:node:node-a" cannot get resource "configmaps" in API group "" in the namespace "kube-system": no relationship found between node \'node-a\' and this object',
      },
    });
    expect((await as('admin', 'GET', configMap)).code).toBe(200);
    expect((await assign('admin', 'node-config')).code).toBe(200);
    expect((await as('node', 'GET', configMap)).code).toBe(200);
    const list = '/api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dnode-config';
    expect(await as('node', 'GET', list)).toMatchObject({
      code: 200,
      body: { items: [{ metadata: { name: 'node-config' } }] },
    });
    expect((await as('node', 'GET', '/api/v1/namespaces/kube-system/configmaps')).code).toBe(403);
    expect((await assign('admin', null)).code).toBe(200);
    expect((await as('node', 'GET', configMap)).code).toBe(403);
  });

  test('a node that drops its own configSource loses access to the ConfigMap', async () => {
    await assign('admin', 'node-config');
    expect((await assign('node', null)).code).toBe(200);
    expect((await as('node', 'GET', configMap)).code).toBe(403);
  });

  test('manual access to the ConfigMap needs a Role and a RoleBinding, as before 1.11', async () => {
    await openAnother({ nodeConfigAccess: 'manual' });
    await as('admin', 'POST', '/api/v1/nodes', { metadata: { name: 'node-a' } });
    await as('admin', 'POST', '/api/v1/namespaces/kube-system/configmaps', { metadata: { name: 'node-config' } });
    await assign('admin', 'node-config');
    expect((await as('node', 'GET', configMap)).code).toBe(403);
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system';
    const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['node-config'], verbs: ['get'] }];
    await as('admin', 'POST', `${rbac}/roles`, { metadata: { name: 'r' }, rules });
    await as('admin', 'POST', `${rbac}/rolebindings`, {
      metadata: { name: 'r' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:node:node-a' }],
    });
    expect((await as('node', 'GET', configMap)).code).toBe(200);
  });
});

describe('credentials', () => {
  const nodes = '/api/v1/nodes';
  test('a request without credentials gets 401 unless anonymous access is on; a wrong token always does', async () => {
    const unauthorized = { code: 401, body: { message: 'Unauthorized', reason: 'Unauthorized', status: 'Failure' } };
    expect(await as('bad', 'GET', nodes)).toMatchObject(unauthorized);
    expect((await as('anonymous', 'GET', nodes)).code).toBe(403);
    await openAnother({ anonymous: false });
    expect(await as('anonymous', 'GET', nodes)).toMatchObject(unauthorized);
    expect(await as('bad', 'GET', nodes)).toMatchObject(unauthorized);
    expect((await as('admin', 'GET', nodes)).code).toBe(200);
  });

  test('AlwaysAllow authorizes every user', async () => {
    expect((await as('bob', 'GET', nodes)).code).toBe(403);
    await openAnother({ modes: parseModes('AlwaysAllow') });
    expect((await as('bob', 'GET', nodes)).code).toBe(200);
    expect(() => parseModes('RBAC,Webhook')).toThrow('"Webhook" is unknown, there are Node, RBAC, AlwaysAllow');
  });

  test('a token issued for a service account authenticates as that account', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const made = await as('admin', 'POST', path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    });
    expect(made.code).toBe(201);
    const { token } = made.body.status as { token: string };
    credentials.account = { authorization: `Bearer ${token}` };
    const me = await as('account', 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    });
    expect(me.body.status).toMatchObject({ userInfo: { username: 'system:serviceaccount:default:default' } });
    expect((await as('bob', 'POST', path, { spec: {} })).code).toBe(403);
    await as('admin', 'DELETE', '/api/v1/namespaces/default/serviceaccounts/default');
    expect((await as('account', 'GET', nodes)).code).toBe(401);
  });

  test('the old path of the node proxy is authorized like the new one', async () => {
    expect(await as('admin', 'GET', '/api/v1/proxy/nodes/gone/configz')).toMatchObject({
      code: 404,
      body: { message: 'nodes "gone" not found' },
    });
    expect(await as('bob', 'GET', '/api/v1/nodes/x/proxy/')).toMatchObject({
      body: {
        message:
          'nodes "x" is forbidden: User "bob" cannot get resource "nodes/proxy" in API group "" at the cluster scope',
      },
    });
  });
});
