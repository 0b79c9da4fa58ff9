/**
 * Sends one request and reads its response: credentials, deadline, retries that the server requests, bounded bodies. Also tracks
 * whether the server can be reached, for all requests of a client.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { apiError, InvalidResponseError } from '../api/status.js';
import type { Clock } from '../clock.js';
import type { Random } from '../random.js';
import { type Backoff, backoffMs } from './backoff.js';
import type { IdentitySource } from './identity.js';
import { followLiveness, type LivenessListener } from './liveness.js';
import { ConnectionError, createTransport, type HttpResponse, type Transport } from './transport.js';

export interface RequesterOptions {
  source: IdentitySource;
  clock: Clock;
  /** Such as `relet/0.1.0 (node)`. */
  userAgent: string;
  /** Default: connections over the network. */
  transport?: Transport;
  /** For HTTPS_PROXY and NO_PROXY of the default transport. Default: none. */
  env?: Record<string, string | undefined>;
  /** TCP keepalive of the default transport: idle time before the kernel sends ten probes, one each second. Default 30 s. */
  tcpKeepAliveMs?: number;
  /** From sending to the last byte, including retries. Default 30 s. */
  timeoutMs?: number;
  /** A longer body is an error. Default 64 MiB. */
  maxResponseBytes?: number;
  /** Called with each text of a Warning header. */
  onWarning?(text: string): void;
  /** Called with the head of each response. */
  onAnswer?(answer: { method: string; url: URL; status: number; ms: number }): void;
  /** For jitter. */
  random: Random;
}

export interface RawRequest {
  method: string;
  /** Begins with a slash; may have a query. */
  path: string;
  query?: Record<string, string | undefined>;
  body?: string;
  /** Default application/json. */
  contentType?: string;
  /** Default application/json. */
  accept?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** A longer body is an error. Default the client's. */
  maxBytes?: number;
  /** Changes the body of a response before it is decoded. Not of error responses. */
  edit?(body: Buffer): Buffer;
}

export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Requester {
  raw(request: RawRequest): Promise<RawResponse>;
  /** The deadline is for the head of the response; the body is ended by the signal alone. */
  open(request: RawRequest): Promise<HttpResponse>;
  /** Waits before a retry: for `ms`, and then until the server can be reached. Rejects when the signal fires. */
  waitBeforeRetry(ms: number, signal: AbortSignal): Promise<void>;
  /** Probes the server until the signal of the listener fires, and reports when it stops answering and when it answers again. */
  followLiveness(listener: LivenessListener): Promise<void>;
  /** Called when open connections cannot be trusted any more. Returns the function that ends it. */
  onLost(listener: (error: Error) => void): () => void;
  /** Monotonic: since when the server has answered without an outage, as far as this client has seen. */
  answersSinceMs(): number;
  /** Closes idle connections. */
  close(): void;
}

// As client-go does with Retry-After.
const maxRetries = 10;
const defaultTimeoutMs = 30_000;
const probeTimeoutMs = 5000;
/** Timers of more than 24.8 days fire at once. */
const longestRetryAfterMs = 3_600_000;

