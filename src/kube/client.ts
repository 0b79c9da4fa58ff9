/**
 * A client for any Kubernetes API: verbs, paged lists, and discovery. requester.ts sends a request; watch.ts and informer.ts watch
 * resources.
 */
import type { KubeObject } from '../api/object.js';
import { InvalidResponseError, isAlreadyExists, isNotFound } from '../api/status.js';
import type { Clock } from '../clock.js';
import type { Random } from '../random.js';
import type { Connection } from './connection.js';
import {
  createRequester,
  type RawRequest,
  type RawResponse,
  type Requester,
  type RequesterOptions,
} from './requester.js';
import { type ObjectPlace, type ResourceType, resourcePath } from './resource-type.js';

export interface CallOptions {
  signal?: AbortSignal;
  /** Default the client's. */
  timeoutMs?: number;
}

export interface ListOptions extends CallOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Objects per page. Default 500. */
  limit?: number;
  resourceVersion?: string;
  /** Fields with long lists of objects that the caller does not need; they may be empty. In a Node the images are the largest part. */
  omitLists?: readonly string[];
}

export interface Page<T> {
  items: T[];
  resourceVersion: string;
}

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
  open: Requester['open'];
  /** Waits before a retry: for `ms`, and then until the server can be reached. Rejects when the signal fires. */
  waitBeforeRetry(ms: number, signal: AbortSignal): Promise<void>;
  followLiveness: Requester['followLiveness'];
  onLost: Requester['onLost'];
  answersSinceMs: Requester['answersSinceMs'];
  /** Closes idle connections. */
  close(): void;
}

type Named = ObjectPlace & { name: string };

export function createClient(options: RequesterOptions): KubeClient {
  const requester = createRequester(options);
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
    delete: (type, place, { dryRun, preconditions, gracePeriodSeconds, ...options } = {}) =>
      call({
        method: 'DELETE',
        path: resourcePath(type, place),
        query: { dryRun: dryRun ? 'All' : undefined },
        body: JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions,
          gracePeriodSeconds,
        }),
        ...within(options),
      }),
    raw: requester.raw,
    open: requester.open,
    waitBeforeRetry: requester.waitBeforeRetry,
    followLiveness: requester.followLiveness,
    onLost: requester.onLost,
    answersSinceMs: requester.answersSinceMs,
    close: requester.close,
  };
}

function writeQuery({ dryRun, fieldManager, fieldValidation }: WriteOptions): Record<string, string | undefined> {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager, fieldValidation };
}

type Raw = (request: RawRequest) => Promise<RawResponse>;

/** The next page is requested while the caller processes this one. */
async function* readPages<T>(
  raw: Raw,
  type: ResourceType,
  list: ListOptions = {},
): AsyncGenerator<Page<T>, void, void> {
  const ended = new AbortController();
  const signal = list.signal ? AbortSignal.any([list.signal, ended.signal]) : ended.signal;
  const request = (next: string | undefined) => pageRequest(type, { ...list, signal }, next);
  let asked: string | undefined;
  try {
    for (let answer: RawResponse | undefined = await raw(request(undefined)); answer !== undefined; ) {
      const next = continueIn(answer.text);
      const ahead = next === undefined ? undefined : raw(request(next));
      ahead?.catch(() => {});
      const page: ListAnswer<T> = await readPage(raw, answer, request(asked));
      asked = next;
      answer = undefined;
      yield { items: page.items ?? [], resourceVersion: page.metadata?.resourceVersion ?? '' };
      answer = await ahead;
    }
  } finally {
    ended.abort();
  }
}

function pageRequest(type: ResourceType, list: ListOptions, next: string | undefined): RawRequest {
  const { namespace, labelSelector, fieldSelector, limit = 500, resourceVersion } = list;
  return {
    method: 'GET',
    path: resourcePath(type, namespace === undefined ? {} : { namespace }),
    query: {
      labelSelector,
      fieldSelector,
      limit: String(limit),
      continue: next,
      // A continue token has its own version; a server rejects requests with both.
      resourceVersion: next === undefined ? resourceVersion : undefined,
    },
    ...within(list),
    ...(list.omitLists && { edit: (body: Buffer) => omitLists(body, list.omitLists!) }),
  };
}

