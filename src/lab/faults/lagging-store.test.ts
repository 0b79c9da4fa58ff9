/** A second API server whose cache is behind, as clients see it. */
import { expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../../../test/manual-clock.js';
import type { KubeObject } from '../../api/object.js';
import { configMaps } from '../../kube/resource-type.js';
import { watchLoop } from '../../kube/watch.js';
import { seededRandom } from '../../rehearsal/simulation/seeded-random.js';
import { admin, clientAs } from '../../rehearsal/simulation/server.js';
import { startFullServer } from './server.js';

test('a server that is behind answers quorum reads from the store, and the others from its cache until it catches up', async () => {
  const [clock, random] = [new ManualClock(), seededRandom('servers')];
  const server = await startFullServer({ clock, random, manifests: [] });
  const ended = new AbortController();
  onTestFinished(() => {
    ended.abort();
    return server.close();
  });
  const other = await server.another!(random);
  const client = clientAs(admin, { transport: other.transport, clock, random });
  const inDefault = { namespace: 'default' };
  const place = { ...inDefault, name: 'config' };
  const write = (value: string) => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: place, data: { value } };
    return client.patch(configMaps, place, object, { as: 'apply', fieldManager: 'test' });
  };
  await write('old');
  other.fallBehind();
  await write('new');
  const textIn = (object: KubeObject & { data?: Record<string, string> }) => object.data?.value;
  expect(textIn(await client.get(configMaps, place))).toBe('new');
  expect((await client.list(configMaps, inDefault)).items.map(textIn)).toContain('new');
  const cached = await client.list(configMaps, { ...inDefault, resourceVersion: '0' });
  expect(cached.items.map(textIn)).toContain('old');
  expect(cached.items.map(textIn)).not.toContain('new');
  const path = '/api/v1/namespaces/default/configmaps/config';
  const fromCache = await client.raw({ method: 'GET', path, query: { resourceVersion: '0' } });
  expect(textIn(JSON.parse(fromCache.text))).toBe('old');

  const seen: (string | undefined)[] = [];
  const hasNew = new Promise<void>((resolve) => {
    void watchLoop(client, {
      type: configMaps,
      ...place,
      startsWithWatch: true,
      onList: () => {},
      onFailure: () => {},
      onChange(_type, object) {
        seen.push(textIn(object));
        if (textIn(object) === 'new') resolve();
        else other.catchUp();
      },
      signal: ended.signal,
    });
  });
  await hasNew;
  expect(seen).toEqual(['old', 'new']);
});