export function createRequester(options: RequesterOptions): Requester {
  const { source, clock, maxResponseBytes = 64 * 1024 * 1024 } = options;
  const transport = options.transport ?? createTransport(options.env, options.tcpKeepAliveMs);
  let answeredMs = clock.monotonic();
  const losses = new Set<(error: Error) => void>();
  const onLost = (listener: (error: Error) => void) => {
    losses.add(listener);
    return () => void losses.delete(listener);
  };

  /** Sends once, with the present credentials. */
  const attempt = async (request: RawRequest, limit: Deadline) => {
    const identity = source();
    const { connection } = identity;
    const credentials = await identity.current(limit);
    const { method } = request;
    const url = target(connection.server, request);
    const startedMs = clock.monotonic();
    const sent = transport.open({
      method,
      url,
      headers: { ...credentials.headers, ...contentHeaders(request, options.userAgent) },
      ...(request.body !== undefined && { body: request.body }),
      tls: credentials.tls,
      proxyUrl: connection.cluster['proxy-url'],
      get signal() {
        return limit.signal;
      },
    });
    const response = await sent.catch((error: unknown) => {
      if (error instanceof ConnectionError || error instanceof TimeoutError) reachability.lost();
      throw error;
    });
    answeredMs = clock.monotonic();
    reachability.answered();
    options.onAnswer?.({ method, url, status: response.statusCode!, ms: clock.monotonic() - startedMs });
    for (const text of warnings(response.headers.warning)) options.onWarning?.(text);
    return { response, credentials };
  };

  /** Sends until the server neither rejects old credentials nor sends Retry-After. */
  const settle = async (request: RawRequest, limit: Deadline): Promise<HttpResponse> => {
    let renewed = false;
    for (let retries = 0; ; retries++) {
      const { response, credentials } = await attempt(request, limit);
      const isStale: boolean = response.statusCode === 401 && !renewed && credentials.rejected();
      const waitMs = isStale ? 0 : retryAfterMs(response);
      if (waitMs === undefined || (!isStale && retries >= maxRetries)) return response;
      renewed ||= isStale;
      response.resume();
      if (waitMs > 0) await clock.sleep(waitMs, limit.signal);
    }
  };

  /** The final response, or its error; `use` reads it within the deadline. */
  const ask = async <T>(request: RawRequest, use: (answer: Answer) => Promise<T>): Promise<T> => {
    const what = `${request.method} ${request.path}`;
    request.signal?.throwIfAborted();
    const limit = deadline(clock, request.timeoutMs ?? options.timeoutMs ?? defaultTimeoutMs, request.signal, what);
    // A write may have taken effect, and is let finish.
    const forget = isRead(request) ? onLost((error) => limit.end(new ConnectionError(what, error))) : undefined;
    try {
      const response = await settle(request, limit);
      const read = () => readBody(response, request.maxBytes ?? maxResponseBytes, what, limit);
      if (response.statusCode! < 400) return await use({ response, read });
      throw apiError(response.statusCode!, (await read()).toString('utf8'), what);
    } finally {
      forget?.();
      limit.done();
    }
  };

  const raw = (request: RawRequest): Promise<RawResponse> =>
    ask(request, async ({ response, read }) => {
      const body = await read();
      const wanted = request.edit?.(body) ?? body;
      return { status: response.statusCode!, headers: response.headers, text: wanted.toString('utf8') };
    });
  const reachability = new Reachability({
    clock,
    random: options.random,
    probe: (signal) => raw({ method: 'GET', path: '/version', timeoutMs: probeTimeoutMs, signal }),
  });

  return {
    raw,
    open: (request) => ask(request, async ({ response }) => response),
    waitBeforeRetry: (ms, signal) => reachability.waitBeforeRetry(ms, signal),
    onLost,
    answersSinceMs: () => reachability.answersSinceMs,
    followLiveness: (listener) =>
      followLiveness(
        {
          clock,
          answeredMs: () => answeredMs,
          probe: (timeoutMs, signal) => raw({ method: 'GET', path: '/version', timeoutMs, signal }),
          lost: (error) => {
            reachability.lost();
            for (const listener of [...losses]) listener(error);
          },
        },
        listener,
      ),
    close: transport.close,
  };
}

const isRead = ({ method }: RawRequest): boolean => method === 'GET';

interface Answer {
  response: HttpResponse;
  read(): Promise<Buffer>;
}

function target(server: string, { path, query = {} }: RawRequest): URL {
  const url = new URL(`${server}${path}`);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.append(name, value);
  return url;
}

function contentHeaders({ body, contentType, accept }: RawRequest, userAgent: string): Record<string, string> {
  return {
    accept: accept ?? 'application/json',
    'user-agent': userAgent,
    ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
  };
}

/** Set when a busy server sends Retry-After. */
function retryAfterMs({ statusCode = 0, headers }: HttpResponse): number | undefined {
  if (statusCode !== 429 && statusCode < 500) return undefined;
  const text = headers['retry-after'];
  return text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text) * 1000, longestRetryAfterMs) : undefined;
}

async function readBody(body: HttpResponse, maxBytes: number, what: string, limit: Deadline): Promise<Buffer> {
  const tooLong = () => new InvalidResponseError(`${what}: the answer is longer than ${maxBytes} bytes`);
  const whole = body.takeWhole?.();
  if (whole !== undefined && whole.length > maxBytes) throw tooLong();
  if (whole !== undefined) return whole;
  const { signal } = limit;
  const chunks: Buffer[] = [];
  let size = 0;
  const onAbort = () => body.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > maxBytes) throw tooLong();
      chunks.push(chunk);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw (error as NodeJS.ErrnoException).code === 'ECONNRESET'
      ? new InvalidResponseError(`${what}: the connection broke in the middle of the answer`, { cause: error })
      : error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  signal.throwIfAborted();
  return Buffer.concat(chunks);
}

