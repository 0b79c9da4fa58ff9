/** The scale subresource of custom kinds and workloads, and deprecated versions. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { type Client, clientOf } from './client.js';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const racks = '/apis/example.com/v1/namespaces/default/racks';
const numbers = { type: 'object', properties: { slots: { type: 'integer' }, selector: { type: 'string' } } };
const openAPIV3Schema = { type: 'object', properties: { spec: numbers, status: numbers } };
const scale = {
  specReplicasPath: '.spec.slots',
  statusReplicasPath: '.status.slots',
  labelSelectorPath: '.status.selector',
};
const versions = [
  {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema },
    subresources: { status: {}, scale },
  },
  {
    name: 'v1beta1',
    served: true,
    storage: false,
    deprecated: true,
    schema: { openAPIV3Schema },
    subresources: { status: {} },
  },
];
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'racks.example.com' },
  spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'racks', kind: 'Rack' }, versions },
};
const rack = (spec: object) => ({ apiVersion: 'example.com/v1', kind: 'Rack', metadata: { name: 'a' }, spec });
const merge = { 'content-type': 'application/merge-patch+json' };

let server: ApiServer;
let client: Client;

beforeEach(async () => {
  server = await startApiServer();
  client = clientOf(server, 'memory');
  await client.call({ method: 'POST', path: crds, body: definition });
});
afterEach(() => server.close());

describe('scale', () => {
  test('scale shows the values at its paths', async () => {
    await client.call({ method: 'POST', path: racks, body: rack({ slots: 2 }) });
    const status = { status: { slots: 1, selector: 'a=b' } };
    await client.call({ method: 'PATCH', path: `${racks}/a/status`, headers: merge, body: status });
    const { code, json } = await client.call({ path: `${racks}/a/scale` });
    expect(code).toBe(200);
    expect(json).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a', namespace: 'default' },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'a=b' },
    });
  });

  test('a patch of scale changes replicas and generation only', async () => {
    await client.call({ method: 'POST', path: racks, body: rack({ slots: 2, selector: 'x' }) });
    const body = { spec: { replicas: 5 } };
    const { json } = await client.call({ method: 'PATCH', path: `${racks}/a/scale`, headers: merge, body });
    expect(json.spec).toEqual({ replicas: 5 });
    const { json: object } = await client.call({ path: `${racks}/a` });
    expect(object.spec).toEqual({ slots: 5, selector: 'x' });
    expect(object.metadata.generation).toBe(2);
    expect(object.metadata.managedFields).toHaveLength(1);
  });

  test('a PUT of scale with an old resourceVersion is a conflict', async () => {
    await client.call({ method: 'POST', path: racks, body: rack({ slots: 2 }) });
    const { json } = await client.call({ path: `${racks}/a/scale` });
    const put = (replicas: number) =>
      client.call({ method: 'PUT', path: `${racks}/a/scale`, body: { ...json, spec: { replicas } } });
    expect((await put(3)).json.spec).toEqual({ replicas: 3 });
    expect((await put(4)).code).toBe(409);
  });

  test('scale of an object without replicas is an error', async () => {
    await client.call({ method: 'POST', path: racks, body: rack({}) });
    const { code, json } = await client.call({ path: `${racks}/a/scale` });
    expect(code).toBe(500);
    expect(json.message).toContain('the spec replicas field ".spec.slots" does not exist');
  });

  test('negative replicas are rejected by PUT and PATCH', async () => {
    await client.call({ method: 'POST', path: racks, body: rack({ slots: 2 }) });
    const body = { spec: { replicas: -1 } };
    const { code, json } = await client.call({ method: 'PATCH', path: `${racks}/a/scale`, headers: merge, body });
    expect(code).toBe(422);
    expect(json.message).toContain('.spec.slots: Invalid value: -1: should be a non-negative integer');
  });

  test('scale of a kind without it, and of a missing object, is not found', async () => {
    const { json } = await client.call({ path: '/api/v1/namespaces/default/pods/a/scale' });
    expect(json.message).toBe('the server could not find the requested resource');
    expect((await client.call({ path: `${racks}/none/scale` })).json.message).toBe(
      'racks.example.com "none" not found',
    );
  });

  test('a Deployment has scale', async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments';
    const spec = { selector: { matchLabels: { app: 'a' } }, template: { spec: { containers: [] } } };
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec };
    await client.call({ method: 'POST', path, body });
    const patch = { spec: { replicas: 3 } };
    await client.call({ method: 'PATCH', path: `${path}/a/scale`, headers: merge, body: patch });
    const { json } = await client.call({ path: `${path}/a/scale` });
    expect(json).toMatchObject({ spec: { replicas: 3 }, status: { replicas: 0, selector: 'app=a' } });
  });
});

test('every request to a deprecated version gets a warning', async () => {
  const remote = clientOf(server, 'http1');
  const { headers } = await remote.call({ path: racks.replace('v1/', 'v1beta1/') });
  expect([headers.warning].flat().join()).toContain('example.com/v1beta1 Rack is deprecated');
  expect((await remote.call({ path: racks })).headers.warning).toBeUndefined();
  await remote.close();
});

test('a patch cannot change the kind of a custom object', async () => {
  await client.call({ method: 'POST', path: racks, body: rack({ slots: 2 }) });
  const body = { kind: 'Shelf', apiVersion: 'example.com/v9' };
  const { code, json } = await client.call({ method: 'PATCH', path: `${racks}/a`, headers: merge, body });
  expect(code).toBe(422);
  expect(json.message).toBe(
    'Shelf.example.com "a" is invalid: [kind: Invalid value: "Shelf": must be Rack, apiVersion: Invalid value: "example.com/v9": must be example.com/v1]',
  );
});

test('an unknown resource in a group of CRDs is answered with plain text 404', async () => {
  const { code, text } = await client.call({ path: '/apis/example.com/v1/nothing' });
  expect([code, text.trim()]).toEqual([404, '404 page not found']);
});

test('a version that a group of Kubernetes does not have is answered with a Status', async () => {
  const { json } = await client.call({ path: '/apis/batch/v1beta1/namespaces/default/cronjobs' });
  expect(json).toMatchObject({ kind: 'Status', message: 'the server could not find the requested resource' });
});
