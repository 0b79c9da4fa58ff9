/** Responses: stored bytes without parsing where possible; Table, YAML and pretty forms on request. */
import type { KubeObject } from '../../api/object.js';
import { ApiError, type Status } from '../../api/status.js';
import { isCustom, type Resource } from '../resource.js';
import { insufficientStorage, internal } from '../status-error.js';
import { type Stored, StoreFull } from '../store/store.js';
import { apiVersionOf, decodeStored, servedBytes, servedEncoding, typePrefixLength } from './codec.js';
import type { Exchange, ResponseHeaders } from './exchange.js';
import { errorOutput, type Output } from './negotiate.js';
import type { ListMeta, Presenter } from './presenter.js';
import { goYaml } from './yaml-answer.js';

const json: ResponseHeaders = { 'content-type': 'application/json' };
/** Responses up to this size are sent whole, with a length. */
const wholeBytes = 256 << 10;
const chunkBytes = 64 << 10;

/** What a response needs of its request. */
export interface Responding {
  exchange: Exchange;
  resource: Resource;
  output: Output;
  presenter: Presenter;
}

export function respondStored(request: Responding, code: number, stored: Stored): void {
  if (isPlain(request.output)) request.exchange.respond(code, json, servedBytes(request.resource, stored));
  else respondForm(request, code, [decodeStored(request.resource, stored.bytes)]);
}

export function respondObject(request: Responding, code: number, object: KubeObject): void {
  if (isPlain(request.output)) request.exchange.respond(code, json, servedEncoding(request.resource, object));
  else respondForm(request, code, [object]);
}

/** Items are read one after the other while they are sent, so that a list of any length needs little memory. */
export async function respondList(request: Responding, items: Stored[], list: ListMeta): Promise<void> {
  const { exchange, resource, output } = request;
  if (!isPlain(output)) {
    const objects = items.map((item) => decodeStored(resource, item.bytes));
    return respondForm(request, 200, objects, list);
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
export function respondOther(exchange: Exchange, output: Output, code: number, value: unknown): void {
  if (output.type === 'yaml') {
    exchange.respond(code, { 'content-type': 'application/yaml' }, goYaml(value));
  } else {
    const text = output.pretty ? `${JSON.stringify(value, null, 2)}\n` : JSON.stringify(value);
    exchange.respond(code, json, text);
  }
}

function respondForm(request: Responding, code: number, objects: KubeObject[], list?: ListMeta): void {
  const { exchange, output, resource, presenter } = request;
  const { form } = output;
  if (form === undefined) {
    const apiVersion = apiVersionOf(resource);
    const typed = objects.map((object) => ({ ...object, kind: resource.kind, apiVersion }));
    const items = isCustom(resource) ? typed : typed.map(({ kind: _, apiVersion: __, ...item }) => item);
    const value = list === undefined ? typed[0] : { kind: resource.names.listKind, apiVersion, metadata: list, items };
    respondOther(exchange, output, code, value);
    return;
  }
  const includeObject = exchange.query.get('includeObject') ?? '';
  const presentation = { form, resource, objects, includeObject, withColumns: true };
  const presented = presenter.present(list === undefined ? presentation : { ...presentation, list });
  respondOther(exchange, output, code, presented);
}

export function respondStatus(exchange: Exchange, status: Status): void {
  const retry = status.details?.retryAfterSeconds;
  const isYaml = errorOutput(exchange.header('accept')) === 'yaml';
  const type = isYaml ? 'application/yaml' : 'application/json';
  const headers = { 'content-type': type, ...(retry === undefined ? {} : { 'retry-after': String(retry) }) };
  exchange.respond(status.code ?? 200, headers, isYaml ? goYaml(status) : JSON.stringify(status));
}

export function respondError(exchange: Exchange, error: unknown): void {
  respondStatus(exchange, apiError(error).status);
}

/** Any other error is an internal error. */
export function apiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof StoreFull ? insufficientStorage(error.message, error) : internal(error);
}

function isPlain(output: Output): boolean {
  return output.type === 'json' && !output.pretty && output.form === undefined;
}
