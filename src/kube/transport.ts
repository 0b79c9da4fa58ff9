/**
 * The network transport: one HTTP/1.1 connection pool to the server. When certificates change, a new pool is opened, and running
 * requests finish on the old one. Uses an HTTP proxy if one is configured (proxy-url, or the environment as Go reads it).
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, connect as tlsConnect } from 'node:tls';
import type { TlsMaterial } from './identity.js';
import { KubeconfigError } from './kubeconfig.js';

export interface HttpRequest {
  method: string;
  url: URL;
  headers: Record<string, string | string[]>;
  body?: string;
  tls: TlsMaterial;
  proxyUrl?: string | undefined;
  readonly signal?: AbortSignal;
}

/** The server could not be reached, or the connection broke. `cause` has the socket's error. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
  /** The code of the socket or TLS error, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
  readonly code: string;
  constructor(what: string, cause: NodeJS.ErrnoException) {
    super(`${what}: ${explain(cause)}`, { cause });
    this.code = cause.code ?? '';
  }
}

/** The head of an answer, and its body as it arrives. */
export interface HttpResponse extends AsyncIterable<Buffer>, Pick<IncomingMessage, 'statusCode' | 'headers'> {
  /** Ends the connection; who reads the body gets the error. */
  destroy(error?: Error): void;
  /** The body is not read. */
  resume(): void;
  /** The body, where all of it is there already: it is then not read in another way. */
  takeWhole?(): Buffer | undefined;
}

export interface Transport {
  /** Resolves with the head of the answer; the caller reads or destroys the body. */
  open(request: HttpRequest): Promise<HttpResponse>;
  /** Closes idle connections; those in use close with their request. */
  close(): void;
}

// TCP probes detect half-open connections: one each second after this time, and the tenth without an answer closes it.
const defaultKeepAliveMs = 30_000;

export function createTransport(
  env: Record<string, string | undefined> = {},
  tcpKeepAliveMs = defaultKeepAliveMs,
): Transport {
  let pool: { tls: TlsMaterial; origin: string; proxy: string; agent: HttpAgent } | undefined;

  const agentFor = (request: HttpRequest, proxy: URL | undefined): HttpAgent => {
    const { tls, url } = request;
    const proxyKey = proxy?.href ?? '';
    if (pool && pool.origin === url.origin && pool.proxy === proxyKey && sameTls(pool.tls, tls)) return pool.agent;
    const agent =
      url.protocol === 'https:'
        ? httpsAgent(tls, proxy, url, tcpKeepAliveMs)
        : new HttpAgent(agentOptions(tcpKeepAliveMs));
    retire(pool?.agent);
    pool = { tls, origin: url.origin, proxy: proxyKey, agent };
    return agent;
  };
  return {
    open(request) {
      const proxy = proxyFor(request.url, request.proxyUrl, env);
      return send(request, agentFor(request, proxy), proxy, tcpKeepAliveMs);
    },
    close: () => retire(pool?.agent),
  };
}

function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  return (['ca', 'cert', 'key', 'serverName', 'insecure'] as const).every((field) => a[field] === b[field]);
}

