/** A watch by name gets only the object that was authorized. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTokenFile } from '../../src/lab/apiserver/access/token-file.js';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { callInMemory } from './call-in-memory.js';

const tokenFile = `admin-token,admin,,system:masters
node-token,system:node:node-1,,system:nodes
reader-token,reader,
`;
const namespace = '/api/v1/namespaces/kube-system';
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system';
const mismatch = "fieldSelector metadata.name doesn't match requested name";

let server: ApiServer;

function call(who: string, method: string, path: string, body?: unknown) {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { accept: 'application/json', 'content-type': type, authorization: `Bearer ${who}-token` };
  return callInMemory(server.handle, { method, path, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
}

async function write(method: string, path: string, body: unknown) {
  expect((await call('admin', method, path, body)).code).toBeLessThan(300);
}

/** The code and the first line of the response; a watch is then closed. */
async function ask(who: string, path: string) {
  const response = await call(who, 'GET', path);
  const text = await response.until((all) => all.includes('\n'));
  response.abort();
  const { message, object, items } = JSON.parse(text);
  const found = object ? [object.metadata.name] : items?.map((item: typeof object) => item.metadata.name);
  return { code: response.code, message, found };
}

beforeAll(async () => {
  const tokens = readTokenFile(tokenFile, 'tokens.csv');
  server = await startApiServer({ tokens: [tokens] });
  for (const name of ['node-1', 'node-2']) await write('POST', '/api/v1/nodes', { metadata: { name } });
  for (const name of ['mine', 'other']) {
    await write('POST', `${namespace}/secrets`, { metadata: { name } });
    await write('POST', `${namespace}/configmaps`, { metadata: { name } });
  }
  const configMap = { namespace: 'kube-system', name: 'mine', kubeletConfigKey: 'kubelet' };
  await write('PATCH', '/api/v1/nodes/node-1', { spec: { configSource: { configMap } } });
  const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get', 'list', 'watch'] }];
  await write('POST', `${rbac}/roles`, { metadata: { name: 'r' }, rules });
  await write('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'r' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }],
  });
});
afterAll(() => server.close());

const select = (...terms: string[]) => `fieldSelector=${encodeURIComponent(terms.join(','))}`;
const name = (value: string) => `metadata.name=${value}`;

describe.each([
  ['a user with resourceNames', 'reader', 'namespaces/kube-system/secrets', 'mine', 'other', 'type=Opaque'],
  [
    'a node and its ConfigMap',
    'node',
    'namespaces/kube-system/configmaps',
    'mine',
    'other',
    'metadata.namespace=kube-system',
  ],
  ['a node and its Node', 'node', 'nodes', 'node-1', 'node-2', 'spec.unschedulable=false'],
])('%s', (_title, who, collection, own, foreign, field) => {
  const watch = (named: string) => `/api/v1/watch/${collection}/${named}`;
  const list = `/api/v1/${collection}`;

  test.each([
    ['by path', watch(own)],
    ['by path, with a selector that says the same', `${watch(own)}?${select(name(own))}`],
    ['by selector', `${list}?watch=1&${select(name(own))}`],
    ['listed by selector', `${list}?${select(name(own))}`],
  ])('the authorized object is watched: %s', async (_form, path) => {
    expect(await ask(who, path)).toMatchObject({ code: 200, found: [own] });
  });

  test.each([
    ['the other name', [name(foreign)]],
    ['the other name written with ==', [`metadata.name==${foreign}`]],
    ['another field alone', [field]],
    ['any name but its own', [`metadata.name!=${own}`]],
    ['no name', [name('')]],
  ])('a selector together with a name in the path is rejected: %s', async (_form, terms) => {
    expect(await ask(who, `${watch(own)}?${select(...terms)}`)).toMatchObject({ code: 400, message: mismatch });
  });

  test('two names in one selector are rejected, or authorized as one and never show the other', async () => {
    for (const path of [`${watch(own)}?`, `${list}?watch=1&timeoutSeconds=1&`, `${list}?`]) {
      for (const terms of [
        [name(own), name(foreign)],
        [name(foreign), name(own)],
        [name(own), `metadata.name!=${own}`],
      ]) {
        const response = await call(who, 'GET', `${path}${select(...terms)}`);
        if (response.code === 200 && path.includes('watch')) response.abort();
        await response.ended;
        expect(response.text()).not.toContain(`"metadata":{"name":"${foreign}"`);
      }
    }
  });

  test('a watch of another object is rejected in every form', async () => {
    for (const path of [
      watch(foreign),
      `${watch(foreign)}?${select(name(own))}`,
      `${list}?${select(name(foreign))}`,
      `${list}?watch=1&${select(name(foreign))}`,
      `${list}?${select(name(foreign))}&${select(name(own))}`,
      `${list}/${foreign}?watch=1&${select(name(own))}`,
      `/api/v1/watch/${collection}?${select(name(own))}`,
    ]) {
      expect([path, (await ask(who, path)).code]).toEqual([path, 403]);
    }
  });
});
