/** url(): absolute URLs and absolute paths, taken apart as Go does. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import type { Comparable } from '../equality.js';

const type = 'kubernetes.URL';

interface Parts {
  scheme: string;
  host: string;
  path: string;
  query: string;
}

class UrlValue implements Comparable {
  constructor(
    readonly text: string,
    readonly parts: Parts,
  ) {}

  isSame(other: unknown): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
}

export function declareUrl(environment: Environment): void {
  environment
    .registerType(type, UrlValue)
    .registerFunction('isURL(string): bool', (text: string) => parse(text) !== undefined)
    .registerFunction(`url(string): ${type}`, (text: string) => {
      const parts = parse(text);
      if (parts === undefined) throw new EvaluationError(`URL parse error during conversion from string: ${text}`);
      return new UrlValue(text, parts);
    })
    .registerOperator(`${type} == ${type}`, (a: UrlValue, b: UrlValue) => a.isSame(b))
    .registerFunction(`${type}.getScheme(): string`, ({ parts }: UrlValue) => parts.scheme)
    .registerFunction(`${type}.getHost(): string`, ({ parts }: UrlValue) => parts.host)
    .registerFunction(`${type}.getHostname(): string`, ({ parts }: UrlValue) => splitPort(parts.host)[0])
    .registerFunction(`${type}.getPort(): string`, ({ parts }: UrlValue) => splitPort(parts.host)[1])
    .registerFunction(`${type}.getEscapedPath(): string`, ({ parts }: UrlValue) => escapePath(parts.path))
    .registerFunction(`${type}.getQuery(): map<string, list<string>>`, ({ parts }: UrlValue) => {
      const values = new Map<string, string[]>();
      for (const [key, value] of new URLSearchParams(parts.query)) values.set(key, [...(values.get(key) ?? []), value]);
      return values;
    });
}

/** Undefined for what is no absolute URL and no absolute path. */
function parse(text: string): Parts | undefined {
  // A fragment has no meaning in a request: Go leaves it in the path.
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*)$/s.exec(text) ?? [];
  if (rest === '' || /[\x00-\x1f\x7f ]/.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  if (scheme === '' && !rest.startsWith('/')) return undefined;
  if (!rest.startsWith('/')) return { scheme: scheme.toLowerCase(), host: '', path: '', query: '' };
  const [beforeQuery = '', ...query] = rest.split('?');
  const hasHost = beforeQuery.startsWith('//');
  if (hasHost && scheme === '') return { scheme: '', host: '', path: beforeQuery, query: query.join('?') };
  const slash = hasHost ? beforeQuery.indexOf('/', 2) : 0;
  const authority = hasHost ? beforeQuery.slice(2, slash === -1 ? undefined : slash) : '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (!isHost(host)) return undefined;
  const path = slash === -1 ? '' : beforeQuery.slice(slash);
  return { scheme: scheme.toLowerCase(), host, path, query: query.join('?') };
}

function isHost(host: string): boolean {
  return /^(?:\[[0-9A-Fa-f:.%]*\]|[^[\]:<>"\\^`{|}]*)(?::\d*)?$/.test(host);
}

function splitPort(host: string): [string, string] {
  const [, name = host, port = ''] = /^(.*?)(?::(\d*))?$/s.exec(host) ?? [];
  return [name.startsWith('[') ? name.slice(1, -1) : name, port];
}

function escapePath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@!'()*%]/gu, (char) => encodeURIComponent(char));
}
