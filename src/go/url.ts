/** Error messages of Go's url.Parse for an invalid address. */
import { quote } from './quote.js';

/** The text of url.Parse's error; undefined when it reads the address. */
export function goUrlError(address: string): string | undefined {
  const [url, fragment] = cut(address, '#');
  // Go names the address without its fragment, unless the fragment is what is wrong.
  const error = urlError(url);
  if (error !== undefined) return `parse ${quote(url)}: ${error}`;
  const inFragment = fragment === undefined ? undefined : escapeError(fragment);
  return inFragment === undefined ? undefined : `parse ${quote(address)}: ${inFragment}`;
}

/** In lower case; '' when there is none. */
export function schemeOf(address: string): string {
  return /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(address)?.[1]?.toLowerCase() ?? '';
}

function urlError(url: string): string | undefined {
  if (/[\x00-\x1f\x7f]/.test(url)) return 'net/url: invalid control character in URL';
  if (url.startsWith(':')) return 'missing protocol scheme';
  const scheme = schemeOf(url);
  const [rest] = cut(scheme === '' ? url : url.slice(scheme.length + 1), '?');
  if (!rest.startsWith('/')) {
    const isColonFirst = scheme === '' && cut(rest, '/')[0].includes(':');
    return isColonFirst ? 'first path segment in URL cannot contain colon' : undefined;
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'));
  const slash = hasAuthority ? rest.indexOf('/', 2) : 0;
  const authority = hasAuthority ? rest.slice(2, slash < 0 ? undefined : slash) : '';
  return authorityError(authority) ?? escapeError(slash < 0 ? '' : rest.slice(slash));
}

function authorityError(authority: string): string | undefined {
  const at = authority.lastIndexOf('@');
  const error = hostAndPortError(authority.slice(at + 1));
  if (error !== undefined || at < 0) return error;
  const user = authority.slice(0, at);
  return /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) ? escapeError(user) : 'net/url: invalid userinfo';
}

function hostAndPortError(host: string): string | undefined {
  if (host.startsWith('[')) {
    const end = host.lastIndexOf(']');
    if (end < 0) return "missing ']' in host";
    return portError(host.slice(end + 1)) ?? hostError(host.slice(1, end));
  }
  const colon = host.lastIndexOf(':');
  return (colon < 0 ? undefined : portError(host.slice(colon))) ?? hostError(host);
}

function portError(port: string): string | undefined {
  return port === '' || /^:\d*$/.test(port) ? undefined : `invalid port ${quote(port)} after host`;
}

/** Hosts may not have escapes of plain characters, nor blanks and some punctuation. */
function hostError(host: string): string | undefined {
  for (const [, escaped] of host.matchAll(/(%.{0,2})/gs)) {
    if (!/^%[0-9A-Fa-f]{2}$/.test(escaped!) || (Number.parseInt(escaped!.slice(1), 16) < 0x80 && escaped !== '%25'))
      return `invalid URL escape ${quote(escaped!)}`;
  }
  const bad = /[ #\\^`{}|]/.exec(host);
  return bad === null ? undefined : `invalid character ${quote(bad[0])} in host name`;
}

function escapeError(text: string): string | undefined {
  for (const [, escaped] of text.matchAll(/(%.{0,2})/gs))
    if (!/^%[0-9A-Fa-f]{2}$/.test(escaped!)) return `invalid URL escape ${quote(escaped!)}`;
  return undefined;
}

function cut(text: string, separator: string): [before: string, after?: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
