/**
 * A client for any Kubernetes API: the verbs, with typed errors, timeouts, pages and connections that are reused. For
 * watches see watch.ts, watch-loop.ts and informer.ts.
 */
import type { KubeObject } from '../api/object.js';
import type { Clock } from '../clock.js';
import type { Random } from '../random.js';
import type { Connection } from './connection.js';
import { type CallOptions, type ListOptions, type Page, parse, readPages, within } from './pages.js';
import { Reachability } from './reachability.js';
import { createRequester, type RawRequest, type RawResponse, type RequesterOptions } from './requester.js';
import { type ObjectPlace, type ResourceType, resourcePath } from './resource-type.js';

export type { CallOptions, ListOptions, Page } from './pages.js';

export interface WriteOptions extends CallOptions {
  dryRun?: boolean;
  fieldManager?: string;
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

export interface PatchOptions extends WriteOptions {
  as: keyof typeof patchTypes;
  /** Takes over fields of other managers; only with `apply`. */
  force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  dryRun?: boolean;
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  gracePeriodSeconds?: number;
}

export interface KubeClient {
  /** Server, user and namespace of the next request. */
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  get<T = KubeObject>(type: ResourceType, place: ObjectPlace & { name: string }, options?: CallOptions): Promise<T>;
  /** Page by page, each with the resourceVersion of the list. */
  pages<T = KubeObject>(type: ResourceType, options?: ListOptions): AsyncGenerator<Page<T>, void, void>;
  /** All pages in one. */
  list<T = KubeObject>(type: ResourceType, options?: ListOptions): Promise<Page<T>>;
  create<T = KubeObject>(type: ResourceType, place: ObjectPlace, object: object, options?: WriteOptions): Promise<T>;
  update<T = KubeObject>(type: ResourceType, place: Named, object: object, options?: WriteOptions): Promise<T>;
  patch<T = KubeObject>(type: ResourceType, place: Named, patch: unknown, options: PatchOptions): Promise<T>;
  /** Returns the object as it was, or a Status. */
  delete(type: ResourceType, place: Named, options?: DeleteOptions): Promise<unknown>;
  /** Any request. Throws ApiError for status codes from 400 on. */
  raw(request: RawRequest): Promise<RawResponse>;
  /** As raw, but the caller reads the body as a stream. */
  open: ReturnType<typeof createRequester>['open'];
  /** Waits before a retry: for `ms`, and then until the server can be reached. Rejects when the signal fires. */
  waitBeforeRetry(ms: number, signal: AbortSignal): Promise<void>;
  /** Closes idle connections. */
  close(): void;
}

type Named = ObjectPlace & { name: string };

export interface ClientOptions extends Omit<RequesterOptions, 'onLost'> {
  /** For jitter. */
  random: Random;
}

const probeTimeoutMs = 5000;

export function createClient(options: ClientOptions): KubeClient {
  const requester = createRequester({
    ...options,
    onAnswer(answer) {
      reachability.answered();
      options.onAnswer?.(answer);
    },
    onLost: () => reachability.lost(),
  });
  const reachability = new Reachability({
    clock: options.clock,
    random: options.random,
    probe: (signal) => requester.raw({ method: 'GET', path: '/version', timeoutMs: probeTimeoutMs, signal }),
  });
  const call = async <T>(request: RawRequest): Promise<T> => parse(await requester.raw(request), request);
  const write = <T>(method: string, path: string, object: unknown, write: WriteOptions = {}, contentType?: string) =>
    call<T>({
      method,
      path,
      query: writeQuery(write),
      body: JSON.stringify(object),
      ...(contentType && { contentType }),
      ...within(write),
    });

  const pages = <T>(type: ResourceType, list?: ListOptions) => readPages<T>(requester.raw, type, list);

  return {
    get connection() {
      return options.source().connection;
    },
    clock: options.clock,
    random: options.random,
    get: (type, place, get = {}) => call({ method: 'GET', path: resourcePath(type, place), ...within(get) }),
    pages,
    async list<T>(type: ResourceType, list?: ListOptions) {
      const all: Page<T> = { items: [], resourceVersion: '' };
      for await (const page of pages<T>(type, list)) {
        for (const item of page.items) all.items.push(item);
        all.resourceVersion = page.resourceVersion;
      }
      return all;
    },
    create: (type, place, object, options) => write('POST', resourcePath(type, place), object, options),
    update: (type, place, object, options) => write('PUT', resourcePath(type, place), object, options),
    patch: (type, place, patch, { as, force, ...options }) => {
      const path = `${resourcePath(type, place)}${force ? '?force=true' : ''}`;
      return write('PATCH', path, patch, options, patchTypes[as]);
    },
    delete: (type, place, { dryRun, preconditions, propagationPolicy, gracePeriodSeconds, ...options } = {}) =>
      call({
        method: 'DELETE',
        path: resourcePath(type, place),
        query: { dryRun: dryRun ? 'All' : undefined },
        body: JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions,
          propagationPolicy,
          gracePeriodSeconds,
        }),
        ...within(options),
      }),
    raw: requester.raw,
    open: requester.open,
    waitBeforeRetry: (ms, signal) => reachability.waitBeforeRetry(ms, signal),
    close: requester.close,
  };
}

function writeQuery({ dryRun, fieldManager, fieldValidation }: WriteOptions): Record<string, string | undefined> {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation };
}
