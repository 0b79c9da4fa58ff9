/** A server on a real socket that does what a test says and remembers what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
  /** Common name of the client's certificate; empty without one. */
  clientName: string;
  /** The name the client asked for in TLS. */
  serverName: string;
  /** Counts connections from 1, to see which requests shared one. */
  connection: number;
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

export interface ScriptedServer {
  url: string;
  port: number;
  asked: Asked[];
  /** Cuts every connection and stops listening. */
  close(): Promise<void>;
}

export async function startScriptedServer(
  answer: Answer,
  options: { tls?: { cert: string; key: string; ca?: string }; port?: number } = {},
): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const sockets = new Map<Socket, number>();
  let connections = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url!, 'http://x');
    const socket = request.socket as TLSSocket;
    const one: Asked = {
      method: request.method!,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
      clientName: String(socket.getPeerCertificate?.()?.subject?.CN ?? ''),
      serverName: (socket as { servername?: string | false }).servername || '',
      connection: sockets.get(socket)!,
    };
    asked.push(one);
    answer(one, response);
  };
  const { tls } = options;
  const server = tls
    ? createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false }, handle)
    : createServer(handle);
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, ++connections);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets.keys()) socket.destroy();
      }),
  };
}

export function answerJson(response: ServerResponse, body: unknown, code = 200): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

export function answerStatus(response: ServerResponse, code: number, reason: string, message: string): void {
  answerJson(response, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }, code);
}