/** When omitting lists made the text invalid, the page is requested again without. */
async function readPage<T>(raw: Raw, answer: RawResponse, request: RawRequest): Promise<ListAnswer<T>> {
  if (request.edit === undefined) return parse(answer, request);
  try {
    return JSON.parse(answer.text) as ListAnswer<T>;
  } catch {
    const { edit: _, ...whole } = request;
    return parse(await raw(whole), whole);
  }
}

/**
 * The token of the next page, found without parsing the whole response: servers write a list's metadata before its items.
 * Otherwise the response is parsed.
 */
function continueIn(text: string): string | undefined {
  const items = text.indexOf('"items"');
  const head = text.slice(0, items < 0 ? text.length : items);
  const metadata = head.includes('"metadata"')
    ? head
    : JSON.stringify((JSON.parse(text) as ListAnswer<unknown>).metadata);
  const token = /"continue":\s*("(?:[^"\\]|\\.)*")/.exec(metadata ?? '')?.[1];
  return token === undefined ? undefined : (JSON.parse(token) as string) || undefined;
}

interface ListAnswer<T> {
  items?: T[] | null;
  metadata?: { resourceVersion?: string; continue?: string };
}

function within({ signal, timeoutMs }: CallOptions): CallOptions {
  return { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

function parse<T>(response: RawResponse, { method, path }: RawRequest): T {
  try {
    return JSON.parse(response.text) as T;
  } catch (cause) {
    const start = response.text.slice(0, 100);
    throw new InvalidResponseError(`${method} ${path}: the answer is not JSON but ${JSON.stringify(start)}`, { cause });
  }
}

/**
 * Removes lists that are not needed from a response before it is parsed: the API has no way to request objects without them.
 * Fields that hold lists of objects become empty lists. The first `}]` after its start counts as the end of a list; where a
 * string contains that, the result is not valid JSON and the caller must request the whole response.
 */
export function omitLists(bytes: Buffer, fields: readonly string[]): Buffer {
  const marks = fields.map((field) => Buffer.from(`"${field}":[{`));
  const next = marks.map((mark) => bytes.indexOf(mark));
  const kept: Buffer[] = [];
  for (let from = 0; ; ) {
    let first = -1;
    for (const [index, at] of next.entries()) if (at >= 0 && (first < 0 || at < next[first]!)) first = index;
    if (first < 0) return from === 0 ? bytes : Buffer.concat([...kept, bytes.subarray(from)]);
    const begin = next[first]! + marks[first]!.length - 1;
    const end = bytes.indexOf('}]', begin);
    if (end < 0) return bytes;
    kept.push(bytes.subarray(from, begin));
    from = end + 1;
    for (const [index, mark] of marks.entries())
      if (next[index]! >= 0 && next[index]! < from) next[index] = bytes.indexOf(mark, from);
  }
}

export interface ServerVersion {
  major: string;
  minor: string;
  gitVersion: string;
  [field: string]: string;
}

export async function serverVersion(client: KubeClient, options: CallOptions = {}): Promise<ServerVersion> {
  const request = { method: 'GET', path: '/version' };
  return parse<ServerVersion>(await client.raw({ ...request, ...options }), request);
}

/** Whether the server serves this resource. Throws without a response: unknown is not false. */
export async function serves(client: KubeClient, type: ResourceType, options: CallOptions = {}): Promise<boolean> {
  const path = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  try {
    const request = { method: 'GET', path };
    const list = parse<{ resources?: { name: string }[] } | null>(
      await client.raw({ ...request, ...options }),
      request,
    );
    return (list?.resources ?? []).some(({ name }) => name === type.resource);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** False when there is one already. */
export async function createIfAbsent(
  client: Pick<KubeClient, 'create'>,
  type: ResourceType,
  place: ObjectPlace,
  object: object,
  options: WriteOptions = {},
): Promise<boolean> {
  try {
    await client.create(type, place, object, options);
    return true;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return false;
  }
}
