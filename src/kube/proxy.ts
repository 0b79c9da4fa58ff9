/**
 * Which proxy to use for a server (proxy-url, or the environment as Go reads it), and a tunnel through it. SOCKS5 is
 * supported because the Kubernetes documentation recommends it for clusters behind a bastion host.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';
import { KubeconfigError } from './kubeconfig.js';
import { connectThroughSocks5 } from './socks5.js';

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
  if (url === undefined || !['http:', 'https:', 'socks5:', 'socks5h:'].includes(url.protocol))
    throw new KubeconfigError(
      `proxy "${text}" is not an http, https or socks5 URL; correct proxy-url in the kubeconfig, or HTTPS_PROXY`,
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
export function tunnel(proxy: URL, host: string, port: number): Promise<Socket> {
  if (proxy.protocol.startsWith('socks5')) return connectThroughSocks5(proxy, host, port);
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
