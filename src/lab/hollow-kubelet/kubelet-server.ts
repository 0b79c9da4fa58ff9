/**
 * The kubelet's own endpoints: /configz, /healthz, /metrics and /pods over TLS on its port, the same without secrets on
 * the read-only port, and /healthz alone on the healthz port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { KubeletConfig } from '../../config/model.js';
import type { Log } from '../../log.js';
import { configz } from './configz.js';
import type { ServingCertificate } from './serving-certificate.js';

export interface Caller {
  /** Common name and organizations of a certificate signed by clientCAFile. */
  certificate?: { name: string; groups: string[] };
  bearer?: string;
}

export interface KubeletServerOptions {
  config: KubeletConfig;
  certificate: ServingCertificate;
  /** PEM of clientCAFile; undefined: certificates are ignored. */
  clientCa: string | undefined;
  isHealthy(): boolean;
  /** Undefined allows the request; else the status and text of the rejection. */
  checkAccess(caller: Caller, method: string, path: string): Promise<{ status: number; text: string } | undefined>;
  metrics(): string;
  log: Log;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Rejects with the kubelet's message when a port is taken: `listen tcp 0.0.0.0:10250: bind: address already in use`. */
export async function startKubeletServers(options: KubeletServerOptions): Promise<() => Promise<void>> {
  const { config, certificate, clientCa, log } = options;
  const address = String(config.address || '0.0.0.0');
  const serve = answer(options);
  const guarded: Handler = (request, response) => {
    const path = pathOf(request);
    options.checkAccess(callerOf(request), request.method ?? 'GET', path).then(
      (rejection) =>
        rejection === undefined ? serve(request, response) : text(response, rejection.status, rejection.text),
      (error) => text(response, 500, `Authorization error (${(error as Error).message})\n`),
    );
  };
  const tls = createTlsServer(
    {
      ...certificate,
      requestCert: clientCa !== undefined,
      rejectUnauthorized: false,
      ...(clientCa && { ca: clientCa }),
    },
    guarded,
  );
  const closing: Server[] = [];
  const open = async (server: Server, host: string, port: number) => {
    await listen(server, host, port);
    closing.push(server);
  };
  try {
    if (config.enableServer !== false) await open(tls as unknown as Server, address, Number(config.port));
    if (Number(config.readOnlyPort) > 0) await open(createServer(serve), address, Number(config.readOnlyPort));
  } catch (error) {
    await closeAll(closing);
    throw error;
  }
  if (Number(config.healthzPort) > 0) {
    const host = String(config.healthzBindAddress || '127.0.0.1');
    // Not fatal, as in the kubelet.
    await open(createServer(health(options)), host, Number(config.healthzPort)).catch((error) =>
      log.error('Failed to start healthz server', { error }),
    );
  }
  return () => closeAll(closing);
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'bind: address already in use'
          : error.code === 'EADDRNOTAVAIL'
            ? 'bind: cannot assign requested address'
            : error.code === 'EACCES'
              ? 'bind: permission denied'
              : error.message;
      const where = host.includes(':') ? `[${host}]` : host;
      reject(new Error(`listen tcp ${where}:${port}: ${why}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

function closeAll(servers: Server[]): Promise<void> {
  const closed = servers.map(
    (server) =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return Promise.all(closed).then(() => {});
}

function answer(options: KubeletServerOptions): Handler {
  const healthz = health(options);
  return (request, response) => {
    const path = pathOf(request);
    if (path.startsWith('/healthz')) healthz(request, response);
    else if (path === '/configz') json(response, configz(options.config));
    else if (path === '/pods') json(response, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] });
    else if (path === '/metrics') text(response, 200, options.metrics(), 'text/plain; version=0.0.4; charset=utf-8');
    else text(response, 404, '404 page not found\n');
  };
}

function health({ isHealthy }: KubeletServerOptions): Handler {
  return (request, response) => {
    const path = pathOf(request);
    if (path !== '/healthz' && path !== '/healthz/ping' && path !== '/healthz/syncloop')
      return text(response, 404, '404 page not found\n');
    if (path === '/healthz/ping' || isHealthy()) return text(response, 200, 'ok');
    text(response, 500, '[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n');
  };
}

const pathOf = (request: IncomingMessage) => (request.url ?? '/').split('?')[0]!;

function callerOf(request: IncomingMessage): Caller {
  const socket = request.socket as TLSSocket;
  const caller: Caller = {};
  const [scheme, bearer] = (request.headers.authorization ?? '').split(' ', 2);
  if (scheme?.toLowerCase() === 'bearer' && bearer) caller.bearer = bearer;
  if (!socket.authorized) return caller;
  const { subject } = socket.getPeerCertificate();
  if (!subject?.CN) return caller;
  return { ...caller, certificate: { name: String(subject.CN), groups: [subject.O ?? []].flat().map(String) } };
}

function json(response: ServerResponse, body: unknown): void {
  text(response, 200, JSON.stringify(body), 'application/json');
}

function text(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
