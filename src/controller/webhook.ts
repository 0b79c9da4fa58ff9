/** The receiver of notices: one POST with JSON, a bearer token from a file, TLS by the authorities of Node.js and those of a file. */
import { rootCertificates } from 'node:tls';
import { CannotRun } from '../cannot-run.js';
import type { Clock } from '../clock.js';
import { cachedFile, type FileReader } from '../kube/kubeconfig.js';
import { ConnectionError, createTransport } from '../kube/transport.js';
import type { SendNotice } from './notifier.js';

export interface WebhookOptions {
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

const timeoutMs = 10_000;

/** Throws CannotRun for options that can never work. */
export function webhookSender({
  url: text,
  tokenFile,
  caFile,
  files,
  env,
  clock,
  userAgent,
}: WebhookOptions): SendNotice {
  const url = parseUrl(text);
  const isSecret = url.protocol === 'https:' || ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (tokenFile !== undefined && !isSecret)
    throw new CannotRun('--webhook-token-file needs a --webhook-url with https');
  const token = tokenFile === undefined ? undefined : cachedFile(tokenFile, files);
  const authorities = caFile === undefined ? undefined : cachedFile(caFile, files);
  const transport = createTransport(env);
  return async (notice, signal) => {
    const over = new AbortController();
    const late = clock
      .sleep(timeoutMs, over.signal)
      .then(() => over.abort(new Error(`no answer within ${timeoutMs / 1000} s`)));
    late.catch(() => {});
    try {
      const response = await transport.open({
        method: 'POST',
        url,
        headers: {
          'content-type': 'application/json',
          'user-agent': userAgent,
          ...(token && { authorization: `Bearer ${token().trim()}` }),
        },
        body: JSON.stringify(notice),
        tls: { insecure: false, ...(authorities && { ca: [...rootCertificates, authorities()].join('\n') }) },
        signal: AbortSignal.any([signal, over.signal]),
      });
      const { statusCode: status = 0 } = response;
      response.destroy();
      if (status < 200 || status > 299) throw new Error(`${url.origin} answered ${status}`);
    } catch (error) {
      // The path and the query of a URL may be a secret.
      if (error instanceof ConnectionError)
        throw new Error(`cannot reach ${url.origin}: ${error.code || 'connection failed'}`);
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      over.abort();
    }
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CannotRun('--webhook-url must be a URL with https, or http');
}
