/**
 * nodes/NAME/proxy/…: forwards a request to the node's kubelet and streams its response back. The server uses
 * its own client certificate; the kubelet's certificate is checked only where an authority is given, as in
 * kube-apiserver. Connections cannot be upgraded (exec, port-forward) through it.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIPv6 } from 'node:net';
import type { KubeObject } from '../../../api/object.js';
import type { Clock } from '../../../clock.js';
import type { RequestInfo } from '../../../memory-api/requests/request-info.js';
import { methodNotAllowed, notFound, serviceUnavailable } from '../../../memory-api/status-error.js';
import type { PeerExchange } from '../http/peer-exchange.js';
import { findTarget, type NodeTarget, parseNodeId, type TargetOptions } from './node-target.js';
import { requestHeaders, responseHeaders } from './proxy-headers.js';

export interface NodeProxyOptions extends TargetOptions {
  findNode(name: string): KubeObject | undefined;
  /** The server's client certificate for kubelets. */
  client: { cert: string; key: string };
  /** PEM of the authority that signed the kubelets' certificates. Default: not checked. */
  kubeletCa?: string;
  clock: Pick<Clock, 'sleep'>;
  /** How long to wait for a connection. Default 30 000. */
  connectTimeoutMs?: number;
}

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

export class NodeProxy {
  private readonly kubelets: HttpsAgent;
  private readonly others = {
    https: new HttpsAgent({ keepAlive: true, timeout: 60_000, rejectUnauthorized: false }),
    http: new HttpAgent({ keepAlive: true, timeout: 60_000 }),
  };

  constructor(private readonly options: NodeProxyOptions) {
    const { client, kubeletCa } = options;
    const trust = kubeletCa === undefined ? { rejectUnauthorized: false } : { ca: kubeletCa };
    this.kubelets = new HttpsAgent({ keepAlive: true, timeout: 60_000, ...client, ...trust });
  }

  async handle(exchange: PeerExchange, info: Pick<RequestInfo, 'name' | 'rest'>): Promise<void> {
    if (!methods.has(exchange.method)) throw methodNotAllowed();
    const { name } = parseNodeId(info.name);
    const node = this.options.findNode(name);
    if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, name);
    const target = await findTarget(node, info.name, this.options);
    // Relative links on a page need the slash, or they would bypass the proxy.
    if (info.rest === '' && !exchange.path.endsWith('/') && (exchange.method === 'GET' || exchange.method === 'HEAD'))
      return exchange.respond(301, { location: `${exchange.path}/${exchange.search && `?${exchange.search}`}` }, '');
    await this.pass(exchange, target, info.rest);
  }

  /** Drops idle connections to kubelets. */
  close(): void {
    for (const agent of [this.kubelets, this.others.https, this.others.http]) agent.destroy();
  }

  private async pass(exchange: PeerExchange, target: NodeTarget, rest: string): Promise<void> {
    const answer = await this.send(exchange, target, rest).catch((error: Error) => {
      throw serviceUnavailable(`error trying to reach service: ${reachError(error, target)}`);
    });
    const prefix = rest === '' ? exchange.path.replace(/\/$/, '') : exchange.path.slice(0, -rest.length - 1);
    const origin = `${target.scheme}://${hostPort(target.host, target.port)}`;
    const stream = exchange.stream(answer.statusCode ?? 502, responseHeaders(answer.headers, origin, prefix));
    exchange.onClose(() => answer.destroy());
    answer.on('data', (chunk: Buffer) => {
      if (stream.write(chunk)) return;
      answer.pause();
      stream.onDrain(() => answer.resume());
    });
    answer.on('end', () => stream.end());
    // The kubelet's response broke off: it must not look complete to the client.
    answer.on('error', () => stream.destroy());
  }

  private send(exchange: PeerExchange, target: NodeTarget, rest: string): Promise<IncomingMessage> {
    const { scheme, address, host, port, isKubelet } = target;
    const headers = requestHeaders(exchange.headers(), { remoteAddress: exchange.remoteAddress, uri: exchange.path });
    return new Promise((resolve, reject) => {
      const request = (scheme === 'https' ? httpsRequest : httpRequest)({
        agent: isKubelet ? this.kubelets : this.others[scheme],
        host: address,
        port,
        method: exchange.method,
        path: `/${rest}${exchange.search && `?${exchange.search}`}`,
        headers: { ...headers, host: hostPort(host, port) },
      });
      const connected = new AbortController();
      this.options.clock.sleep(this.options.connectTimeoutMs ?? 30_000, connected.signal).then(
        () => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })),
        () => {},
      );
      request.on('socket', (socket) => {
        if (!socket.connecting) connected.abort();
        else socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => connected.abort());
      });
      request.on('close', () => connected.abort());
      request.on('response', resolve);
      request.on('error', reject);
      exchange.onClose(() => request.destroy());
      if (hasBody(exchange)) exchange.bodyStream().pipe(request);
      else request.end();
    });
  }
}

const hasBody = ({ method }: PeerExchange) => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';

const hostPort = (host: string, port: number) => `${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** Connection errors with the messages of kube-apiserver. */
function reachError(error: Error & { code?: string }, { address, port }: NodeTarget): string {
  const dial = `dial tcp ${hostPort(address, port)}`;
  const reasons: Record<string, string> = {
    ECONNREFUSED: `${dial}: connect: connection refused`,
    ETIMEDOUT: `${dial}: i/o timeout`,
    EHOSTUNREACH: `${dial}: connect: no route to host`,
    ENETUNREACH: `${dial}: connect: network is unreachable`,
    ECONNRESET: 'EOF',
  };
  return (error.code !== undefined && reasons[error.code]) || error.message;
}
