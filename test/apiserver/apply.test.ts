/** Server-side apply over the API: owners in managedFields, conflicts, force, and migration from client-side apply. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf, type Reply } from './client.js';

let server: ApiServer;
let client: Client;
const maps = '/api/v1/namespaces/default/configmaps';

beforeAll(async () => {
  server = await startApiServer();
  client = clientOf(server, 'memory');
});
afterAll(() => server.close());

const map = (name: string, data?: Record<string, string>, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  ...(data === undefined ? {} : { data }),
});

function patch(path: string, body: unknown, type = 'merge-patch+json', userAgent = 'tester/1'): Promise<Reply> {
  const headers = { 'content-type': `application/${type}`, 'user-agent': userAgent };
  return client.call({ method: 'PATCH', path, body, headers });
}

const apply = (name: string, body: unknown, query: string) =>
  patch(`${maps}/${name}?fieldManager=${query}`, body, 'apply-patch+yaml');

/** Managers and their fields, without times. */
function owners({ json }: Reply): Record<string, unknown> {
  const entries = (json.metadata.managedFields ?? []) as { manager: string; operation: string; fieldsV1: unknown }[];
  return Object.fromEntries(entries.map(({ manager, operation, fieldsV1 }) => [`${manager} ${operation}`, fieldsV1]));
}

describe('applying a ConfigMap', () => {
  test('apply creates an object, updates it, and removes fields that are no longer applied', async () => {
    const made = await apply('a', map('a', { k: 'v', l: 'w' }), 'one');
    expect(made.code).toBe(201);
    expect(owners(made)).toEqual({ 'one Apply': { 'f:data': { 'f:k': {}, 'f:l': {} } } });
    const changed = await apply('a', map('a', { k: 'x' }), 'one');
    expect(changed.code).toBe(200);
    expect(changed.json.data).toEqual({ k: 'x' });
  });

  test('applying the same object twice writes nothing the second time', async () => {
    await apply('twice', map('twice', { k: 'v' }), 'one');
    const { json } = await client.call({ path: `${maps}/twice` });
    expect((await apply('twice', map('twice', { k: 'v' }), 'one')).json).toEqual(json);
  });

  test('applying a field of another manager is a conflict that names the field and the manager', async () => {
    await apply('b', map('b', { k: 'v' }), 'one');
    const { code, json } = await apply('b', map('b', { k: 'x' }), 'two');
    expect(code).toBe(409);
    expect(json).toMatchObject({
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.k',
      details: {
        causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' }],
      },
    });
    const forced = await apply('b', map('b', { k: 'x' }), 'two&force=true');
    expect(forced.json.data).toEqual({ k: 'x' });
    expect(owners(forced)).toEqual({ 'two Apply': { 'f:data': { 'f:k': {} } } });
  });

  test('apply with dryRun answers with the result and stores nothing', async () => {
    expect((await apply('dry', map('dry', { k: 'v' }), 'one&dryRun=All')).code).toBe(201);
    expect((await client.call({ path: `${maps}/dry` })).code).toBe(404);
  });

  test.each([
    ['an unknown field', { ...map('bad'), nonsense: 1 }, 500, /: \.nonsense: field not declared in schema$/],
    ['another kind', { ...map('bad'), kind: 'Secret' }, 400, /^invalid object type: \/v1, Kind=Secret$/],
    ['owners of its own', map('bad', {}, { managedFields: [{}] }), 400, /^metadata.managedFields must be nil$/],
    ['an item twice', map('bad', {}, { finalizers: ['a/b', 'a/b'] }), 500, /duplicate entries for key \[="a\/b"\]$/],
    ['a number for text', map('bad', { k: 1 as never }), 500, /\.data\.k: expected string, got/],
  ])('apply is rejected with %s', async (_what, body, code, message) => {
    const rejected = await apply('bad', body, 'one');
    expect(rejected.code).toBe(code);
    expect(rejected.json.message).toMatch(message);
  });
});

