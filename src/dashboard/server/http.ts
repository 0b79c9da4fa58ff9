/** HTTP parts of the dashboard's server: bounded request bodies, JSON responses, and the security headers of every response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { badRequest, RequestProblem } from './problem.js';

/** All content comes from the page's own server; there is no inline script and no inline style. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

export function setSecurityHeaders(response: ServerResponse): void {
  response.setHeader('content-security-policy', contentSecurityPolicy);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'same-origin');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('cache-control', 'no-store');
}

/** Quantities are bigints in memory. */
export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? Number(part) : part));

/** JSON that a child process has written already. */
export class JsonText<T> {
  constructor(readonly text: string) {}

  read(): T {
    return JSON.parse(this.text) as T;
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(value instanceof JsonText ? value.text : asJson(value));
}

/** A manifest of a set with a whole config in it; a ConfigMap cannot be larger. */
const mostBodyBytes = 1024 * 1024;

/** An object; throws a problem for anything else. */
export async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    throw new RequestProblem(415, { reason: 'UnsupportedMediaType', message: 'The body must be application/json.' });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBodyBytes)
      throw new RequestProblem(413, { reason: 'TooLarge', message: 'The body is larger than 1 MiB.' });
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}');
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('The body must be a JSON object.');
  return value as Record<string, unknown>;
}
