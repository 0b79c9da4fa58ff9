/** The node proxy with a fake kubelet: TLS with the server's client certificate, streams both ways, errors. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryDir } from '../../../../test/temporary-dir.js';
import type { KubeObject } from '../../../api/object.js';
import type { ApiError } from '../../../api/status.js';
import { systemClock } from '../../../clock.js';
import { silentLog } from '../../../log.js';
import type { ResponseHeaders } from '../../../memory-api/requests/exchange.js';
import { systemRandom } from '../../../random.js';
import type { PeerExchange } from '../http/peer-exchange.js';
import { openPki, type Pki } from '../pki/pki.js';
import { NodeProxy } from './node-proxy.js';

let pki: Pki;
let kubelet: Server;
let port: number;
let proxy: NodeProxy;
const dir = temporaryDir();

/** Answers with the caller and the request; /stream sends the rest on demand, /cut breaks off in the middle. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/redirect') return void response.writeHead(302, { location: '/elsewhere' }).end();
  if (request.url === '/cut') {
    response.write('part');
    return void setImmediate(() => response.destroy());
  }
  if (request.url === '/large') {
    response.write('x'.repeat(300_000));
    return void response.end('y'.repeat(300_000));
  }
  if (request.url === '/stream') return void response.write('first ');
  let body = '';
  for await (const chunk of request) body += chunk;
  const peer = (request.socket as TLSSocket).getPeerX509Certificate();
  response.writeHead(request.method === 'DELETE' ? 404 : 200, { 'content-type': 'text/plain', 'x-kubelet': 'yes' });
  response.end(
    JSON.stringify({
      peer: peer?.subject,
      method: request.method,
      url: request.url,
      body,
      host: request.headers.host,
      token: request.headers.authorization,
    }),
  );
}

beforeAll(async () => {
  pki = await openPki({
    dir: join(dir, 'pki'),
    bindAddress: '127.0.0.1',
    log: silentLog,
    clock: systemClock,
    random: systemRandom,
  });
  const serving = await pki.issueKubeletServing('n', ['127.0.0.1']);
  kubelet = createServer({ ...serving, ca: pki.ca, requestCert: true, rejectUnauthorized: true }, answer);
  await new Promise<void>((done) => kubelet.listen(0, '127.0.0.1', done));
  port = (kubelet.address() as AddressInfo).port;
  proxy = new NodeProxy({
    findNode,
    client: pki.kubeletClient,
    kubeletCa: pki.ca,
    ownPort: () => undefined,
    clock: systemClock,
  });
});
afterAll(() => {
  proxy.close();
  kubelet.closeAllConnections();
  kubelet.close();
});

function findNode(name: string): KubeObject | undefined {
  const ports: Record<string, number> = { n: port, dead: 1 };
  if (ports[name] === undefined) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: ports[name] } },
    },
  };
}

interface Outcome {
  code: number;
  headers: ResponseHeaders;
  text: string;
  cut: boolean;
}

/** One request through the proxy. `onText` gets the response while it arrives and can close the client's side. */
async function ask(
  path: string,
  more: { method?: string; body?: string; onText?(text: string, close: () => void): void } = {},
) {
  const name = /nodes\/([^/]+)/.exec(path)![1]!;
  const [pathOnly = '', search = ''] = path.split('?');
  const rest = pathOnly.replace(/^\/api\/v1\/nodes\/[^/]+\/proxy\/?/, '');
  const outcome: Outcome = { code: 0, headers: {}, text: '', cut: false };
  const closers: (() => void)[] = [];
  const finished = new Promise<void>((done) => {
    const close = () => {
      for (const closer of closers) closer();
      done();
    };
    const exchange = {
      method: more.method ?? 'GET',
      path: pathOnly,
      search,
      query: new URLSearchParams(search),
      headers: () => ({ host: 'api', authorization: 'Bearer secret', accept: '*/*' }),
      remoteAddress: '9.9.9.9',
      bodyStream: () => Readable.from([more.body ?? '']),
      onClose: (listener: () => void) => closers.push(listener),
      respond(code: number, headers: ResponseHeaders, body: string) {
        Object.assign(outcome, { code, headers, text: body });
        done();
      },
      stream(code: number, headers: ResponseHeaders) {
        Object.assign(outcome, { code, headers });
        return {
          write(chunk: Buffer) {
            outcome.text += chunk.toString();
            more.onText?.(outcome.text, close);
            // A client that is slow with every chunk.
            return false;
          },
          onDrain: (listener: () => void) => setImmediate(listener),
          end: done,
          destroy() {
            outcome.cut = true;
            done();
          },
        };
      },
    };
    proxy
      .handle(exchange as unknown as PeerExchange, { name: decodeURIComponent(name), rest })
      .catch((error: ApiError) => {
        Object.assign(outcome, { code: error.code, text: error.message });
        done();
      });
  });
  await finished;
  return outcome;
}

