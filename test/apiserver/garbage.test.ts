/** Owner references over the API: background deletion, also after a restart. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import type { StoreEvent } from '../../src/memory-api/store/store.js';
import { temporaryDir } from '../temporary-dir.js';
import { type Client, clientOf } from './client.js';

const maps = '/api/v1/namespaces/default/configmaps';
let server: ApiServer;
let client: Client;

beforeEach(async () => {
  server = await startApiServer();
  client = clientOf(server, 'memory');
});
afterEach(() => server.close());

async function make(name: string, owners: { uid: string; name: string }[] = []) {
  const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences } };
  const { json } = await client.call({ method: 'POST', path: maps, body });
  return { uid: json.metadata.uid as string, name };
}

const get = (name: string) => client.call({ path: `${maps}/${name}` });
const remove = (name: string, propagationPolicy: string) =>
  client.call({ method: 'DELETE', path: `${maps}/${name}`, body: { propagationPolicy } });

/** Resolves when an event of a ConfigMap matches. */
function until(on: ApiServer, isIt: (event: StoreEvent) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = on.store.subscribe({ group: '', resource: 'configmaps' }, (event) => {
      if (!isIt(event)) return;
      stop();
      resolve();
    });
  });
}
const gone = (name: string, on = server) => until(on, ({ type, key }) => type === 'deleted' && key.name === name);

test('background deletion deletes dependents after their owner, level by level', async () => {
  const owner = await make('owner');
  const child = await make('child', [owner]);
  await make('grandchild', [child]);
  const all = [gone('child'), gone('grandchild')];
  expect((await remove('owner', 'Background')).json).toMatchObject({ status: 'Success' });
  await Promise.all(all);
  expect((await get('grandchild')).code).toBe(404);
});

test('an object with another owner is kept, without the reference to the deleted one', async () => {
  const [one, two] = [await make('one'), await make('two')];
  await make('shared', [one, two]);
  const updated = until(server, ({ type, key }) => type === 'updated' && key.name === 'shared');
  await remove('one', 'Background');
  await updated;
  const { json } = await get('shared');
  expect(json.metadata.ownerReferences).toEqual([expect.objectContaining({ name: 'two' })]);
});

test('an orphan deletion is rejected, and nothing is deleted', async () => {
  await make('child', [await make('owner')]);
  const { code, json } = await remove('owner', 'Orphan');
  expect([code, json.details.causes[0].field]).toEqual([422, 'propagationPolicy']);
  expect((await get('child')).code).toBe(200);
});

test('an object whose owner never existed, or has another uid, is deleted', async () => {
  await make('owner');
  const all = [gone('child')];
  await make('child', [{ name: 'owner', uid: '00000000-0000-0000-0000-000000000001' }]);
  await Promise.all(all);
  expect((await get('owner')).code).toBe(200);
});

test('an object whose owner was deleted without garbage collection is deleted at the next start', async () => {
  const dataDir = temporaryDir();
  const first = await startApiServer({ dataDir, garbageCollection: false });
  client = clientOf(first, 'memory');
  await make('child', [await make('owner')]);
  await remove('owner', 'Background');
  await first.close();
  const second = await startApiServer({ dataDir });
  client = clientOf(second, 'memory');
  const childGone = gone('child', second);
  if ((await get('child')).code === 200) await childGone;
  expect((await get('child')).code).toBe(404);
  await second.close();
});

test('a Pod of a deleted DaemonSet is deleted; one of a DaemonSet that never existed is kept', async () => {
  const sets = '/apis/apps/v1/namespaces/default/daemonsets';
  const pods = '/api/v1/namespaces/default/pods';
  const set = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'set' }, spec: { selector: {} } };
  const { json } = await client.call({ method: 'POST', path: sets, body: set });
  const pod = (name: string, uid: string) => {
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'set', uid }];
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, ownerReferences }, spec };
    return client.call({ method: 'POST', path: pods, body });
  };
  await pod('placed', '00000000-0000-0000-0000-000000000001');
  await pod('owned', json.metadata.uid);
  const ownedGone = new Promise<void>((resolve) => {
    server.store.subscribe({ group: '', resource: 'pods' }, ({ type, key }) => {
      if (type === 'deleted' && key.name === 'owned') resolve();
    });
  });
  await client.call({ method: 'DELETE', path: `${sets}/set` });
  await ownedGone;
  expect((await client.call({ path: `${pods}/placed` })).code).toBe(200);
});
