/**
 * HTTP requests to servers outside Kubernetes (webhook, Prometheus): bearer token from a file, the CAs of Node.js and of a file, a
 * timeout.
 */
import { rootCertificates } from 'node:tls';
import { CannotRun } from '../cannot-run.js';
import type { Clock } from '../clock.js';
import { cachedFile, type FileReader } from '../kube/kubeconfig.js';
import { ConnectionError, createTransport, type HttpResponse } from '../kube/transport.js';

export interface OutboundOptions {
  /** Begin of the flags, for errors: `webhook` for --webhook-url. */
  flag: string;
  /** http or https. */
  url: string;
  /** Read again when it changes. */
  tokenFile?: string | undefined;
  /** Authorities beside those of Node.js, as PEM. */
  caFile?: string | undefined;
  files: FileReader;
  /** For proxies. */
  env: Record<string, string | undefined>;
  clock: Clock;
  userAgent: string;
}

export interface OutboundRequest {
  method: 'GET' | 'POST';
  /** Below the URL of the flag; that URL where it is absent. */
  path?: string;
  headers: Record<string, string>;
  body?: string;
}

/** Rejects if there is no answer; `text` is the body of the answer to a GET. */
export type Outbound = (request: OutboundRequest, signal: AbortSignal) => Promise<{ status: number; text: string }>;

const timeoutMs = 10_000;
const mostBytes = 16 << 20;

/** Throws CannotRun for options that can never work. */
export function outbound(options: OutboundOptions): Outbound {
  const { flag, tokenFile, caFile, files, env, clock, userAgent } = options;
  const base = parseUrl(options.url, flag);
  const isSecret = base.protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(base.hostname);
  if (tokenFile !== undefined && !isSecret)
    throw new CannotRun(`--${flag}-token-file needs a --${flag}-url with https`);
  const token = tokenFile === undefined ? undefined : cachedFile(tokenFile, files);
  const authorities = caFile === undefined ? undefined : cachedFile(caFile, files);
  const transport = createTransport(env);
  return async ({ method, path, headers, body }, signal) => {
    const over = new AbortController();
    const late = clock
      .sleep(timeoutMs, over.signal)
      .then(() => over.abort(new Error(`no answer within ${timeoutMs / 1000} s`)));
    late.catch(() => {});
    try {
      const response = await transport.open({
        method,
        url: path === undefined ? base : new URL(`${base.href.replace(/\/$/, '')}${path}`),
        headers: {
          'user-agent': userAgent,
          ...headers,
          ...(token && { authorization: `Bearer ${token().trim()}` }),
        },
        ...(body !== undefined && { body }),
        tls: { insecure: false, ...(authorities && { ca: [...rootCertificates, authorities()].join('\n') }) },
        signal: AbortSignal.any([signal, over.signal]),
      });
      const { statusCode: status = 0 } = response;
      if (method === 'GET') return { status, text: await textOf(response) };
      response.destroy();
      return { status, text: '' };
    } catch (error) {
      // The path and the query of a URL may be a secret.
      if (error instanceof ConnectionError)
        throw new Error(`cannot reach ${base.origin}: ${error.code || 'connection failed'}`);
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      over.abort();
    }
  };
}

async function textOf(response: HttpResponse): Promise<string> {
  const whole = response.takeWhole?.();
  if (whole !== undefined) return whole.toString('utf8');
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response) {
    size += part.length;
    if (size > mostBytes) {
      response.destroy();
      throw new Error(`the answer is larger than ${mostBytes >> 20} MiB`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parseUrl(text: string, flag: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CannotRun(`--${flag}-url must be a URL with https, or http`);
}
