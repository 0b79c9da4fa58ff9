/**
 * The socket: HTTP/1.1 over TLS, with limits on all that a client can delay. Not HTTP/2: a peer that breaks while several watches of
 * one connection have something to write can abort the process, in Node's own code (TLSWrap::DoWrite, `!current_write_`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import type { Handle } from '../handler.js';
import { Deadlines } from './deadlines.js';
import { HttpExchange } from './http-exchange.js';

export interface ServerOptions {
  handle: Handle;
  clock: Clock;
  log: Log;
  /** PEM. */
  key: string;
  cert: string;
  /** PEM of the authority of client certificates. */
  clientCa: string;
  host: string;
  /** 0: any free port. */
  port: number;
  limits?: Partial<ServerLimits>;
}

export interface ServerLimits {
  /** A TLS handshake must be done within this time. Default 10 s. */
  handshakeMs: number;
  /** The headers of a request must arrive within this time. Default 30 s. */
  headersMs: number;
  /** The body must arrive within this time. Default 60 s. */
  bodyTimeoutMs: number;
  /** Idle connections are closed after this time. Default 3 min. */
  idleMs: number;
  /** Bytes of all headers of a request. Default 64 KiB. */
  headerBytes: number;
  /** Concurrent connections; more are rejected. Default 20,000. */
  connections: number;
  /** Time for running requests to finish when the server closes. Default 5 s. */
  closeMs: number;
}

const defaults: ServerLimits = {
  handshakeMs: 10_000,
  headersMs: 30_000,
  bodyTimeoutMs: 60_000,
  idleMs: 180_000,
  headerBytes: 64 << 10,
  connections: 20_000,
  closeMs: 5_000,
};

export interface RunningServer {
  host: string;
  port: number;
  /** Accepts no more requests, waits for running ones, then closes their connections. */
  close(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const limits = { ...defaults, ...options.limits };
  const server = createServer({
    key: options.key,
    cert: options.cert,
    ca: options.clientCa,
    // The authenticator checks certificates: a token is accepted as well.
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    handshakeTimeout: limits.handshakeMs,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // Reading of a body times out earlier, with an answer; this is for bodies that are not read.
    requestTimeout: limits.headersMs + 2 * limits.bodyTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, limits.headersMs),
    keepAliveTimeout: limits.idleMs,
  });
  server.maxConnections = limits.connections;
  const bodyDeadlines = new Deadlines(options.clock, limits.bodyTimeoutMs);
  server.on('request', (request, response) => serve(request, response, options, bodyDeadlines));
  const sockets = trackSockets(server, options.log);
  await listen(server, options.port, options.host);
  const { address, port } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    close: async () => {
      await close(server, sockets, options.clock, limits.closeMs);
      bodyDeadlines.close();
    },
  };
}

function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { handle, log }: ServerOptions,
  bodyDeadlines: Deadlines,
) {
  const exchange = new HttpExchange(request, response, bodyDeadlines);
  handle(exchange).catch((error: unknown) => {
    log.error('request handling failed', { method: exchange.method, path: exchange.path, error });
    response.destroy();
  });
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 1024, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function trackSockets(server: Server, log: Log): Set<TLSSocket> {
  const sockets = new Set<TLSSocket>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    // Finds peers that disappeared.
    socket.setKeepAlive(true, 30_000);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', rejectClient);
  server.on('error', (error) => log.error('server error', { error }));
  return sockets;
}

const clientErrors: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers malformed HTTP where possible, then closes the connection. */
function rejectClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Errors of TLS come here too.
  const isHttp = error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!isHttp || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = clientErrors[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

async function close(server: Server, sockets: Set<TLSSocket>, clock: Clock, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const done = new AbortController();
  const cutOff = () => {
    for (const socket of sockets) socket.destroy();
  };
  clock.sleep(graceMs, done.signal).then(cutOff, () => {});
  await closed;
  done.abort();
}
