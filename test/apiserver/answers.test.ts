/** Answers of a real 1.32.1 in cases that no recorded request covers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf, type Reply } from './client.js';

let server: ApiServer;
let client: Client;
const maps = '/api/v1/namespaces/default/configmaps';
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';

beforeAll(async () => {
  server = await startApiServer();
  client = clientOf(server, 'socket');
});
afterAll(async () => {
  await client.close();
  await server.close();
});

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  client.call({ method, path, headers, ...(typeof body === 'string' ? { raw: body } : { body }) });
const patch = (path: string, type: string, body: unknown) =>
  send('PATCH', path, body, { 'content-type': `application/${type}-patch+json` });
const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...more });
const yaml = { 'content-type': 'application/yaml' };

describe('bodies', () => {
  test.each([
    ['a kind that is not a string', { apiVersion: 'v1', kind: 3 }, /kind and apiVersion must be texts/],
    ['a version of three parts', { apiVersion: 'a/b/c', kind: 'ConfigMap' }, /the API version in the data \(a\/b\/c\)/],
    [
      'a list instead of an item',
      { apiVersion: 'v1', kind: 'ConfigMapList' },
      /ConfigMapList in version "v1" cannot be handled as a ConfigMap/,
    ],
  ])('a body with %s is not recognized', async (_name, body, message) => {
    const { code, json } = await send('POST', maps, body);
    expect(code).toBe(400);
    expect(json.message).toMatch(message);
  });

  test('an object of an older version is rejected with both versions in the message', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1beta1', kind: 'Role', metadata: { name: 'r' } };
    expect((await send('POST', `${rbac}/roles`, role)).json.message).toBe(
      'the API version in the data (rbac.authorization.k8s.io/v1beta1) does not match the expected API version (rbac.authorization.k8s.io/v1)',
    );
  });

  test.each([
    ['null', {}],
    ['', yaml],
  ])('an empty body (%j) is an object without a name', async (body, headers) => {
    const { code, json } = await client.call({ method: 'POST', path: maps, raw: body, headers });
    expect([code, json.details.causes[0].field]).toEqual([422, 'metadata.name']);
  });

  test('unknown and duplicate fields are reported', async () => {
    const body =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"order","bad":1,"labels":{"a":"1","a":"2"}},"foo":1,"data":{},"data":{}}';
    const { json } = await send('POST', `${maps}?fieldValidation=Strict`, body);
    expect(json.message).toContain(
      'duplicate field "metadata.labels.a", duplicate field "data", unknown field "metadata.bad", unknown field "foo"',
    );
  });

  test('every duplicate YAML key is a warning of its own', async () => {
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: lines\ndata:\n  k: "1"\n  k: "2"\n  k: "3"\n';
    const { headers } = await send('POST', maps, body, yaml);
    expect(String(headers.warning)).toContain('line 7: key \\"k\\" already set in map');
    expect(String(headers.warning)).not.toContain('unmarshal');
  });
});

describe('patches', () => {
  beforeAll(() => send('POST', maps, map('patched', { data: { k: 'v' } })));

  test('a JSON patch operation without a value sets null, which is rejected for a string', async () => {
    const { json } = await patch(`${maps}/patched`, 'json', [{ op: 'add', path: '/data/n' }]);
    expect(json.data).toEqual({ k: 'v', n: '' });
  });

  test('a JSON patch operation that is null is rejected', async () => {
    expect((await patch(`${maps}/patched`, 'json', [null])).code).toBe(422);
  });

  test('a patch may remove the kind but not the apiVersion', async () => {
    expect((await patch(`${maps}/patched`, 'merge', { kind: null })).json.kind).toBe('ConfigMap');
    const { code, json } = await patch(`${maps}/patched`, 'merge', { apiVersion: null });
    expect([code, json.message]).toEqual([
      400,
      'the name of the object (patched based on URL) was undeterminable: name must be provided',
    ]);
  });

  test('selfLink is never stored', async () => {
    const { json } = await patch(`${maps}/patched`, 'merge', { metadata: { selfLink: '/x', labels: { a: 'b' } } });
    expect(json.metadata).not.toHaveProperty('selfLink');
  });

  test('an applied object may have any resourceVersion on create', async () => {
    const body = { ...map('applied'), metadata: { name: 'applied', resourceVersion: '7' } };
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    expect((await send('PATCH', `${maps}/applied?fieldManager=m`, body, headers)).code).toBe(201);
  });
});

describe('kinds', () => {
  test('finalizers of a namespace must be qualified names', async () => {
    const body = { metadata: { name: 'held' }, spec: { finalizers: ['mine'] } };
    const { code, json } = await send('POST', '/api/v1/namespaces', body);
    expect(code).toBe(422);
    expect(json.message).toContain('name is neither a standard finalizer name nor is it fully qualified');
  });

  test('DELETE of a service account answers with the object', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await send('POST', accounts, { metadata: { name: 'leaver' } });
    expect((await send('DELETE', `${accounts}/leaver`)).json.kind).toBe('ServiceAccount');
  });

  test('spec.strategy of a lease is dropped without its feature gate', async () => {
    const body = { metadata: { name: 'plain' }, spec: { strategy: 'OldestEmulationVersion', holderIdentity: 'me' } };
    const { json } = await send('POST', '/apis/coordination.k8s.io/v1/namespaces/default/leases', body);
    expect(json.spec).toEqual({ holderIdentity: 'me' });
  });
});

describe('reading', () => {
  test('the DELETED event of an object with finalizers has its last state', async () => {
    const watch = await client.watch(`${maps}?watch=true&fieldSelector=metadata.name%3Dheld`);
    const body = { ...map('held'), metadata: { name: 'held', finalizers: ['a.b/c'] } };
    await send('POST', maps, body);
    await send('DELETE', `${maps}/held`);
    await patch(`${maps}/held`, 'merge', { metadata: { finalizers: null } });
    const seen = [await watch.next(), await watch.next(), await watch.next()];
    watch.close();
    expect(seen.map((event) => event?.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(seen[2]?.object.metadata.finalizers).toEqual(['a.b/c']);
    expect(Number(seen[2]?.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(seen[1]?.object.metadata.resourceVersion),
    );
  });

  test.each([
    ['a future revision', 'GET', `${maps}?resourceVersion=999999&resourceVersionMatch=Exact`, 500],
    ['a watch with a continue token', 'GET', `${maps}?watch=true&continue=x`, 422],
    ['a write to a watch path', 'POST', '/api/v1/watch/namespaces/default/configmaps', 405],
    ['a name that is a dot', 'GET', `${maps}/%2E`, 400],
    ['HEAD of a document', 'HEAD', '/version', 405],
    ['the list of paths with any method', 'POST', '/', 200],
  ])('%s', async (_name, method, path, code) => {
    expect((await send(method, path)).code).toBe(code);
  });

  test.each(['limit=1;continue=x', 'labelSelector=%zz'])(
    'an invalid query (%s) is ignored, as in Go',
    async (query) => {
      expect((await send('GET', `${maps}?${query}`)).code).toBe(200);
    },
  );

  test('a Table row has a condition for a pod that has ended', async () => {
    const path = '/api/v1/namespaces/default/pods';
    await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] };
    await send('POST', path, { metadata: { name: 'ended' }, spec });
    await patch(`${path}/ended/status`, 'merge', { status: { phase: 'Failed' } });
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
    const { json } = await send('GET', `${path}/ended`, undefined, table);
    expect(json.rows[0].conditions).toEqual([
      { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
    ]);
  });

  test('the Accept header application/* is not acceptable', async () => {
    const { code, json } = await send('GET', `${maps}/none`, undefined, { accept: 'application/*' });
    expect([code, json.details]).toEqual([406, {}]);
  });

  test('API groups are in the order of Kubernetes', async () => {
    const { json } = await send('GET', '/apis');
    const names = json.groups.map(({ name }: { name: string }) => name);
    const known = ['apps', 'authentication.k8s.io', 'rbac.authorization.k8s.io', 'coordination.k8s.io'];
    expect(names.filter((name: string) => known.includes(name))).toEqual(known);
  });
});

describe('pods', () => {
  const pods = '/api/v1/namespaces/default/pods';
  const pod = (name: string) => ({
    metadata: { name },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
  });

  beforeAll(() => send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } }));

  test('a pod deleted without a grace period is shown with a deletionTimestamp', async () => {
    await send('POST', pods, pod('short'));
    const { json } = await send('DELETE', `${pods}/short`);
    expect(json.metadata).toMatchObject({ name: 'short', deletionGracePeriodSeconds: 0 });
    expect(json.metadata.deletionTimestamp).toBeDefined();
  });
});

describe('reviews', () => {
  const authorization = '/apis/authorization.k8s.io/v1';
  const ask = (spec: object, metadata: object = {}) =>
    send('POST', `${authorization}/selfsubjectaccessreviews`, { metadata, spec });

  test('a review has no name and no columns, and cannot be read back', async () => {
    const spec = { nonResourceAttributes: { path: '/', verb: 'get' } };
    expect((await ask(spec, { name: 'x' })).code).toBe(422);
    expect((await send('GET', `${authorization}/selfsubjectaccessreviews/x`)).code).toBe(404);
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
    const { json } = await send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, table);
    expect(json.kind).toBe('SelfSubjectReview');
  });
});

describe('other kinds', () => {
  test('custom objects: the kind is validated, and the stored version prunes unknown fields', async () => {
    const schema = (properties: object) => ({
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
    });
    const text = { type: 'string' };
    await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'toys.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'toys', kind: 'Toy' },
        versions: [
          { name: 'v1', served: true, storage: true, ...schema({ a: text }) },
          { name: 'v2', served: true, storage: false, ...schema({ a: text, b: text }) },
        ],
      },
    });
    const toys = (version: string) => `/apis/example.com/${version}/namespaces/default/toys`;
    const toy = (version: string, spec: object) => ({
      ...{ apiVersion: `example.com/${version}`, kind: 'Toy', metadata: { name: version }, spec },
    });
    const other = await send('POST', toys('v1'), { ...toy('v1', {}), kind: 'Other' });
    expect([other.code, other.json.details.causes[0].message]).toEqual([422, 'Invalid value: "Other": must be Toy']);
    expect((await send('POST', toys('v2'), toy('v2', { a: 'x', b: 'y' }))).json.spec).toEqual({ a: 'x' });
    expect((await send('POST', '/apis/example.com/v1/toys', toy('v1', {}))).text).toBe('404 page not found\n');
    expect((await send('HEAD', `${toys('v1')}/v2`)).code).toBe(200);
    const held = await patch(`${toys('v1')}/v2`, 'merge', { metadata: { finalizers: ['mine'] } });
    expect(String(held.headers.warning)).toContain('metadata.finalizers: \\"mine\\": prefer a domain-qualified');
  });
});

test('a role without rules is stored with null', async () => {
  for (const [name, rules] of Object.entries({ empty: [], missing: undefined, null: null }))
    expect((await send('POST', `${rbac}/roles`, { metadata: { name }, rules })).json.rules).toBeNull();
});

describe('non-resource paths', () => {
  test.each([
    ['/version/', 'GET', 200],
    ['/version/x', 'GET', 404],
    ['/healthz/', 'GET', 404],
    ['/openapi/v2/', 'GET', 404],
    ['/openapi/v3/', 'GET', 404],
    ['/openapi/v3', 'POST', 200],
  ])('%s by %s is %d', async (path, method, code) => {
    expect((await send(method, path)).code).toBe(code);
  });
});