function retire(agent: HttpAgent | undefined): void {
  if (agent === undefined) return;
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

const agentOptions = (keepAliveMsecs: number) => ({ keepAlive: true, keepAliveMsecs, maxFreeSockets: 8 });

function httpsAgent(tls: TlsMaterial, proxy: URL | undefined, url: URL, tcpKeepAliveMs: number): HttpsAgent {
  const options: AgentOptions = {
    ...agentOptions(tcpKeepAliveMs),
    rejectUnauthorized: !tls.insecure,
    ...(tls.serverName && { servername: tls.serverName }),
    // Parsed once here, not once per connection.
    secureContext: secureContext(tls, url),
  };
  const agent = new HttpsAgent(options);
  if (proxy) throughTunnel(agent, proxy, (options, socket) => tlsConnect({ ...options, socket }));
  return agent;
}

function secureContext({ ca, cert, key }: TlsMaterial, url: URL): SecureContext {
  try {
    return createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
  } catch (cause) {
    // Also happens while a certificate and its key are replaced one after the other.
    throw new KubeconfigError(`use certificate, key and authority for ${url.origin}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

type HostAndPort = { host: string; port: number };
type Connector = { createConnection(options: HostAndPort, done: (error: Error | null, socket?: Duplex) => void): void };

function throughTunnel(agent: HttpAgent, proxy: URL, wrap: (options: HostAndPort, socket: Duplex) => Duplex): void {
  (agent as unknown as Connector).createConnection = (options, done) => {
    tunnel(proxy, options.host, Number(options.port)).then(
      (socket) => done(null, wrap(options, socket)),
      (error) => done(error),
    );
  };
}

function send(
  request: HttpRequest,
  agent: HttpAgent,
  proxy: URL | undefined,
  tcpKeepAliveMs: number,
): Promise<IncomingMessage> {
  const { method, url, headers, body, signal } = request;
  // Plain http through a plain proxy is requested by its absolute URL, not through a tunnel.
  const viaProxy = url.protocol === 'http:' && proxy?.protocol === 'http:' ? proxy : undefined;
  const peer = viaProxy ?? url;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const sent = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
      method,
      host: peer.hostname.replace(/^\[|\]$/g, ''),
      port: peer.port || (peer.protocol === 'https:' ? 443 : 80),
      path: viaProxy ? url.href : `${url.pathname}${url.search}`,
      headers: { host: url.host, ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
      agent,
    });
    const onAbort = () => sent.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal?.addEventListener('abort', onAbort, { once: true });
    sent.on('socket', (socket) => socket.setKeepAlive(true, tcpKeepAliveMs));
    sent.on('close', () => signal?.removeEventListener('abort', onAbort));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) return reject(signal.reason);
      // The server had already closed the reused connection. Only reads are safe to repeat.
      if (sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') && method === 'GET')
        return send(request, agent, proxy, tcpKeepAliveMs).then(resolve, reject);
      reject(new ConnectionError(`${method} ${url.origin}${url.pathname}`, error));
    });
    sent.on('response', resolve);
    sent.end(body);
  });
}

function explain(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'connection refused: nothing listens there, or it is still starting';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `host name not resolved (${error.code}): check the server address and DNS`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `certificate signed by an unknown authority (${error.code}): check certificate-authority in the kubeconfig`;
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `${error.message} (${error.code}): check the clock of both sides and the certificate's dates`;
    default:
      return error.message || error.code || 'connection failed';
  }
}

/** The proxy for a server, or undefined. An explicit proxy-url wins; the environment never applies to loopback. */
export function proxyFor(
  server: URL,
  proxyUrl: string | undefined,
  env: Record<string, string | undefined>,
): URL | undefined {
  if (proxyUrl) return parseProxy(proxyUrl);
  const host = bare(server.hostname);
  if (host === 'localhost' || host === '::1' || /^127\./.test(host)) return undefined;
  const either = (name: string) => env[name.toUpperCase()] || env[name];
  const fromEnv = either(server.protocol === 'https:' ? 'https_proxy' : 'http_proxy');
  if (!fromEnv || bypassed(server, either('no_proxy') ?? '')) return undefined;
  return parseProxy(fromEnv.includes('://') ? fromEnv : `http://${fromEnv}`);
}

function parseProxy(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new KubeconfigError(
      `proxy "${text}" is not an http or https URL; correct proxy-url in the kubeconfig, or HTTPS_PROXY`,
    );
  return url;
}

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '').toLowerCase();

/** NO_PROXY as Go reads it: `*`, names with their subdomains, `.name` for subdomains only, addresses, CIDRs, each with an optional port. */
export function bypassed(server: URL, noProxy: string): boolean {
  const host = bare(server.hostname);
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  return noProxy
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== '')
    .some((item) => {
      if (item === '*') return true;
      if (item.includes('/')) return inRange(host, item);
      const [, name, onlyPort] = /^(\[[^\]]*\]|[^:]*|[0-9a-f:]*:[0-9a-f:]*:[0-9a-f:]*)(?::(\d+))?$/.exec(item) ?? [];
      if (name === undefined || (onlyPort !== undefined && onlyPort !== port)) return false;
      if (isIP(bare(name))) return bare(name) === host;
      const suffix = name.replace(/^\*?\./, '');
      return host.endsWith(`.${suffix}`) || (host === suffix && suffix === name);
    });
}

function inRange(host: string, cidr: string): boolean {
  const [net = '', bits = ''] = cidr.split('/');
  const family = isIP(net);
  if (family === 0 || isIP(host) !== family || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return false;
  const list = new BlockList();
  list.addSubnet(net, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** A raw connection to host:port through the proxy. */
function tunnel(proxy: URL, host: string, port: number): Promise<Socket> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const failed = (why: string) => reject(new Error(`proxy ${proxy.host}: CONNECT ${target}: ${why}`));
    const request = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
      host: bare(proxy.hostname),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: target,
      agent: false,
      headers: { host: target, ...proxyAuthorization(proxy) },
      timeout: 30_000,
    });
    request.on('connect', (response, socket) => {
      if (response.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      failed(`${response.statusCode} ${response.statusMessage}`);
    });
    request.on('response', (response) => {
      response.destroy();
      failed(`${response.statusCode} ${response.statusMessage}`);
    });
    request.on('timeout', () => request.destroy(new Error('no answer in 30 s')));
    request.on('error', (error) => failed(error.message));
    request.end();
  });
}

function proxyAuthorization(proxy: URL): Record<string, string> {
  if (!proxy.username && !proxy.password) return {};
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