describe('nodes/NAME/proxy', () => {
  test('the node proxy uses the server’s certificate and drops the caller’s credentials', async () => {
    const { code, headers, text } = await ask('/api/v1/nodes/n/proxy/configz?x=1%2F2');
    expect([code, headers['x-kubelet']]).toEqual([200, 'yes']);
    expect(JSON.parse(text)).toEqual({
      peer: 'CN=kube-apiserver-kubelet-client',
      method: 'GET',
      url: '/configz?x=1%2F2',
      body: '',
      host: `127.0.0.1:${port}`,
    });
  });

  test('the node proxy forwards bodies and status codes', async () => {
    const posted = await ask('/api/v1/nodes/n/proxy/run/x', { method: 'POST', body: 'hello' });
    expect(JSON.parse(posted.text)).toMatchObject({ method: 'POST', url: '/run/x', body: 'hello' });
    expect((await ask('/api/v1/nodes/n/proxy/x', { method: 'DELETE' })).code).toBe(404);
  });

  test('the node proxy redirects to the path with a slash, and rewrites redirects of the kubelet', async () => {
    expect(await ask('/api/v1/nodes/n/proxy')).toMatchObject({
      code: 301,
      headers: { location: '/api/v1/nodes/n/proxy/' },
    });
    expect(await ask('/api/v1/nodes/n/proxy/redirect')).toMatchObject({
      code: 302,
      headers: { location: '/api/v1/nodes/n/proxy/elsewhere' },
    });
  });

  test('the node proxy streams, and ends the request to the kubelet when the client disconnects', async () => {
    const left = new Promise<void>((done) => {
      kubelet.once('request', (_request, response: ServerResponse) => response.once('close', done));
    });
    const { text } = await ask('/api/v1/nodes/n/proxy/stream', { onText: (_text, close) => close() });
    expect(text).toBe('first ');
    await left;
  });

  test('a slow client gets everything', async () => {
    const { text } = await ask('/api/v1/nodes/n/proxy/large');
    expect(text === 'x'.repeat(300_000) + 'y'.repeat(300_000)).toBe(true);
  });

  test('a response that breaks off does not look complete', async () => {
    expect(await ask('/api/v1/nodes/n/proxy/cut')).toMatchObject({ text: 'part', cut: true });
  });

  test.each([
    ['/api/v1/nodes/gone/proxy/configz', 404, 'nodes "gone" not found'],
    [
      '/api/v1/nodes/dead/proxy/healthz',
      503,
      'error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused',
    ],
    ['/api/v1/nodes/ftp:n:1/proxy/', 400, 'invalid node request "ftp:n:1"'],
    ['/api/v1/nodes/n:22/proxy/', 400, 'address not allowed'],
  ])('%s is answered %i', async (path, code, text) => {
    expect(await ask(path)).toMatchObject({ code, text });
  });

  test('unknown methods are rejected', async () => {
    expect((await ask('/api/v1/nodes/n/proxy/x', { method: 'TRACE' })).code).toBe(405);
  });
});
