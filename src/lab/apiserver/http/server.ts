/** The socket: HTTP/2 and HTTP/1.1 over TLS, with limits on all that a client can delay. */
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
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
  /** Concurrent requests on one HTTP/2 connection; a client has all its watches on one. Default 1,000. */
  streams: number;
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
  streams: 1_000,
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
  const server = createSecureServer({
    key: options.key,
    cert: options.cert,
    ca: options.clientCa,
    // The authenticator checks certificates: a token is accepted as well.
    requestCert: true,
    rejectUnauthorized: false,
    allowHTTP1: true,
    minVersion: 'TLSv1.2',
    handshakeTimeout: limits.handshakeMs,
    settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: limits.headerBytes },
    // Megabytes per connection; far more than flow control lets a client send, enough for a thousand streams.
    maxSessionMemory: 64,
    // Passed to the HTTP/1.1 side, though the types lack it.
    ...({ maxHeaderSize: limits.headerBytes } as object),
  });
  server.maxConnections = limits.connections;
  limitHttp1(server, limits);
  const bodyDeadlines = new Deadlines(options.clock, limits.bodyTimeoutMs);
  server.on('request', (request, response) => serve(request, response, options, bodyDeadlines));
  const connections = trackConnections(server, limits, options.log);
  await listen(server, options.port, options.host);
  const { address, port } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    close: async () => {
      await close(server, connections, options.clock, limits.closeMs);
      bodyDeadlines.close();
    },
  };
}

/** The HTTP/1.1 side reads these properties; the types of the HTTP/2 server lack them. */
function limitHttp1(server: Http2SecureServer, limits: ServerLimits): void {
  Object.assign(server, {
    headersTimeout: limits.headersMs,
    // Reading of a body times out earlier, with an answer; this is for bodies that are not read.
    requestTimeout: limits.headersMs + 2 * limits.bodyTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, limits.headersMs),
    keepAliveTimeout: limits.idleMs,
  });
}

function serve(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  { handle, log }: ServerOptions,
  bodyDeadlines: Deadlines,
) {
  const exchange = new HttpExchange(request, response, bodyDeadlines);
  handle(exchange).catch((error: unknown) => {
    log.error('request handling failed', { method: exchange.method, path: exchange.path, error });
    response.destroy();
  });
}

function listen(server: Http2SecureServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, 1024, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

interface Connections {
  sockets: Set<TLSSocket>;
  sessions: Set<ServerHttp2Session>;
}

function trackConnections(server: Http2SecureServer, limits: ServerLimits, log: Log): Connections {
  const connections: Connections = { sockets: new Set(), sessions: new Set() };
  server.on('secureConnection', (socket) => {
    connections.sockets.add(socket);
    socket.setNoDelay(true);
    // Finds peers that disappeared.
    socket.setKeepAlive(true, 30_000);
    socket.once('close', () => connections.sockets.delete(socket));
  });
  server.on('session', (session) => {
    connections.sessions.add(session);
    session.once('close', () => connections.sessions.delete(session));
    session.on('error', () => {});
    closeWhenIdle(session, limits.idleMs);
  });
  server.on('tlsClientError', () => {});
  server.on('clientError', rejectClient);
  server.on('error', (error) => log.error('server error', { error }));
  return connections;
}

const clientErrors: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers malformed HTTP where possible, then closes the connection. */
function rejectClient(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = clientErrors[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

/** A connection with an open stream, such as a watch without events, is not idle. */
function closeWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let open = 0;
  session.on('stream', (stream) => {
    open++;
    stream.once('close', () => open--);
  });
  session.setTimeout(idleMs, () => {
    if (open === 0) session.close();
  });
}

async function close(
  server: Http2SecureServer,
  { sockets, sessions }: Connections,
  clock: Clock,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const session of sessions) session.close();
  const done = new AbortController();
  const cutOff = () => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  };
  clock.sleep(graceMs, done.signal).then(cutOff, () => {});
  await closed;
  done.abort();
}
