/** Lists, page by page, and how a response is parsed. */
import { InvalidResponseError } from './api-error.js';
import type { RawRequest, RawResponse } from './requester.js';
import { type ResourceType, resourcePath } from './resource-type.js';

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
  /** Fields with long lists of objects that the caller does not need; they may be empty. See omit-lists.ts. */
  omitLists?: readonly string[];
}

export interface Page<T> {
  items: T[];
  resourceVersion: string;
}

type Raw = (request: RawRequest) => Promise<RawResponse>;

/** The next page is requested while the caller processes this one. */
export async function* readPages<T>(
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
    ...(list.omitLists && { omitLists: list.omitLists }),
  };
}

/** When omitting lists made the text invalid, the page is requested again without. */
async function readPage<T>(raw: Raw, answer: RawResponse, request: RawRequest): Promise<ListAnswer<T>> {
  if (request.omitLists === undefined) return parse(answer, request);
  try {
    return JSON.parse(answer.text) as ListAnswer<T>;
  } catch {
    const { omitLists: _, ...whole } = request;
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

export function within({ signal, timeoutMs }: CallOptions): CallOptions {
  return { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
}

export function parse<T>(response: RawResponse, { method, path }: RawRequest): T {
  try {
    return JSON.parse(response.text) as T;
  } catch (cause) {
    const start = response.text.slice(0, 100);
    throw new InvalidResponseError(`${method} ${path}: the answer is not JSON but ${JSON.stringify(start)}`, { cause });
  }
}
