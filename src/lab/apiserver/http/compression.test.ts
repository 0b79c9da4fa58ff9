/** Large responses are compressed for clients that accept it. */
import { request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientOf } from '../../../../test/apiserver/client.js';
import { type ApiServer, startApiServer } from '../apiserver.js';

let server: ApiServer;
const maps = '/api/v1/namespaces/default/configmaps';

beforeAll(async () => {
  server = await startApiServer();
  const client = clientOf(server, 'memory');
  const make = (name: string, size: number) => {
    const data = { text: 'relet '.repeat(size / 6) };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
    return client.call({ method: 'POST', path: maps, body });
  };
  for (const name of ['large-a', 'large-b', 'large-c']) expect((await make(name, 150_000)).code).toBe(201);
  await make('small', 600);
});
afterAll(() => server.close());

function get(path: string, encoding: string, accept = 'application/json') {
  const { ca, admin } = server.pki;
  const headers = { accept, 'accept-encoding': encoding };
  return new Promise<{ headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    request({ port: server.port, path, ca, ...admin, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
    })
      .on('error', reject)
      .end();
  });
}

test.each([
  ['one large object', `${maps}/large-a`, 'application/json'],
  ['a list that is sent in pieces', maps, 'application/json'],
  ['a list as YAML', maps, 'application/yaml'],
])('%s is compressed without a change of content', async (_what, path, accept) => {
  const [zipped, plain] = [await get(path, 'deflate, gzip', accept), await get(path, 'identity', accept)];
  expect(zipped.headers['content-encoding']).toBe('gzip');
  expect(zipped.headers.vary).toBe('Accept-Encoding');
  expect(zipped.body.length).toBeLessThan(plain.body.length / 5);
  expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
  expect(plain.headers['content-encoding']).toBeUndefined();
});

test('a small response is not compressed', async () => {
  expect((await get(`${maps}/small`, 'gzip')).headers['content-encoding']).toBeUndefined();
});
