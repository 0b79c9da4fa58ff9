/**
 * Checks that a request comes from the dashboard's own page: Host, Origin, CSRF token, cookie. A browser sends cookies also with
 * requests of other sites, and a foreign name may resolve to a loopback address. Pure.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** A name without its port; the brackets of an IPv6 address stay. */
export const hostName = (host: string): string => host.replace(/:\d+$/, '').toLowerCase();

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopbackAddress = (address: string): boolean =>
  /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+|localhost)$/.test(address);

/** On a loopback address only loopback names: else a page of evil.example, whose name points here, could read everything. */
export function isAllowedHost(
  host: string | undefined,
  { isLoopback, allowed }: { isLoopback: boolean; allowed: readonly string[] },
): boolean {
  if (host === undefined) return false;
  const name = hostName(host);
  if (allowed.includes(name)) return true;
  return isLoopback ? loopbackNames.has(name) : allowed.length === 0;
}

/** Addresses and networks such as 10.0.0.0/8. Undefined: one of them is not such. */
export function proxiesOf(list: readonly string[]): BlockList | undefined {
  const proxies = new BlockList();
  for (const one of list) {
    const [address = '', prefix, ...more] = one.split('/');
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    const bits = prefix === undefined ? most : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (version === 0 || !(bits <= most) || more.length > 0) return undefined;
    proxies.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  }
  return proxies;
}

/** An IPv4 peer of a socket for both kinds is written as IPv6. */
export function isProxy(proxies: BlockList, peer = ''): boolean {
  const address = peer.replace(/^::ffff:/, '');
  const version = isIP(address);
  return version !== 0 && proxies.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** Sec-Fetch-Site where the browser sends it; else the Origin, which must be of this very host. A program sends neither. */
export function isOwnOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (origin === undefined) return true;
  try {
    return new URL(origin).host === host?.toLowerCase();
  } catch {
    return false;
  }
}

export function isSame(expected: string, given: string | undefined): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given ?? '')];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Cookies are not kept apart by port, so that of a dashboard on another port of this host has another name. */
export function cookieName(host: string | undefined): string {
  const port = /:(\d+)$/.exec(host ?? '')?.[1];
  return port === undefined ? 'relet-session' : `relet-session-${port}`;
}

export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    if (part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

export interface CookieOptions {
  name: string;
  basePath: string;
  isSecure: boolean;
}

/** An empty value removes it. */
export function sessionCookie(value: string, { name, basePath, isSecure }: CookieOptions): string {
  const parts = [`${name}=${value}`, `Path=${basePath}`, 'HttpOnly', 'SameSite=Strict'];
  if (isSecure) parts.push('Secure');
  if (value === '') parts.push('Max-Age=0');
  return parts.join('; ');
}

/** Over TLS here, or at a proxy in front. A client that forges the header affects only its own cookie. */
export const isSecure = (headers: IncomingHttpHeaders, isTls: boolean): boolean =>
  isTls || headers['x-forwarded-proto'] === 'https';