describe('other writes', () => {
  test('other writes are owned by the field manager, or by the program in the User-Agent', async () => {
    const made = await client.call({
      method: 'POST',
      path: maps,
      body: map('w', { k: 'v' }),
      headers: { 'user-agent': 'kubectl/v1.32 (linux)' },
    });
    expect(owners(made)).toEqual({ 'kubectl Update': { 'f:data': { '.': {}, 'f:k': {} } } });
    const patched = await patch(`${maps}/w?fieldManager=editor`, { data: { k: 'w', n: '1' } });
    expect(owners(patched)).toEqual({
      'kubectl Update': { 'f:data': {} },
      'editor Update': { 'f:data': { 'f:k': {}, 'f:n': {} } },
    });
  });

  test('managedFields [{}] removes all owners until the next apply', async () => {
    await client.call({ method: 'POST', path: maps, body: map('reset', { k: 'v' }) });
    const reset = await patch(`${maps}/reset`, { metadata: { managedFields: [{}] } });
    expect(owners(reset)).toEqual({});
    expect(owners(await patch(`${maps}/reset`, { data: { l: 'w' } }))).toEqual({});
    expect(owners(await apply('reset', map('reset', { k: 'v' }), 'one'))).toEqual({
      'one Apply': { 'f:data': { 'f:k': {} } },
      'before-first-apply Update': { 'f:data': { '.': {}, 'f:k': {}, 'f:l': {} } },
    });
  });

  test('an update may set managedFields, as kubectl does when it migrates from client-side apply', async () => {
    await client.call({
      method: 'POST',
      path: `${maps}?fieldManager=kubectl-client-side-apply`,
      body: map('csa', { k: 'v' }),
    });
    const { json } = await client.call({ path: `${maps}/csa` });
    const managedFields = [{ ...json.metadata.managedFields[0], manager: 'kubectl', operation: 'Apply' }];
    const operations = [
      { op: 'replace', path: '/metadata/managedFields', value: managedFields },
      { op: 'replace', path: '/metadata/resourceVersion', value: json.metadata.resourceVersion },
    ];
    expect(owners(await patch(`${maps}/csa`, operations, 'json-patch+json'))).toEqual({
      'kubectl Apply': { 'f:data': { '.': {}, 'f:k': {} } },
    });
    expect((await apply('csa', map('csa', { l: 'w' }), 'kubectl')).json.data).toEqual({ l: 'w' });
  });

  test('a write of status owns status fields only', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels: { a: 'b' } } };
    await client.call({ method: 'POST', path: '/api/v1/nodes', body: node, headers: { 'user-agent': 'tester' } });
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    const body = { spec: { unschedulable: true }, status };
    const { json } = await patch('/api/v1/nodes/n/status', body, 'strategic-merge-patch+json', 'kubelet/v1.32');
    const entry = json.metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'kubelet');
    expect(entry).toMatchObject({ operation: 'Update', apiVersion: 'v1', subresource: 'status' });
    const ready = 'k:{"type":"Ready"}';
    expect(Object.keys(entry.fieldsV1)).toEqual(['f:status']);
    expect(entry.fieldsV1['f:status']['f:conditions'][ready]).toMatchObject({ '.': {}, 'f:status': {}, 'f:type': {} });
  });
});

test('kubectl takes over fields of client-side apply, and its annotation is kept up to date', async () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
  const before = map('k', { a: '1', b: '2' });
  const annotations = { [annotation]: JSON.stringify(before) };
  const body = map('k', { a: '1', b: '2' }, { annotations });
  await client.call({ method: 'POST', path: `${maps}?fieldManager=kubectl-client-side-apply`, body });
  expect((await apply('k', map('k', { a: '9' }), 'somebody')).code).toBe(409);
  const taken = await apply('k', map('k', { a: '9' }), 'kubectl');
  expect(taken.code).toBe(200);
  expect(JSON.parse(taken.json.metadata.annotations[annotation])).toEqual(map('k', { a: '9' }));
  await patch(`${maps}/k?fieldManager=editor`, { data: { b: '3' } });
  expect((await apply('k', map('k', { a: '9', b: '4' }), 'kubectl')).json.message).toBe(
    'Apply failed with 1 conflict: conflict with "editor" using v1: .data.b',
  );
});

describe('custom resources', () => {
  const things = '/apis/example.com/v1/namespaces/default/things';
  const thing = (spec: object) => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't' }, spec });
  const text = { type: 'string' };
  const item = { type: 'object', required: ['id'], properties: { id: text, note: text } };
  const spec = {
    type: 'object',
    properties: {
      parts: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'], items: item },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'things', kind: 'Thing' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
  const applyThing = (body: object, query: string) =>
    patch(`${things}/t?fieldManager=${query}`, body, 'apply-patch+yaml');

  test('custom resources are merged according to their schema', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    expect((await client.call({ method: 'POST', path, body: definition })).code).toBe(201);
    await applyThing(thing({ parts: [{ id: 'a', note: 'x' }], free: { deep: { k: 1 } } }), 'one');
    const { json } = await applyThing(thing({ parts: [{ id: 'b' }], free: { deep: { l: [2] } } }), 'two');
    expect(json.spec).toEqual({ parts: [{ id: 'a', note: 'x' }, { id: 'b' }], free: { deep: { k: 1, l: [2] } } });
    const conflict = await applyThing(thing({ parts: [{ id: 'a', note: 'y' }] }), 'two');
    expect(conflict.json.details.causes[0].field).toBe('.spec.parts[id="a"].note');
    const left = await applyThing(thing({}), 'one');
    expect(left.json.spec).toEqual({ parts: [{ id: 'b' }], free: { deep: { l: [2] } } });
  });
});
