/** The verbs in memory, over HTTP/1.1 and over HTTP/2. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, carriers, clientOf } from './client.js';

describe.each(carriers)('the API over %s', (carrier) => {
  let server: ApiServer;
  let client: Client;
  let count = 0;
  let maps: string;

  const map = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...metadata },
    data,
  });
  const create = (body: unknown) => client.call({ method: 'POST', path: maps, body });
  const get = (name: string) => client.call({ path: `${maps}/${name}` });
  const patch = (name: string, body: unknown, type = 'merge') =>
    client.call({
      method: 'PATCH',
      path: `${maps}/${name}`,
      body,
      headers: { 'content-type': `application/${type}-patch+json` },
    });
  const put = (name: string, body: unknown) => client.call({ method: 'PUT', path: `${maps}/${name}`, body });
  const remove = (name: string, body?: unknown) => client.call({ method: 'DELETE', path: `${maps}/${name}`, body });

  beforeAll(async () => {
    server = await startApiServer();
    client = clientOf(server, carrier);
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });
  beforeEach(async () => {
    const name = `ns-${count++}`;
    maps = `/api/v1/namespaces/${name}/configmaps`;
    const made = await client.call({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    });
    expect(made.code).toBe(201);
  });

  test('an object is created, read, updated and deleted', async () => {
    expect((await create(map('a', { k: 'v' }))).code).toBe(201);
    const { json } = await get('a');
    expect(json).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { k: 'v' }, metadata: { name: 'a' } });
    expect(json.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(json.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect((await patch('a', { data: { k: null, l: 'w' } })).json.data).toEqual({ l: 'w' });
    expect((await put('a', map('a', { m: 'x' }))).json.data).toEqual({ m: 'x' });
    expect((await remove('a')).json).toMatchObject({ kind: 'Status', status: 'Success' });
    expect((await get('a')).code).toBe(404);
  });

  test('generateName gives different names', async () => {
    const names = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { json } = await create({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { generateName: 'g-' } });
        return json.metadata.name as string;
      }),
    );
    expect(new Set(names).size).toBe(20);
    for (const name of names) expect(name).toMatch(/^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  test('a write that changes nothing creates no revision', async () => {
    const { json } = await create(map('a', { k: 'v' }, { labels: { x: '1', y: '2' } }));
    const version = json.metadata.resourceVersion;
    expect((await patch('a', {})).json.metadata.resourceVersion).toBe(version);
    expect((await patch('a', { data: { k: 'v' } })).json.metadata.resourceVersion).toBe(version);
    // The same labels in another order.
    const same = { ...json, metadata: { ...json.metadata, labels: { y: '2', x: '1' } } };
    expect((await put('a', same)).json.metadata.resourceVersion).toBe(version);
    expect((await patch('a', { data: { k: 'w' } })).json.metadata.resourceVersion).not.toBe(version);
  });

  test('dryRun answers with the result and stores nothing', async () => {
    expect((await client.call({ method: 'POST', path: `${maps}?dryRun=All`, body: map('a') })).code).toBe(201);
    expect((await get('a')).code).toBe(404);
    await create(map('a', { k: 'v' }));
    const call = { path: `${maps}/a?dryRun=All`, headers: { 'content-type': 'application/merge-patch+json' } };
    expect((await client.call({ ...call, method: 'PATCH', body: { data: { k: 'w' } } })).json.data).toEqual({ k: 'w' });
    expect((await client.call({ method: 'DELETE', path: `${maps}/a?dryRun=All` })).code).toBe(200);
    expect((await get('a')).json.data).toEqual({ k: 'v' });
    const again = await client.call({ method: 'POST', path: `${maps}?dryRun=All`, body: map('a') });
    expect(again.json.reason).toBe('AlreadyExists');
  });

  test('concurrent patches of one object are all kept', async () => {
    await create(map('a'));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => patch('a', { data: { [`k${at}`]: String(at) } })),
    );
    expect(answers.map(({ code }) => code)).toEqual(Array(50).fill(200));
    expect(Object.keys((await get('a')).json.data)).toHaveLength(50);
  });

  test('of concurrent replacements of one version one wins', async () => {
    const { json } = await create(map('a'));
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => put('a', { ...json, data: { winner: String(at) } })),
    );
    expect(answers.filter(({ code }) => code === 200)).toHaveLength(1);
    expect(answers.filter(({ code }) => code === 409)).toHaveLength(9);
  });

  test('a deletion with a wrong precondition is rejected', async () => {
    const { json } = await create(map('a'));
    const wrong = await remove('a', { preconditions: { uid: 'other' } });
    expect(wrong.code).toBe(409);
    expect(wrong.json.message).toContain('the UID in the precondition (other) does not match the UID in record');
    const old = await remove('a', { preconditions: { resourceVersion: '1' } });
    expect(old.json.message).toContain('does not match the ResourceVersion in record');
    expect((await remove('a', { preconditions: { uid: json.metadata.uid } })).code).toBe(200);
  });

  test('an object is kept until its finalizers are removed', async () => {
    await create(map('a', {}, { finalizers: ['example.com/hold'] }));
    expect((await remove('a')).json.metadata.deletionTimestamp).toBeDefined();
    expect((await get('a')).json.metadata.deletionGracePeriodSeconds).toBe(0);
    expect((await patch('a', { metadata: { finalizers: null } })).code).toBe(200);
    expect((await get('a')).code).toBe(404);
  });

  test('PUT creates a missing lease, but not a missing ConfigMap', async () => {
    const path = `${maps.replace('/api/v1', '/apis/coordination.k8s.io/v1').replace('configmaps', 'leases')}/l`;
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' } };
    expect((await client.call({ method: 'PUT', path, body })).code).toBe(201);
    expect((await put('missing', map('missing'))).code).toBe(404);
  });

  test('a collection is deleted by selector', async () => {
    await Promise.all(
      ['a', 'b', 'c'].map((name) => create(map(name, {}, { labels: { g: name === 'c' ? '2' : '1' } }))),
    );
    const { json } = await client.call({ method: 'DELETE', path: `${maps}?labelSelector=g%3D1` });
    expect(json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['a', 'b']);
    const left = await client.call({ path: maps });
    expect(left.json.items).toHaveLength(1);
  });

  test('pages of a list have the revision of the first page', async () => {
    await Promise.all(Array.from({ length: 25 }, (_, at) => create(map(`m${String(at).padStart(2, '0')}`))));
    const names: string[] = [];
    let token = '';
    do {
      const { json } = await client.call({ path: `${maps}?limit=10&continue=${token}` });
      names.push(...json.items.map((item: { metadata: { name: string } }) => item.metadata.name));
      if (token === '') await remove('m24');
      token = json.metadata.continue ?? '';
    } while (token !== '');
    expect(names).toHaveLength(25);
    expect(new Set(names).size).toBe(25);
  });

  test('deleting a namespace deletes its objects', async () => {
    await create(map('a'));
    await create(map('held', {}, { finalizers: ['example.com/hold'] }));
    const path = maps.replace('/configmaps', '');
    const watch = await client.watch(
      `/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3D${path.split('/').at(-1)}`,
    );
    expect((await watch.next())?.type).toBe('ADDED');
    expect((await client.call({ method: 'DELETE', path })).json.status.phase).toBe('Terminating');
    expect((await watch.next())?.type).toBe('MODIFIED');
    const rejected = await create(map('late'));
    expect(rejected.json.message).toContain('because it is being terminated');
    expect((await get('held')).json.metadata.deletionTimestamp).toBeDefined();
    await patch('held', { metadata: { finalizers: null } });
    expect((await watch.next())?.type).toBe('DELETED');
    expect((await client.call({ path })).code).toBe(404);
    expect((await get('a')).code).toBe(404);
    watch.close();
  });

  test('a body in YAML is accepted', async () => {
    const raw = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yam\ndata:\n  k: |\n    text\n';
    const headers = { 'content-type': 'application/yaml' };
    const made = await client.call({ method: 'POST', path: maps, raw, headers });
    expect(made.code).toBe(201);
    expect((await get('yam')).json.data).toEqual({ k: 'text\n' });
  });
});
