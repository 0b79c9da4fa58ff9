/** A client for API tests with two transports: in this process, and HTTP/1.1 over TLS. */

import { X509Certificate } from 'node:crypto';
import { Agent, request as httpsRequest } from 'node:https';
import type { ApiServer } from '../../src/lab/apiserver/apiserver.js';
import { callInMemory } from './call-in-memory.js';

export type Carrier = 'memory' | 'socket';
export const carriers: Carrier[] = ['memory', 'socket'];

export interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent unchanged. */
  raw?: string | Buffer;
}

export interface Reply {
  code: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
  text: string;
}

/** Lines of a watch, as they arrive. */
export interface Stream {
  code: number;
  /** The next event; undefined when the stream ended. */
  next(): Promise<
    | {
        type: string;
        object: { metadata: { name: string; resourceVersion: string; [key: string]: unknown }; [key: string]: unknown };
      }
    | undefined
  >;
  close(): void;
}

export interface Client {
  call(call: Call): Promise<Reply>;
  watch(path: string): Promise<Stream>;
  close(): Promise<void>;
}

export function clientOf(server: ApiServer, carrier: Carrier): Client {
  return carrier === 'memory' ? memoryClient(server) : socketClient(server);
}

function prepared({ method = 'GET', path, headers = {}, body, raw }: Call) {
  const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const contentType = bytes === undefined ? {} : { 'content-type': 'application/json' };
  const all: Record<string, string> = { accept: 'application/json', ...contentType, ...headers };
  return { method, path, headers: all, bytes };
}

function reply(code: number, headers: Reply['headers'], text: string): Reply {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {}
  return { code, headers, json, text };
}

/** Splits text into lines. */
class Lines {
  #rest = '';
  #events: unknown[] = [];
  #waiting: ((event: never) => void)[] = [];
  #ended = false;

  add(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) {
      const event = JSON.parse(line) as never;
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#events.push(event);
      else waiting(event);
    }
  }

  end(): void {
    this.#ended = true;
    for (const waiting of this.#waiting) waiting(undefined as never);
  }

  next(): ReturnType<Stream['next']> {
    if (this.#events.length > 0) return Promise.resolve(this.#events.shift() as never);
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

function memoryClient(server: ApiServer): Client {
  const clientCertificate = new X509Certificate(server.pki.admin.cert);
  const begin = (call: Call) => {
    const { method, path, headers, bytes } = prepared(call);
    const body = bytes === undefined ? {} : { body: bytes };
    return callInMemory(server.handle, { method, path, headers, clientCertificate, ...body });
  };
  return {
    async call(call) {
      const response = await begin(call);
      await response.ended;
      return reply(response.code, response.headers, response.text());
    },
    async watch(path) {
      const response = await begin({ path });
      const lines = new Lines();
      let seen = 0;
      const more = async (): Promise<void> => {
        const text = await response.until((all) => all.length > seen);
        if (text.length === seen) return lines.end();
        const from = seen;
        seen = text.length;
        lines.add(text.slice(from));
        return more();
      };
      void more();
      return { code: response.code, next: () => lines.next(), close: () => response.abort() };
    },
    async close() {},
  };
}

function socketClient(server: ApiServer): Client {
  const agent = new Agent({ keepAlive: true, ca: server.pki.ca, ...server.pki.admin });
  const begin = (call: Call) => {
    const { method, path, headers, bytes } = prepared(call);
    const length = bytes === undefined ? {} : { 'content-length': String(Buffer.byteLength(bytes)) };
    const request = httpsRequest({ agent, port: server.port, method, path, headers: { ...headers, ...length } });
    request.end(bytes);
    return request;
  };
  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        begin(call)
          .on('error', reject)
          .on('response', (response) => {
            let text = '';
            response.on('data', (chunk) => (text += chunk));
            response.on('end', () => resolve(reply(response.statusCode!, response.headers, text)));
          });
      }),
    watch: (path) =>
      new Promise((resolve, reject) => {
        const request = begin({ path });
        request.on('error', reject).on('response', (response) => {
          const lines = new Lines();
          response.on('data', (chunk) => lines.add(String(chunk)));
          response.on('close', () => lines.end());
          resolve({ code: response.statusCode!, next: () => lines.next(), close: () => request.destroy() });
        });
      }),
    async close() {
      agent.destroy();
    },
  };
}
