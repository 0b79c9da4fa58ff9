/** Watches in memory, over HTTP/1.1 and over HTTP/2: every change once, in order, from the requested revision. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, carriers, clientOf, type Stream } from './client.js';

describe.each(carriers)('watches over %s', (carrier) => {
  let server: ApiServer;
  let client: Client;
  let count = 0;
  let maps: string;
  const open: Stream[] = [];

  const watch = async (query: string) => {
    const stream = await client.watch(`${maps}?watch=true&${query}`);
    open.push(stream);
    return stream;
  };
  const short = async (stream: Stream) => {
    const event = await stream.next();
    return event && `${event.type} ${event.object.metadata.name ?? ''}`;
  };
  const create = (name: string, labels: Record<string, string> = {}) =>
    client.call({
      method: 'POST',
      path: maps,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } },
    });
  const patch = (name: string, body: unknown) =>
    client.call({
      method: 'PATCH',
      path: `${maps}/${name}`,
      body,
      headers: { 'content-type': 'application/merge-patch+json' },
    });
  const remove = (name: string) => client.call({ method: 'DELETE', path: `${maps}/${name}` });
  const now = async () => (await client.call({ path: `${maps}?limit=1` })).json.metadata.resourceVersion as string;

  beforeAll(async () => {
    server = await startApiServer();
    client = clientOf(server, carrier);
  });
  afterAll(async () => {
    for (const stream of open) stream.close();
    await client.close();
    await server.close();
  });
  beforeEach(async () => {
    const name = `ns-${count++}`;
    maps = `/api/v1/namespaces/${name}/configmaps`;
    await client.call({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    });
  });

  test('a watch without a resourceVersion begins with the current state', async () => {
    await create('a');
    await create('b');
    const stream = await watch('');
    expect([await short(stream), await short(stream)]).toEqual(['ADDED a', 'ADDED b']);
    await patch('a', { data: { k: 'v' } });
    await remove('b');
    expect([await short(stream), await short(stream)]).toEqual(['MODIFIED a', 'DELETED b']);
  });

  test('a watch from a resourceVersion gets later events only', async () => {
    await create('a');
    const version = await now();
    await patch('a', { data: { k: '1' } });
    await create('b');
    const stream = await watch(`resourceVersion=${version}`);
    expect([await short(stream), await short(stream)]).toEqual(['MODIFIED a', 'ADDED b']);
    await remove('a');
    expect(await short(stream)).toBe('DELETED a');
  });

  test('a watch resumed from any event continues without gap and repetition', async () => {
    const start = await now();
    for (const name of ['a', 'b', 'c']) await create(name);
    await patch('a', { data: { k: '1' } });
    await remove('b');
    const all = ['ADDED a', 'ADDED b', 'ADDED c', 'MODIFIED a', 'DELETED b'];
    let version = start;
    for (let seen = 0; seen < all.length; seen++) {
      const stream = await watch(`resourceVersion=${version}`);
      const rest: (string | undefined)[] = [];
      for (let at = seen; at < all.length; at++) {
        const event = (await stream.next())!;
        rest.push(`${event.type} ${event.object.metadata.name}`);
        if (at === seen) version = event.object.metadata.resourceVersion;
      }
      expect(rest).toEqual(all.slice(seen));
      stream.close();
    }
  });

  test('a watch with a selector gets ADDED and DELETED as objects start and stop matching', async () => {
    await create('a', { on: 'no' });
    const stream = await watch(`labelSelector=on%3Dyes&resourceVersion=${await now()}`);
    await patch('a', { metadata: { labels: { on: 'yes' } } });
    await patch('a', { data: { k: 'v' } });
    await patch('a', { metadata: { labels: { on: 'no' } } });
    await create('z', { on: 'no' });
    await patch('a', { metadata: { labels: { on: 'yes' } } });
    expect(await short(stream)).toBe('ADDED a');
    expect(await short(stream)).toBe('MODIFIED a');
    const left = await stream.next();
    expect(left?.type).toBe('DELETED');
    expect(left?.object.metadata.labels).toEqual({ on: 'yes' });
    expect(await short(stream)).toBe('ADDED a');
  });

  test('a watch by name gets one object', async () => {
    const stream = await watch(`fieldSelector=metadata.name%3Dq&resourceVersion=${await now()}`);
    await create('q');
    await create('r');
    await patch('q', { data: { k: '2' } });
    await remove('q');
    const seen = [await short(stream), await short(stream), await short(stream)];
    expect(seen).toEqual(['ADDED q', 'MODIFIED q', 'DELETED q']);
  });

  test('a compacted revision is reported as an error event', async () => {
    await create('a');
    const version = await now();
    await patch('a', { data: { k: '1' } });
    await patch('a', { data: { k: '2' } });
    await server.store.compact(server.store.revision);
    const stream = await watch(`resourceVersion=${version}`);
    expect(stream.code).toBe(200);
    const event = await stream.next();
    expect(event).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired', status: 'Failure' } });
    expect(event?.object.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
    expect(await stream.next()).toBeUndefined();
  });

  test('a watch ends at its timeout, after a bookmark', async () => {
    await create('a');
    const stream = await watch('timeoutSeconds=1&allowWatchBookmarks=true');
    expect(await short(stream)).toBe('ADDED a');
    const bookmark = await stream.next();
    expect(bookmark?.type).toBe('BOOKMARK');
    expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(server.store.revision);
    expect(await stream.next()).toBeUndefined();
  });

  test('sendInitialEvents marks the end of the initial state', async () => {
    await create('a');
    const stream = await watch('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true');
    expect(await short(stream)).toBe('ADDED a');
    const mark = await stream.next();
    expect(mark?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    await create('b');
    expect(await short(stream)).toBe('ADDED b');
  });

  test('all watchers get the same event', async () => {
    const version = await now();
    const streams = await Promise.all(Array.from({ length: 50 }, () => watch(`resourceVersion=${version}`)));
    await create('a');
    const seen = await Promise.all(streams.map(short));
    expect(seen).toEqual(Array(50).fill('ADDED a'));
    for (const stream of streams) stream.close();
  });
});
