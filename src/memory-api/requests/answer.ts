/** Responses for paths that are not resources: JSON, text, and cached documents. */
import { createHash } from 'node:crypto';
import type { Exchange } from './exchange.js';

const json = { 'content-type': 'application/json' };
const text = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };

export function answerJson(exchange: Exchange, code: number, body: unknown): void {
  exchange.respond(code, json, `${JSON.stringify(body)}\n`);
}

export function answerText(exchange: Exchange, code: number, body: string): void {
  exchange.respond(code, text, body);
}

/** The 404 of Go's mux; clients distinguish it from a missing object by its form. */
export function answerPageNotFound(exchange: Exchange): void {
  answerText(exchange, 404, '404 page not found\n');
}

/** Built on first use and again after `version` changed: large documents cost nothing until they are requested. */
export class CachedDocument {
  #built: { version: number; bytes: Buffer; etag: string } | undefined;

  constructor(
    private readonly version: () => number,
    private readonly build: () => unknown,
  ) {}

  get(): { bytes: Buffer; etag: string } {
    const version = this.version();
    if (this.#built?.version !== version) {
      const built = this.build();
      const bytes = Buffer.isBuffer(built) ? built : Buffer.from(JSON.stringify(built));
      this.#built = { version, bytes, etag: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
    }
    return this.#built;
  }
}

/** With an ETag: a client that has the document already gets 304. */
export function answerBytes(exchange: Exchange, contentType: string, document: CachedDocument): void {
  const { bytes, etag } = document.get();
  const quoted = `"${etag}"`;
  const headers = { etag: quoted, vary: 'Accept', 'cache-control': 'no-cache, private' };
  const known = (exchange.header('if-none-match') ?? '').split(',').map((entry) => entry.trim().replace(/^W\//, ''));
  if (known.includes(quoted) || known.includes('*')) exchange.respond(304, headers, '');
  else exchange.respond(200, { ...headers, 'content-type': contentType }, bytes);
}
