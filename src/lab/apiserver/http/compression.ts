/**
 * gzip for large responses, for clients that accept it: with the threshold and level of Kubernetes. Watches are never
 * compressed.
 */
import { createGzip, gzipSync } from 'node:zlib';
import type { Exchange, ResponseHeaders, ResponseStream } from './exchange.js';

const thresholdBytes = 128 << 10;
const level = 1;
const zippedHeaders = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' };

function acceptsGzip(exchange: Exchange): boolean {
  const accepted = exchange.header('accept-encoding') ?? '';
  return accepted.split(',').some((encoding) => encoding.trim() === 'gzip');
}

/** Sends a whole response, compressed where it is large and the client accepts that. */
export function respondCompact(
  exchange: Exchange,
  code: number,
  headers: ResponseHeaders,
  body: Buffer | string,
): void {
  // A character is at least a byte: short strings need not be measured.
  const isLarge = body.length > thresholdBytes;
  if (!isLarge || !acceptsGzip(exchange)) exchange.respond(code, headers, body);
  else exchange.respond(code, { ...headers, ...zippedHeaders }, gzipSync(body, { level }));
}

/** Begins a large streamed response. */
export function streamCompact(exchange: Exchange, code: number, headers: ResponseHeaders): ResponseStream {
  if (!acceptsGzip(exchange)) return exchange.stream(code, headers);
  const out = exchange.stream(code, { ...headers, ...zippedHeaders });
  const gzip = createGzip({ level });
  gzip.on('data', (chunk: Buffer) => {
    if (out.write(chunk)) return;
    gzip.pause();
    out.onDrain(() => gzip.resume());
  });
  gzip.on('end', () => out.end());
  exchange.onClose(() => gzip.destroy());
  return {
    write: (chunk) => gzip.write(chunk),
    onDrain: (listener) => void gzip.once('drain', listener),
    end: (chunk) => void (chunk === undefined ? gzip.end() : gzip.end(chunk)),
    destroy() {
      gzip.destroy();
      out.destroy();
    },
  };
}
