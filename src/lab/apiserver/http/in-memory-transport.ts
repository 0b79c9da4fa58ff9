/** The transport of a client to an API server in the same process: no socket, no TLS. */
import { X509Certificate } from 'node:crypto';
import { Readable } from 'node:stream';
import type { HttpResponse, Transport } from '../../../kube/transport.js';
import type { Handle } from '../handler.js';
import { callInMemory, type InMemoryResponse } from './in-memory.js';

export function inMemoryTransport(handle: Handle): Transport {
  return {
    async open({ method, url, headers, body, tls, signal }) {
      signal?.throwIfAborted();
      const response = await callInMemory(handle, {
        method,
        path: `${url.pathname}${url.search}`,
        headers,
        ...(body !== undefined && { body }),
        ...(tls.cert !== undefined && { clientCertificate: new X509Certificate(tls.cert) }),
      });
      return asHttpResponse(response);
    },
    close() {},
  };
}

function asHttpResponse(response: InMemoryResponse): HttpResponse {
  const body = new Readable({
    read() {},
    destroy(error, done) {
      response.abort();
      done(error);
    },
  });
  void pump(response, body);
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  const warning = response.warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ');
  return Object.assign(body, {
    statusCode: response.code,
    headers: { ...headers, ...(warning !== '' && { warning }) },
  });
}

/** Passes the body on as it grows, until the server or the client ends it. */
async function pump(response: InMemoryResponse, body: Readable): Promise<void> {
  let isEnded = false;
  void response.ended.then(() => {
    isEnded = true;
  });
  for (let sent = 0; ; ) {
    const text = await response.until((now) => now.length > sent);
    if (body.destroyed) return;
    if (text.length > sent) body.push(Buffer.from(text.slice(sent)));
    if (text.length === sent && isEnded) return void body.push(null);
    sent = text.length;
  }
}
