/** Access over a real socket: certificates, tokens and anonymous; a node with its own certificate; and the proxy to its kubelet. */

import { Agent, createServer, request as httpsRequest, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTokenFile } from '../src/lab/apiserver/access/token-file.js';
import { type ApiServer, startApiServer } from '../src/lab/apiserver/apiserver.js';
import type { KeyPair } from '../src/lab/apiserver/pki/issue.js';
import { createAuthority } from './pki.js';

let server: ApiServer;
let kubelet: Server;
let nodeCertificate: KeyPair;

beforeAll(async () => {
  const tokens = readTokenFile('jane-token,jane,7,"readers"', 'tokens.csv');
  server = await startApiServer({ tokens: [tokens], anonymous: true });
  nodeCertificate = await server.pki.issueNodeClient('node-a');
  const serving = await server.pki.issueKubeletServing('node-a', ['127.0.0.1']);
  kubelet = createServer({ ...serving, ca: server.pki.ca, requestCert: true }, (request, response) => {
    const peer = (request.socket as TLSSocket).getPeerX509Certificate()?.subject;
    response.end(JSON.stringify({ path: request.url, peer }));
  });
  await new Promise<void>((done) => kubelet.listen(0, '127.0.0.1', done));
});
afterAll(async () => {
  kubelet.closeAllConnections();
  kubelet.close();
  await server.close();
});

interface Call {
  client?: Partial<KeyPair>;
  token?: string;
  method?: string;
  body?: unknown;
  type?: string;
}

/** Remembers TLS sessions, and only those. */
const agent = new Agent({ keepAlive: false });

/** Over HTTP/1.1, each call on a connection of its own; sessions are resumed as TLS clients do. */
function call(path: string, { client, token, method = 'GET', body, type = 'application/json' }: Call) {
  return new Promise<{ code: number; body: Record<string, unknown>; resumed: boolean }>((resolve, reject) => {
    const headers = { 'content-type': type, ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const request = httpsRequest(
      server.url + path,
      { agent, ca: server.pki.ca, ...client, method, headers },
      async (response) => {
        const resumed = (response.socket as TLSSocket).isSessionReused();
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve({ resumed, code: response.statusCode!, body: text.startsWith('{') ? JSON.parse(text) : { text } });
      },
    );
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function whoAmI(credentials: Call) {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const answer = await call('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    ...credentials,
    method: 'POST',
    body,
  });
  if (answer.code !== 201) return answer.code;
  const { username, groups } = (answer.body.status as { userInfo: { username: string; groups: string[] } }).userInfo;
  return [username, ...groups];
}

const patchNode = (spec: unknown, credentials: Call) =>
  call('/api/v1/nodes/node-a', {
    ...credentials,
    method: 'PATCH',
    type: 'application/merge-patch+json',
    body: { spec },
  });

describe('credentials over TLS', () => {
  test('a certificate is its user and groups, also on a resumed session', async () => {
    for (const _ of ['first', 'resumed']) {
      expect(await whoAmI({ client: server.pki.admin })).toEqual([
        'kubernetes-admin',
        'system:masters',
        'system:authenticated',
      ]);
      expect(await whoAmI({ client: nodeCertificate })).toEqual([
        'system:node:node-a',
        'system:nodes',
        'system:authenticated',
      ]);
    }
    expect((await call('/version', { client: nodeCertificate })).resumed).toBe(true);
  });

  test('a token is its user; a certificate goes before a token', async () => {
    expect(await whoAmI({ token: 'jane-token' })).toEqual(['jane', 'readers', 'system:authenticated']);
    expect(await whoAmI({ token: 'jane-token', client: nodeCertificate })).toContain('system:node:node-a');
  });

  test('a wrong token and a certificate of another authority are refused, though anonymous requests are let in', async () => {
    expect((await call('/version', {})).code).toBe(200);
    expect((await call('/version', { token: 'nope' })).code).toBe(401);
    const stranger = await (await createAuthority('stranger')).sign('CN=kubernetes-admin,O=system:masters');
    expect(await call('/version', { client: stranger })).toMatchObject({
      code: 401,
      body: { kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized' },
    });
    expect(await whoAmI({ client: stranger, token: 'jane-token' })).toContain('jane');
  });
});

describe('with its own certificate', () => {
  const admin = () => ({ client: server.pki.admin });
  const node = () => ({ client: nodeCertificate });

  test('a node registers, reports, and reads the ConfigMap assigned to it and no other', async () => {
    const registered = await call('/api/v1/nodes', {
      ...node(),
      method: 'POST',
      body: { metadata: { name: 'node-a' } },
    });
    expect(registered.code).toBe(201);
    for (const name of ['mine', 'other'])
      await call('/api/v1/namespaces/kube-system/configmaps', {
        ...admin(),
        method: 'POST',
        body: { metadata: { name }, data: { kubelet: '{}' } },
      });
    const source = {
      configSource: { configMap: { namespace: 'kube-system', name: 'mine', kubeletConfigKey: 'kubelet' } },
    };
    expect((await patchNode(source, node())).code).toBe(403);
    expect((await patchNode(source, admin())).code).toBe(200);
    const codes = ['mine', 'other'].map((name) => call(`/api/v1/namespaces/kube-system/configmaps/${name}`, node()));
    expect((await Promise.all(codes)).map(({ code }) => code)).toEqual([200, 403]);
  });

  test('is reached through the server: old path and new, HTTP/1.1 and HTTP/2', async () => {
    const { port } = kubelet.address() as AddressInfo;
    const status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    };
    const patched = await call('/api/v1/nodes/node-a/status', {
      ...node(),
      method: 'PATCH',
      type: 'application/merge-patch+json',
      body: { status },
    });
    expect(patched.code).toBe(200);
    const expected = { path: '/configz?a=b', peer: 'CN=kube-apiserver-kubelet-client' };
    for (const path of [
      '/api/v1/nodes/node-a/proxy/configz?a=b',
      '/api/v1/proxy/nodes/node-a/configz?a=b',
      '/api/v1/nodes/https:node-a:/proxy/configz?a=b',
    ])
      expect(await call(path, admin())).toMatchObject({ code: 200, body: expected });
    expect((await call('/api/v1/nodes/node-a/proxy/configz', node())).code).toBe(403);
  });
});
