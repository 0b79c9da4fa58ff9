/** url(): the parts of absolute URLs and absolute paths, as Go reads them. */
import { type Environment, EvaluationError } from '@marcbachmann/cel-js';
import { type GoUrl, parseRequestUri } from '../../../../go/url.js';
import type { Comparable } from '../equality.js';

const type = 'kubernetes.URL';

class UrlValue implements Comparable {
  constructor(
    readonly text: string,
    readonly parts: GoUrl,
  ) {}

  isSame(other: unknown): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
}

export function declareUrl(environment: Environment): void {
  environment
    .registerType(type, UrlValue)
    .registerFunction('isURL(string): bool', (text: string) => parseRequestUri(text) !== undefined)
    .registerFunction(`url(string): ${type}`, (text: string) => {
      const parts = parseRequestUri(text);
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

function splitPort(host: string): [string, string] {
  const [, name = host, port = ''] = /^(.*?)(?::(\d*))?$/s.exec(host) ?? [];
  return [name.startsWith('[') ? name.slice(1, -1) : name, port];
}

function escapePath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@!'()*%]/gu, (char) => encodeURIComponent(char));
}
