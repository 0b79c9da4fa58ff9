/** An exchange over a socket, with node's objects of HTTP/1.1. */

import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { goQuery } from '../../../go/query.js';
import type { ResponseHeaders, ResponseStream } from '../../../memory-api/requests/exchange.js';
import { requestEntityTooLarge, timeout } from '../../../memory-api/status-error.js';
import type { Deadlines } from './deadlines.js';
import type { PeerExchange } from './peer-exchange.js';

/** Larger bodies are not converted to a string. */
const singleWriteBytes = 64 << 10;
/** Total length of warnings; more are dropped: old clients fail on large headers. */
const maxWarningBytes = 4096;

export class HttpExchange implements PeerExchange {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #bodyDeadlines: Deadlines;
  #query: URLSearchParams | undefined;
  #warnings: string[] = [];
  #warningBytes = 0;
  #body: Promise<Buffer> | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, bodyDeadlines: Deadlines) {
    this.#request = request;
    this.#response = response;
    this.#bodyDeadlines = bodyDeadlines;
    this.method = request.method ?? 'GET';
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.search = mark === -1 ? '' : url.slice(mark + 1);
    // An error on a half-closed connection is a client that disconnected, which 'close' reports.
    request.on('error', () => {});
    response.on('error', () => {});
  }

  get query(): URLSearchParams {
    this.#query ??= goQuery(this.search);
    return this.#query;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  headerValues(name: string): string[] {
    const raw = this.#request.rawHeaders;
    const values: string[] = [];
    for (let at = 0; at < raw.length; at += 2) if (raw[at]!.toLowerCase() === name) values.push(raw[at + 1]!);
    return values;
  }

  headers(): Record<string, string | string[] | undefined> {
    return this.#request.headers;
  }

  clientCertificate(): X509Certificate | 'rejected' | undefined {
    return certificateOf(this.#socket());
  }

  get remoteAddress(): string {
    return this.#socket().remoteAddress ?? '';
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  get responseCode(): number {
    return this.#response.headersSent ? this.#response.statusCode : 0;
  }

  body(limitBytes: number): Promise<Buffer> {
    this.#body ??= this.#readBody(limitBytes);
    return this.#body;
  }

  bodyStream(): Readable {
    return this.#request;
  }

  respond(code: number, headers: ResponseHeaders, body: Buffer | string): void {
    if (this.closed || this.#response.headersSent) return;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    this.#writeHead(code, { ...headers, 'content-length': String(length) });
    if (this.method === 'HEAD') this.#response.end();
    // HTTP/1.1 sends headers and a string in one piece, headers and a buffer in two: one TLS record less.
    else if (typeof body !== 'string' && length < singleWriteBytes)
      this.#response.end(body.toString('latin1'), 'latin1');
    else this.#response.end(body);
  }

  stream(code: number, headers: ResponseHeaders): ResponseStream {
    const response = this.#response;
    this.#writeHead(code, headers);
    // A client must see that its watch began, even without events.
    response.flushHeaders();
    const isOpen = () => !response.writableEnded && !response.destroyed;
    const { socket } = response;
    const isChunked = socket !== null && response.chunkedEncoding;
    return {
      write: isChunked
        ? (chunk) =>
            isOpen() && socket.write(typeof chunk === 'string' ? frameChunk(Buffer.from(chunk)) : sharedFrame(chunk))
        : (chunk) => isOpen() && response.write(chunk),
      onDrain: (listener) => void (isChunked ? socket : response).once('drain', listener),
      end: (chunk) => void response.end(chunk),
      destroy: () => this.#destroy(),
    };
  }

  warn(text: string): void {
    // The text is a quoted string in the header: no control characters, quotes escaped.
    const plain = text.replace(/[\x00-\x1f\x7f]+/g, ' ').replace(/[\\"]/g, '\\$&');
    const warning = `299 - "${Buffer.from(plain).toString('latin1')}"`;
    if (this.#warnings.includes(warning) || this.#warningBytes + warning.length > maxWarningBytes) return;
    this.#warnings.push(warning);
    this.#warningBytes += warning.length;
  }

  onClose(listener: () => void): void {
    if (this.#response.destroyed) listener();
    else this.#response.once('close', listener);
  }

  #writeHead(code: number, headers: ResponseHeaders): void {
    const all: Record<string, string | string[]> = { 'cache-control': 'no-cache, private', ...headers };
    if (this.#warnings.length > 0) all.warning = this.#warnings;
    this.#response.writeHead(code, all);
  }

  #socket(): TLSSocket {
    return this.#request.socket as TLSSocket;
  }

  #destroy(): void {
    this.#request.socket.destroy();
  }

  #readBody(limitBytes: number): Promise<Buffer> {
    const request = this.#request;
    const tooLarge = () => requestEntityTooLarge(`limit is ${limitBytes}`);
    if (Number(request.headers['content-length'] ?? 0) > limitBytes) {
      this.#abandonBody();
      return Promise.reject(tooLarge());
    }
    if (request.complete) {
      // It arrived with the headers: no need to wait.
      const whole = (request.read() as Buffer | null) ?? Buffer.alloc(0);
      return whole.length > limitBytes ? Promise.reject(tooLarge()) : Promise.resolve(whole);
    }
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (error?: Error) => {
        this.#bodyDeadlines.delete(finish);
        request.off('data', onData).off('end', finish).off('close', onClose);
        if (error !== undefined) reject(error);
        else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
      };
      const abort = (error: Error) => {
        this.#abandonBody();
        finish(error);
      };
      const onData = (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > limitBytes) abort(tooLarge());
      };
      const onClose = () => finish(new Error('the client disconnected while sending its body'));
      request.on('data', onData).on('end', finish).on('close', onClose);
      this.#bodyDeadlines.add(finish, () => abort(timeout('request did not complete within the allotted timeout')));
    });
  }

  /** The rest is not read: the connection is closed after the response. */
  #abandonBody(): void {
    const request = this.#request;
    request.pause();
    this.#response.setHeader('connection', 'close');
    this.#response.once('finish', () => request.socket.destroySoon());
  }
}

const chunkEnd = Buffer.from('\r\n');

/** A chunk as HTTP/1.1 sends it. Written to the socket directly, since the response would take four writes. */
function frameChunk(chunk: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, chunkEnd]);
}

/** An event is sent to many watchers as the same buffer: framed once. */
const frames = new WeakMap<Buffer, Buffer>();

function sharedFrame(chunk: Buffer): Buffer {
  let framed = frames.get(chunk);
  if (framed === undefined) {
    framed = frameChunk(chunk);
    frames.set(chunk, framed);
  }
  return framed;
}

/** Used with every request, decoded once per connection. */
const certificates = new WeakMap<object, X509Certificate | 'rejected' | undefined>();

function certificateOf(socket: TLSSocket): X509Certificate | 'rejected' | undefined {
  if (!certificates.has(socket)) {
    const certificate = socket.getPeerX509Certificate();
    certificates.set(socket, certificate && !socket.authorized ? 'rejected' : certificate);
  }
  return certificates.get(socket);
}
