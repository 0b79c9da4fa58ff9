/** Metrics in the Prometheus text format, and the HTTP server that serves them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Log } from './log.js';

/** One sample. The samples of one metric follow each other and have the same type and help. */
export interface Metric {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  help: string;
  value: number;
  labels?: Record<string, string>;
  /** Suffix for a sample of a histogram. */
  suffix?: '_bucket' | '_sum' | '_count';
}

export function renderMetrics(metrics: Iterable<Metric>): string {
  const lines: string[] = [];
  let named = '';
  for (const { name, type, help, value, labels = {}, suffix = '' } of metrics) {
    if (name !== named) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    named = name;
    lines.push(`${name}${suffix}${renderLabels(labels)} ${value}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function renderLabels(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escapeLabel)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`;
}

export interface BindAddress {
  /** Empty: all addresses of the machine. */
  host: string;
  port: number;
}

/** HOST:PORT, [IPV6]:PORT, or :PORT for all addresses. Undefined for anything else. */
export function parseBindAddress(text: string): BindAddress | undefined {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) return undefined;
  return { host: bracketed ?? plain, port: Number(port) };
}

export interface MetricsServerOptions extends BindAddress {
  /** Answers by path, such as /metrics. */
  paths: Record<string, () => string>;
  /** Over TLS, to those who may. */
  secure?: SecureOptions;
  log: Log;
  signal: AbortSignal;
}

export interface SecureOptions {
  /** In PEM. Read for each connection, because certificates are rotated; throws if there is none yet. */
  certificate(): { cert: string; key: string };
  /** The status code for the owner of this token; 200 lets them in. */
  check(token: string | undefined, path: string): Promise<number>;
}

/** Serves until the signal fires; returns the port. Failing to listen is logged and is not an error: metrics are optional. */
export async function serveMetrics(options: MetricsServerOptions): Promise<number | undefined> {
  const { host, port, log, signal, secure } = options;
  const handler = (request: IncomingMessage, response: ServerResponse) => void answer(options, request, response);
  const server = secure ? createTlsServer({ handshakeTimeout: 5000 }, handler) : createServer(handler);
  if (secure)
    // Before the listener that starts TLS on the connection.
    server.prependListener('connection', (socket: Socket) => {
      try {
        (server as TlsServer).setSecureContext(secure.certificate());
      } catch (error) {
        log.warn('metrics: no serving certificate, connection closed', { error });
        socket.destroy();
      }
    });
  // One scraper and one person: more connections than this are a mistake or an attack.
  server.maxConnections = 16;
  server.headersTimeout = 5000;
  server.requestTimeout = 5000;
  return new Promise((resolve) => {
    server.once('error', (error) => {
      log.warn('metrics are not served', { host, port, error });
      resolve(undefined);
    });
    server.listen({ port, ...(host !== '' && { host }) }, () => resolve((server.address() as AddressInfo).port));
    signal.addEventListener('abort', () => {
      server.close();
      server.closeAllConnections();
    });
  });
}

const problems: Record<number, string> = {
  401: 'a bearer token that the API server knows is needed',
  403: "the owner of this token may not 'get' this path: grant it, for example with the ClusterRole relet:metrics-reader",
  429: 'too many unknown tokens were sent, try again in a minute',
  503: 'the API server cannot be asked who may read this',
};

async function answer(
  { paths, secure }: MetricsServerOptions,
  { method, url: path = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [scheme, token] = (headers.authorization ?? '').split(' ', 2);
  const code = (await secure?.check(scheme?.toLowerCase() === 'bearer' ? token : undefined, path)) ?? 200;
  const found = code === 200 && method === 'GET' && Object.hasOwn(paths, path) ? paths[path] : undefined;
  const status = found === undefined && code === 200 ? 404 : code;
  response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
  response.end(found?.() ?? `${problems[status] ?? `not found, try ${Object.keys(paths).join(' or ')}`}\n`);
}
