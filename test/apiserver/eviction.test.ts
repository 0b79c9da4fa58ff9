/** Eviction in policy/v1, and in policy/v1beta1 as kubectl before 1.22 sends it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf } from './client.js';

const pods = '/api/v1/namespaces/default/pods';
let server: ApiServer;
let client: Client;

beforeAll(async () => {
  server = await startApiServer();
  client = clientOf(server, 'memory');
});
afterAll(() => server.close());

test.each(['policy/v1', 'policy/v1beta1'])('a Pod is deleted by an Eviction of %s', async (apiVersion) => {
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  await client.call({ method: 'POST', path: pods, body: { metadata: { name: 'a' }, spec } });
  const body = { apiVersion, kind: 'Eviction', metadata: { name: 'a', namespace: 'default' } };
  expect((await client.call({ method: 'POST', path: `${pods}/a/eviction`, body })).code).toBe(201);
  expect((await client.call({ path: `${pods}/a` })).code).toBe(404);
});

test('an Eviction of an unknown version is rejected', async () => {
  const body = { apiVersion: 'policy/v9', kind: 'Eviction', metadata: { name: 'a' } };
  const { code, json } = await client.call({ method: 'POST', path: `${pods}/a/eviction`, body });
  expect(code).toBe(400);
  expect(json.message).toContain('(policy/v9) does not match the expected API version');
});

test('a Pod that its budget needs is not evicted', async () => {
  const labels = { app: 'needed' };
  const spec = { containers: [{ name: 'c', image: 'i' }] };
  await client.call({ method: 'POST', path: pods, body: { metadata: { name: 'needed', labels }, spec } });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await client.call({
    method: 'PATCH',
    path: `${pods}/needed/status`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status },
  });
  await client.call({
    method: 'POST',
    path: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    body: { metadata: { name: 'budget' }, spec: { minAvailable: 1, selector: { matchLabels: labels } } },
  });
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'needed' } };
  const { code, json } = await client.call({ method: 'POST', path: `${pods}/needed/eviction`, body });
  expect(code).toBe(429);
  expect(json.details.causes[0].message).toBe('The disruption budget budget needs 1 healthy pods and has 1 currently');
  expect((await client.call({ path: `${pods}/needed` })).json.metadata.deletionTimestamp).toBeUndefined();
});
