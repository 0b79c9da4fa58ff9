/** An exchange without a socket: the same handler, called in this process. */
import { goQuery } from '../../go/query.js';
import { requestEntityTooLarge } from '../status-error.js';
import type { Exchange, ResponseHeaders, ResponseStream } from './exchange.js';

export interface InMemoryRequest {
  method?: string;
  /** With its query. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** Receiver of a response. */
export interface ResponseSink {
  begin(head: { code: number; headers: ResponseHeaders; warnings: string[] }): void;
  add(chunk: Buffer | string): void;
  /** The response is complete, or the client disconnected. */
  close(): void;
}

export class InMemoryExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly search: string;
  readonly query: URLSearchParams;
  closed = false;
  responseCode = 0;
  readonly #request: InMemoryRequest;
  readonly #headers: Record<string, string | string[]>;
  readonly #sink: ResponseSink;
  readonly #closeListeners: (() => void)[] = [];
  readonly #warnings = new Set<string>();
  #hasBegun = false;

  constructor(request: InMemoryRequest, sink: ResponseSink) {
    this.#request = request;
    this.#sink = sink;
    this.#headers = Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    this.method = request.method ?? 'GET';
    const mark = request.path.indexOf('?');
    this.path = mark === -1 ? request.path : request.path.slice(0, mark);
    this.search = mark === -1 ? '' : request.path.slice(mark + 1);
    this.query = goQuery(this.search);
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  headerValues(name: string): string[] {
    return [this.#headers[name] ?? []].flat();
  }

  headers(): Record<string, string | string[]> {
    return { ...this.#headers };
  }

  async body(limitBytes: number): Promise<Buffer> {
    const body = Buffer.from(this.#request.body ?? '');
    if (body.length > limitBytes) throw requestEntityTooLarge(`limit is ${limitBytes}`);
    return body;
  }

  respond(code: number, headers: ResponseHeaders, body: Buffer | string): void {
    if (this.#hasBegun) return;
    this.#begin(code, headers);
    this.#add(this.method === 'HEAD' ? '' : body);
    this.close();
  }

  stream(code: number, headers: ResponseHeaders): ResponseStream {
    this.#begin(code, headers);
    return {
      write: (chunk) => {
        this.#add(chunk);
        return true;
      },
      onDrain() {},
      end: (chunk) => {
        if (chunk !== undefined) this.#add(chunk);
        this.close();
      },
      destroy: () => this.close(),
    };
  }

  warn(text: string): void {
    this.#warnings.add(text);
  }

  onClose(listener: () => void): void {
    if (this.closed) listener();
    else this.#closeListeners.push(listener);
  }

  #begin(code: number, headers: ResponseHeaders): void {
    this.#hasBegun = true;
    this.responseCode = code;
    this.#sink.begin({ code, headers, warnings: [...this.#warnings] });
  }

  #add(chunk: Buffer | string): void {
    if (!this.closed) this.#sink.add(chunk);
  }

  /** Also when the client disconnects. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.#sink.close();
    for (const listener of this.#closeListeners) listener();
  }
}
