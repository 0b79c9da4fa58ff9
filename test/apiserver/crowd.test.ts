/** Many idle connections, and watchers that never read: the server answers others and its memory stays bounded. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/apiserver.js';
import { clientOf } from './client.js';

const maps = '/api/v1/namespaces/default/configmaps';
let server: ApiServer | undefined;

afterEach(async () => {
  await server?.close();
});

async function idleConnection(port: number, ca: string): Promise<TLSSocket> {
  const socket = connect({ port, ca, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => {});
  // Read, so that the end of the connection is noticed.
  socket.resume();
  await once(socket, 'secureConnect');
  return socket;
}

describe('many idle clients', () => {
  test('a thousand connections without requests do not delay others, and are closed', async () => {
    server = await startApiServer({ limits: { headersMs: 3000 } });
    const client = clientOf(server, 'socket');
    const sockets: TLSSocket[] = [];
    for (let group = 0; group < 20; group++) {
      sockets.push(
        ...(await Promise.all(Array.from({ length: 50 }, () => idleConnection(server!.port, server!.pki.ca)))),
      );
      expect((await client.call({ path: '/readyz' })).code).toBe(200);
    }
    await Promise.all(
      sockets.map((socket) => socket.closed || new Promise((resolve) => socket.once('close', resolve))),
    );
    expect((await client.call({ path: '/readyz' })).code).toBe(200);
    await client.close();
  });

  test('watchers that never read use no memory beyond the socket buffers', async () => {
    server = await startApiServer({ history: { keepBytes: 8 << 20 } });
    const { port, pki } = server;
    const agent = new Agent({ ca: pki.ca, ...pki.admin });
    const watches = await Promise.all(
      Array.from(
        { length: 30 },
        () =>
          new Promise<IncomingMessage>((resolve, reject) => {
            const call = request({ agent, port, path: `${maps}?watch=true` }, (response) => {
              response.on('error', () => {});
              resolve(response);
            });
            call.on('error', reject).end();
          }),
      ),
    );
    const client = clientOf(server, 'memory');
    const data = { filler: 'x'.repeat(200_000) };
    await client.call({
      method: 'POST',
      path: maps,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data },
    });
    const before = process.memoryUsage();
    // 30 watchers times 200 events of 200 kB would be 1.2 GB.
    for (let at = 0; at < 200; at++) {
      const answer = await client.call({
        method: 'PATCH',
        path: `${maps}/a`,
        body: { data: { count: String(at) } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      expect(answer.code).toBe(200);
    }
    const after = process.memoryUsage();
    expect(after.arrayBuffers + after.heapUsed - before.arrayBuffers - before.heapUsed).toBeLessThan(200 << 20);
    for (const watch of watches) watch.destroy();
    agent.destroy();
  });
});
