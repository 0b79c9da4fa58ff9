/** Headers that a proxy forwards: neither those of one connection nor credentials. */

type Headers = Record<string, string | string[] | undefined>;

const ofOneConnection = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
]);
/** Credentials: the server has checked them and uses its own. */
const identity = /^(authorization|cookie|impersonate-.*|x-remote-.*)$/;

export interface Forwarded {
  remoteAddress: string;
  /** The path of the request as the client sent it. */
  uri: string;
}

export function requestHeaders(headers: Headers, { remoteAddress, uri }: Forwarded): Record<string, string | string[]> {
  const passed = filtered(headers, (name) => identity.test(name) || name === 'host' || name === 'expect');
  const before = passed['x-forwarded-for'];
  return {
    ...passed,
    'x-forwarded-for': before === undefined ? remoteAddress : `${[before].flat().join(', ')}, ${remoteAddress}`,
    'x-forwarded-uri': uri,
    'x-forwarded-proto': 'https',
    ...(typeof headers.host === 'string' ? { 'x-forwarded-host': headers.host } : {}),
  };
}

/** A redirect to a path of the kubelet becomes one to the same path behind the proxy. */
export function responseHeaders(headers: Headers, origin: string, prefix: string): Record<string, string | string[]> {
  const passed = filtered(headers, () => false);
  const { location } = passed;
  if (typeof location !== 'string') return passed;
  if (location.startsWith('/') && !location.startsWith('//')) return { ...passed, location: `${prefix}${location}` };
  if (location.startsWith(`${origin}/`)) return { ...passed, location: `${prefix}${location.slice(origin.length)}` };
  return passed;
}

function filtered(headers: Headers, isPrivate: (name: string) => boolean): Record<string, string | string[]> {
  const named = new Set(
    [headers.connection ?? []]
      .flat()
      .flatMap((value) => value.split(','))
      .map((name) => name.trim().toLowerCase()),
  );
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (
      value !== undefined &&
      !name.startsWith(':') &&
      !ofOneConnection.has(name) &&
      !named.has(name) &&
      !isPrivate(name)
    )
      passed[name] = value;
  return passed;
}
