/** The transport of a client to an API in the same process: no socket, no TLS, no stream. */
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.js';
import type { ResponseHeaders } from '../../memory-api/requests/exchange.js';
import type { InMemoryRequest, ResponseSink } from '../../memory-api/requests/in-memory.js';

/** Answers a request; the returned function disconnects the client. */
export type Serve = (request: InMemoryRequest & Pick<HttpRequest, 'tls'>, sink: ResponseSink) => Served;

interface Served {
  disconnect(): void;
  /** Rejects if the request could not be answered at all. */
  answered: Promise<void>;
}

export function inMemoryTransport(serve: Serve): Transport {
  return {
    open: (request) => openInMemory(serve, request),
    close() {},
  };
}

function openInMemory(serve: Serve, { method, url, headers, body, tls }: HttpRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const response = new InMemoryBody(resolve, () => served.disconnect());
    const request = { method, path: `${url.pathname}${url.search}`, headers, ...(body !== undefined && { body }), tls };
    const served = serve(request, response);
    served.answered.catch(reject);
  });
}

/** A response whose body is read by one reader, as it grows. */
class InMemoryBody implements HttpResponse, ResponseSink {
  statusCode = 0;
  headers: HttpResponse['headers'] = {};
  readonly #began: (response: HttpResponse) => void;
  readonly #disconnect: () => void;
  readonly #chunks: Buffer[] = [];
  #error: Error | undefined;
  #isComplete = false;
  #wake: (() => void) | undefined;

  constructor(began: (response: HttpResponse) => void, disconnect: () => void) {
    this.#began = began;
    this.#disconnect = disconnect;
  }

  begin({ code, headers, warnings }: { code: number; headers: ResponseHeaders; warnings: string[] }): void {
    this.statusCode = code;
    for (const [name, value] of Object.entries(headers)) this.headers[name] = String(value);
    if (warnings.length > 0) this.headers.warning = warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ');
    this.#began(this);
  }

  add(chunk: Buffer | string): void {
    this.#chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    this.#wake?.();
  }

  close(): void {
    this.#isComplete = true;
    this.#wake?.();
  }

  destroy(error: Error = Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })): void {
    if (!this.#isComplete) this.#error ??= error;
    this.#disconnect();
  }

  resume(): void {
    this.#chunks.length = 0;
  }

  takeWhole(): Buffer | undefined {
    if (!this.#isComplete || this.#error !== undefined) return undefined;
    return this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      if (this.#error) throw this.#error;
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#isComplete) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