/** The texts of `299 - "…"` headers, which node joins with commas. */
function warnings(header: string | undefined): string[] {
  const found = header?.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g) ?? [];
  return [...found].map(([, text]) => text!.replace(/\\(.)/g, '$1'));
}

export class TimeoutError extends Error {
  override name = 'TimeoutError';
}

export interface Deadline {
  /** Created on first use: most work ends before any signal is needed. */
  readonly signal: AbortSignal;
  /** The work is to end before its time, for this reason. */
  end(reason: Error): void;
  /** Must be called when the work ended. */
  done(): void;
}

/** One for all: without a reason, each abort would make an error with its stack. */
const ended = new Error('the work has ended');

/** A signal that fires after a time or with the caller's signal, whichever is first, and leaves no timer or listener. */
export function deadline(clock: Clock, ms: number, outer: AbortSignal | undefined, what: string): Deadline {
  const startedMs = clock.monotonic();
  let inner: AbortController | undefined;
  let timer: AbortController | undefined;
  const onAbort = () => inner?.abort(outer?.reason);
  const start = () => {
    const made = new AbortController();
    inner = made;
    if (outer?.aborted) onAbort();
    // As many listeners as requests at once, which is not a leak: done() removes them.
    if (outer !== undefined) setMaxListeners(0, outer);
    outer?.addEventListener('abort', onAbort, { once: true });
    timer = new AbortController();
    clock.sleep(startedMs + ms - clock.monotonic(), timer.signal).then(
      () => made.abort(new TimeoutError(`${what}: no answer in ${ms} ms`)),
      () => {},
    );
    return made;
  };
  return {
    get signal() {
      return (inner ?? start()).signal;
    },
    end: (reason) => (inner ?? start()).abort(reason),
    done() {
      outer?.removeEventListener('abort', onAbort);
      timer?.abort(ended);
    },
  };
}

interface ReachabilityOptions {
  clock: Clock;
  /** Sends a cheap request. Any response will do; `answered` and `lost` are called as for every request. */
  probe(signal: AbortSignal): Promise<unknown>;
  random: Random;
}

const probeBackoff: Backoff = { initialMs: 200, maxMs: 5000 };

/**
 * Whether the API server can be reached, as all requests of one client see it:
 *
 *     reachable ── a connection is refused or breaks ──► unreachable ── any response ──► reachable
 *
 * A retry waits for its backoff and then, while the server is unreachable, until it is reachable. So an outage does not
 * increase any backoff, and all retries proceed after the first response. During an outage each client sends one probe at a
 * time, with jitter: thousands of nodes neither connect at the same moment, nor with all their pending requests.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  #isUnreachable = false;
  /** Monotonic, of the first response after the last outage. */
  answersSinceMs: number;
  readonly #waiting = new Set<() => void>();
  /** Ends the probes; undefined while no retry waits. */
  #probes: AbortController | undefined;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
    this.answersSinceMs = options.clock.monotonic();
  }

  lost(): void {
    this.#isUnreachable = true;
  }

  answered(): void {
    if (this.#isUnreachable) this.answersSinceMs = this.#options.clock.monotonic();
    this.#isUnreachable = false;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits before a retry: for `ms`, and then until the server can be reached. Rejects when the signal fires. */
  async waitBeforeRetry(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, signal);
    if (!this.#isUnreachable) return;
    await new Promise<void>((resolve) => {
      const leave = () => {
        signal.removeEventListener('abort', leave);
        this.#waiting.delete(leave);
        if (this.#waiting.size === 0) this.#probes?.abort();
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.add(leave);
      if (this.#probes === undefined) void this.#probeUntilLeft();
    });
    signal.throwIfAborted();
  }

  async #probeUntilLeft(): Promise<void> {
    const { clock, probe, random } = this.#options;
    this.#probes = new AbortController();
    const { signal } = this.#probes;
    for (let failures = 1; !signal.aborted; failures++) {
      await clock.sleep(backoffMs(failures, probeBackoff, random), signal).catch(() => {});
      if (signal.aborted) break;
      await probe(signal).catch((error: unknown) => {
        // Other errors, such as missing credentials, will show in the retries.
        if (!(error instanceof ConnectionError || error instanceof TimeoutError)) this.answered();
      });
    }
    this.#probes = undefined;
    // Another retry may have begun to wait while the last probe ended.
    if (this.#waiting.size > 0) void this.#probeUntilLeft();
  }
}
