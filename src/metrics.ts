/** Metrics in the Prometheus text format, and the HTTP server that they are scraped from. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from './log.js';

/** One sample. The samples of one metric follow each other and have the same type and help. */
export interface Metric {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  help: string;
  value: number;
  labels?: Record<string, string>;
  /** Of a sample of a histogram. */
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
  /** What each path answers, such as /metrics. */
  paths: Record<string, () => string>;
  log: Log;
  signal: AbortSignal;
}

/** Serves until the signal fires; returns the port. Failing to listen is logged and is not an error: metrics are optional. */
export async function serveMetrics(options: MetricsServerOptions): Promise<number | undefined> {
  const { host, port, paths, log, signal } = options;
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const answer = request.method === 'GET' && Object.hasOwn(paths, path) ? paths[path] : undefined;
    response.writeHead(answer ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(answer?.() ?? `not found, try ${Object.keys(paths).join(' or ')}\n`);
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
