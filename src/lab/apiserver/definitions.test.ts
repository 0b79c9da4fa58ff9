/** CRDs in a running control plane: their kinds are served at once, and deleted with all objects. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callInMemory } from '../../../test/apiserver/call-in-memory.js';
import type { KubeObject } from '../../api/object.js';
import { readTokenFile } from './access/token-file.js';
import { type ApiServer, startApiServer } from './apiserver.js';

let server: ApiServer;
beforeEach(async () => {
  const tokens = readTokenFile('secret,admin,1,system:masters', 'tokens');
  server = await startApiServer({ tokens: [tokens] });
});
afterEach(() => server.close());

async function call(method: string, path: string, body?: object): Promise<{ code: number; body: KubeObject }> {
  const response = await callInMemory(server.handle, {
    method,
    path,
    headers: {
      authorization: 'Bearer secret',
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await response.ended;
  // A group that does not exist is answered with plain text.
  const text = response.text();
  return { code: response.code, body: (text.startsWith('{') ? JSON.parse(text) : {}) as KubeObject };
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const widgets = '/apis/example.com/v1/namespaces/default/widgets';

function definition(versions: object[] = [version('v1', true)]): object {
  return {
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions },
  };
}

function version(name: string, storage: boolean): object {
  const spec = { type: 'object', properties: { size: { type: 'integer' } } };
  return { name, served: true, storage, schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } };
}

function widget(metadata: object, apiVersion = 'example.com/v1'): object {
  return { apiVersion, kind: 'Widget', metadata, spec: { size: 1 } };
}

/** Resolves when an object of the collection was deleted. */
function gone(group: string, resource: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = server.store.subscribe({ group, resource }, ({ type }) => {
      if (type !== 'deleted') return;
      stop();
      resolve();
    });
  });
}

test('a kind is served, and is in discovery and OpenAPI, as soon as its definition is created', async () => {
  expect((await call('GET', widgets)).code).toBe(404);
  expect((await call('POST', definitions, definition())).code).toBe(201);
  expect((await call('POST', widgets, widget({ name: 'a' }))).code).toBe(201);
  const list = (await call('GET', '/apis/example.com/v1')).body as unknown as { resources: { name: string }[] };
  expect(list.resources.map(({ name }) => name)).toEqual(['widgets']);
  const openApi = (await call('GET', '/openapi/v2')).body as unknown as { definitions: object };
  expect(openApi.definitions).toHaveProperty(['com.example.v1.Widget']);
});

test('deleting a definition deletes the objects of its kind', async () => {
  await call('POST', definitions, definition());
  await call('POST', widgets, widget({ name: 'a' }));
  const isGone = gone('apiextensions.k8s.io', 'customresourcedefinitions');
  const { body } = await call('DELETE', `${definitions}/widgets.example.com`);
  expect(body.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
  await isGone;
  expect(server.store.count({ group: 'example.com', resource: 'widgets' })).toBe(0);
  expect((await call('GET', widgets)).code).toBe(404);
});

test('an object with a finalizer delays the deletion of its definition, and no other can be created meanwhile', async () => {
  await call('POST', definitions, definition());
  await call('POST', widgets, widget({ name: 'held', finalizers: ['example.com/hold'] }));
  await call('DELETE', `${definitions}/widgets.example.com`);
  expect((await call('POST', widgets, widget({ name: 'late' }))).code).toBe(405);
  expect((await call('GET', `${definitions}/widgets.example.com`)).body.status).toMatchObject({
    conditions: expect.arrayContaining([expect.objectContaining({ type: 'Terminating', status: 'True' })]),
  });
  const isGone = gone('apiextensions.k8s.io', 'customresourcedefinitions');
  await call('PATCH', `${widgets}/held`, { metadata: { finalizers: null } });
  await isGone;
  expect((await call('GET', `${definitions}/widgets.example.com`)).code).toBe(404);
});

test('an object can be read in every served version', async () => {
  await call('POST', definitions, definition([version('v1', true), version('v2', false)]));
  await call('POST', widgets, widget({ name: 'a' }));
  const { body } = await call('GET', '/apis/example.com/v2/namespaces/default/widgets/a');
  expect(body).toMatchObject({ apiVersion: 'example.com/v2', kind: 'Widget', spec: { size: 1 } });
  const other = widget({ name: 'b' }, 'example.com/v2');
  expect((await call('POST', '/apis/example.com/v2/namespaces/default/widgets', other)).code).toBe(201);
  expect((await call('GET', `${widgets}/b`)).body.apiVersion).toBe('example.com/v1');
});
