/** Discovery in both forms, version, health and tables. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callInMemory } from '../../../../test/apiserver/call-in-memory.js';
import { readTokenFile } from '../access/token-file.js';
import { type ApiServer, startApiServer } from '../apiserver.js';

let server: ApiServer;
beforeAll(async () => {
  const tokens = readTokenFile('secret,admin,1,system:masters', 'tokens');
  server = await startApiServer({ tokens: [tokens] });
});
afterAll(() => server.close());

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await callInMemory(server.handle, { path, headers: { authorization: 'Bearer secret', ...headers } });
  await response.ended;
  return response;
}
const aggregated = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

describe('discovery', () => {
  test('discovery lists versions, groups and resources in separate documents for old clients', async () => {
    expect(JSON.parse((await get('/api')).text())).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const groups = JSON.parse((await get('/apis')).text()) as { groups: { name: string }[] };
    expect(groups.groups.map(({ name }) => name)).toContain('rbac.authorization.k8s.io');
    const core = JSON.parse((await get('/api/v1')).text()) as { resources: { name: string; verbs: string[] }[] };
    expect(core.resources.find(({ name }) => name === 'nodes/proxy')?.verbs).toContain('get');
    expect(core.resources.map(({ name }) => name)).toEqual(core.resources.map(({ name }) => name).sort());
  });

  test.each(['v2', 'v2beta1'])('discovery answers in one document for clients that ask for %s', async (version) => {
    const response = await get('/api', { accept: `${aggregated(version)},application/json` });
    expect(response.headers['content-type']).toBe(aggregated(version));
    const { items } = JSON.parse(response.text()) as { items: { versions: { resources: { resource: string }[] }[] }[] };
    expect(items[0]!.versions[0]!.resources.map(({ resource }) => resource)).toContain('configmaps');
    const again = await get('/api', { accept: aggregated(version), 'if-none-match': String(response.headers.etag) });
    expect(again.code).toBe(304);
  });

  test('discovery uses the first form of the Accept header that it supports', async () => {
    const response = await get('/apis', { accept: `${aggregated('v3')},${aggregated('v2beta1')},application/json` });
    expect(response.headers['content-type']).toBe(aggregated('v2beta1'));
    expect((await get('/apis', { accept: 'text/html' })).code).toBe(406);
  });

  test('a missing group and a missing version are answered with different 404s', async () => {
    const group = await get('/apis/nope.example.com');
    expect([group.code, group.text()]).toEqual([404, '404 page not found\n']);
    expect(JSON.parse((await get('/api/v2')).text())).toMatchObject({ kind: 'Status', code: 404 });
  });
});

test('health is ok, or a list of checks with ?verbose', async () => {
  expect((await get('/readyz')).text()).toBe('ok');
  expect((await get('/livez?verbose')).text()).toBe('[+]ping ok\n[+]store ok\nlivez check passed\n');
  expect((await get('/healthz/ping')).text()).toBe('ok');
  expect((await get('/healthz/nothing')).code).toBe(404);
});

describe('tables', () => {
  const asTable = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };

  test('a Table has a row per object, with its metadata', async () => {
    const table = JSON.parse((await get('/api/v1/namespaces?fieldSelector=metadata.name%3Ddefault', asTable)).text());
    expect(table).toMatchObject({
      kind: 'Table',
      columnDefinitions: [{ name: 'Name', format: 'name' }, { name: 'Status' }, { name: 'Age' }],
      rows: [{ cells: ['default', 'Active', expect.any(String)], object: { kind: 'PartialObjectMetadata' } }],
    });
  });

  test('a Table includes the object, or nothing, on request', async () => {
    const rows = async (choice: string) => {
      const response = await get(`/api/v1/namespaces/default?includeObject=${choice}`, asTable);
      return (JSON.parse(response.text()) as { rows?: { object: unknown }[] }).rows;
    };
    expect((await rows('Object'))![0]!.object).toMatchObject({ kind: 'Namespace', status: { phase: 'Active' } });
    expect((await rows('None'))![0]!.object).toBeNull();
    expect(await rows('Some')).toBeUndefined();
  });
});
