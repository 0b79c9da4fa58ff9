/** Lists with resourceVersion and resourceVersionMatch. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf, type Reply } from './client.js';

let server: ApiServer;
let client: Client;
const maps = '/api/v1/namespaces/default/configmaps';
/** The revision after each ConfigMap was created. */
const after: Record<string, string> = {};

beforeAll(async () => {
  server = await startApiServer();
  client = clientOf(server, 'memory');
  for (const name of ['a', 'b', 'c']) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    after[name] = (await client.call({ method: 'POST', path: maps, body })).json.metadata.resourceVersion;
  }
});
afterAll(() => server.close());

const list = (query: string) => client.call({ path: `${maps}?${query}` });
const names = ({ json }: Reply) => json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

test('Exact lists the state at that revision', async () => {
  const shown = await list(`resourceVersion=${after.b}&resourceVersionMatch=Exact`);
  expect(names(shown)).toEqual(['a', 'b']);
  expect(shown.json.metadata.resourceVersion).toBe(after.b);
});

test('NotOlderThan, and a revision alone, list that state or a newer one', async () => {
  expect(names(await list(`resourceVersion=${after.b}&resourceVersionMatch=NotOlderThan`))).toEqual(['a', 'b', 'c']);
  expect(names(await list(`resourceVersion=${after.a}`))).toEqual(['a', 'b', 'c']);
});

test('the next page has the revision of the first', async () => {
  const first = await list('limit=2');
  await client.call({ method: 'DELETE', path: `${maps}/c` });
  const next = await list(`limit=2&continue=${first.json.metadata.continue}`);
  expect([...names(first), ...names(next)]).toEqual(['a', 'b', 'c']);
  expect(next.json.metadata.resourceVersion).toBe(first.json.metadata.resourceVersion);
});

test('revision 0 lists everything, whatever the limit', async () => {
  expect(names(await list('resourceVersion=0&limit=1'))).toEqual(['a', 'b']);
});

test('a future revision is rejected with retryAfterSeconds', async () => {
  const rejected = await list('resourceVersion=99999999&resourceVersionMatch=NotOlderThan');
  expect(rejected.code).toBe(504);
  expect(rejected.json.details.retryAfterSeconds).toBe(1);
});
