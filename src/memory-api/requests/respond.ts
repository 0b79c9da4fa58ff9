/** Writes responses: stored bytes without parsing if possible, Table and metadata on request. */
import type { KubeObject } from '../../api/object.js';
import { ApiError, type Status } from '../../api/status.js';
import { isCustom, type Resource } from '../resource.js';
import { insufficientStorage, internal } from '../status-error.js';
import { type Stored, StoreFull } from '../store/store.js';
import { apiVersionOf, decodeStored, servedBytes, servedEncoding, typePrefixLength } from './codec.js';
import type { Exchange, ResponseHeaders } from './exchange.js';
import type { ListMeta, OutputForm, Presenter } from './presenter.js';

const json: ResponseHeaders = { 'content-type': 'application/json' };
/** Responses up to this size are sent whole, with a length. */
const wholeBytes = 256 << 10;
const chunkBytes = 64 << 10;

/** Parts of a request that its response needs. */
export interface Responding {
  exchange: Exchange;
  resource: Resource;
  form: OutputForm | undefined;
  presenter: Presenter;
}

export function respondStored(request: Responding, code: number, stored: Stored): void {
  const { exchange, resource, form } = request;
  if (form === undefined) exchange.respond(code, json, servedBytes(resource, stored));
  else respondForm(request, form, code, [decodeStored(resource, stored.bytes)]);
}

export function respondObject(request: Responding, code: number, object: KubeObject): void {
  const { exchange, resource, form } = request;
  if (form === undefined) exchange.respond(code, json, servedEncoding(resource, object));
  else respondForm(request, form, code, [object]);
}

/** Items are read one after the other while they are sent, so that a list of any length needs little memory. */
export async function respondList(request: Responding, items: Stored[], list: ListMeta): Promise<void> {
  const { exchange, resource, form } = request;
  if (form !== undefined) {
    const objects = items.map((item) => decodeStored(resource, item.bytes));
    return respondForm(request, form, 200, objects, list);
  }
  const pieces = listPieces(resource, items, list);
  const first = nextChunk(pieces, wholeBytes);
  if (first.done) return exchange.respond(200, json, first.bytes);
  const stream = exchange.stream(200, json);
  // Also resolves when the client disconnects.
  const closed = new Promise<void>((resolve) => exchange.onClose(resolve));
  try {
    for (let chunk = first; ; chunk = nextChunk(pieces, chunkBytes)) {
      const keepsUp = stream.write(chunk.bytes);
      if (chunk.done || exchange.closed) return stream.end();
      if (!keepsUp) await Promise.race([closed, new Promise<void>((resolve) => stream.onDrain(resolve))]);
    }
  } catch (error) {
    // An item was compacted while a slow client read the list: the response must not look complete.
    stream.destroy();
    throw error;
  }
}

function* listPieces(resource: Resource, items: Stored[], list: ListMeta): Generator<Buffer> {
  const metadata = isCustom(resource) ? { continue: '', ...list } : list;
  const head = JSON.stringify({ kind: resource.names.listKind, apiVersion: apiVersionOf(resource), metadata });
  yield Buffer.from(`${head.slice(0, -1)},"items":[`);
  const skip = isCustom(resource) ? 0 : typePrefixLength(resource);
  let open = skip === 0 ? '' : '{';
  for (const item of items) {
    // Lists of built-in kinds lack kind and apiVersion of their items.
    yield Buffer.from(open);
    yield servedBytes(resource, item).subarray(skip === 0 ? 0 : skip + 1);
    open = skip === 0 ? ',' : ',{';
  }
  yield Buffer.from(']}');
}

function nextChunk(pieces: Generator<Buffer>, maxBytes: number): { bytes: Buffer; done: boolean } {
  const parts: Buffer[] = [];
  let size = 0;
  for (;;) {
    const { value, done } = pieces.next();
    if (done === true) return { bytes: Buffer.concat(parts, size), done: true };
    parts.push(value);
    size += value.length;
    if (size >= maxBytes) return { bytes: Buffer.concat(parts, size), done: false };
  }
}

/** An object that is not of the resource's kind, such as a Status or a review. */
export function respondOther(exchange: Exchange, code: number, value: unknown): void {
  exchange.respond(code, json, JSON.stringify(value));
}

function respondForm(
  { exchange, resource, presenter }: Responding,
  form: OutputForm,
  code: number,
  objects: KubeObject[],
  list?: ListMeta,
): void {
  const includeObject = exchange.query.get('includeObject') ?? '';
  const presentation = { form, resource, objects, includeObject, withColumns: true };
  const presented = presenter.present(list === undefined ? presentation : { ...presentation, list });
  respondOther(exchange, code, presented);
}

export function respondStatus(exchange: Exchange, status: Status): void {
  const retry = status.details?.retryAfterSeconds;
  const headers = retry === undefined ? json : { ...json, 'retry-after': String(retry) };
  exchange.respond(status.code ?? 200, headers, JSON.stringify(status));
}

export function respondError(exchange: Exchange, error: unknown): void {
  respondStatus(exchange, apiError(error).status);
}

/** Any other error is an internal error. */
export function apiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof StoreFull ? insufficientStorage(error.message, error) : internal(error);
}
