/** Reads a request body as an object of the resource's kind, and refuses what is none in Kubernetes' words. */
import { JsonSyntaxError, type ParsedJson, parseGoJson } from '../../api/go-json.js';
import { goQuote } from '../../api/go-quote.js';
import { readYaml as readGoYaml } from '../../api/go-yaml/compose.js';
import { plainValue } from '../../api/go-yaml/plain.js';
import { YamlError } from '../../api/go-yaml/tokens.js';
import type { KubeObject } from '../../api/object.js';
import { badRequest, unsupportedMediaType } from '../../api/status-error.js';
import type { FieldValidation } from '../options.js';
import { DecodeError, type Resource } from '../resource.js';
import { decodeProtobuf, openEnvelope } from '../schema/protobuf.js';
import { hasKind } from '../schema/types.js';
import { apiVersionOf } from './codec.js';
import type { Exchange } from './exchange.js';
import { type BodyFormat, bodyFormat } from './negotiate.js';

/** Kubernetes' limit for any object. */
export const maxBodyBytes = 3 << 20;

/** What is registered where is a fact about Kubernetes' own build; clients only ever show it. */
const schemeName = 'pkg/api/legacyscheme/scheme.go:30';

export async function readObject(
  exchange: Exchange,
  resource: Resource,
  fieldValidation: FieldValidation,
): Promise<KubeObject> {
  const format = bodyFormat(exchange.header('content-type'));
  const body = await exchange.body(maxBodyBytes);
  const parsed = parseBody(body, format, resource);
  const { value } = parsed;
  if (fieldValidation !== 'Ignore') warnOfOtherVersion(exchange, value, resource);
  const type = checkType(value, body, resource);
  const complain = (why: string) =>
    badRequest(`${type.kind} in version ${goQuote(type.version)} cannot be handled as a ${resource.kind}: ${why}`);
  if (!type.matches) throw complain(type.why);
  const { object, complaints } = decodeValue(resource, value, parsed.duplicates, complain);
  report(exchange, fieldValidation, complaints, complain);
  return object;
}

/** A version that a CRD does not have has no fields; Kubernetes says so before it refuses the version itself. */
function warnOfOtherVersion(exchange: Exchange, value: unknown, resource: Resource): void {
  if (resource.typedItems !== true || typeof value !== 'object' || value === null) return;
  const { apiVersion, kind, metadata: _, ...fields } = value as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || apiVersion === '' || apiVersion === apiVersionOf(resource) || !kind) return;
  for (const field of Object.keys(fields).sort()) exchange.warn(`unknown field ${goQuote(field)}`);
}

/** Decodes what was already parsed, naming the fields that do not belong there. */
export function decodeValue(
  resource: Resource,
  value: unknown,
  duplicates: string[],
  refuse: (why: string) => Error,
): { object: KubeObject; complaints: string[] } {
  try {
    const { object, unknownFields } = resource.decode(value, 'json');
    normaliseType(object, resource);
    const complaints = [
      ...duplicates.map((path) => (path.startsWith('yaml: ') ? path : `duplicate field ${goQuote(path)}`)),
      ...unknownFields.map((path) => `unknown field ${goQuote(path)}`),
    ];
    return { object, complaints };
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(error.message);
    throw error;
  }
}

/** Strict refuses, Warn tells, Ignore is silent. */
export function report(
  exchange: Exchange,
  fieldValidation: FieldValidation,
  complaints: string[],
  refuse: (why: string) => Error,
): void {
  if (complaints.length === 0 || fieldValidation === 'Ignore') return;
  if (fieldValidation === 'Strict') throw refuse(`strict decoding error: ${complaints.join(', ')}`);
  for (const complaint of complaints) exchange.warn(complaint);
}

export function normaliseType(object: KubeObject, resource: Resource): void {
  object.kind = resource.kind;
  object.apiVersion = apiVersionOf(resource);
  object.metadata ??= { name: '' };
}

function parseBody(body: Buffer, format: BodyFormat, resource: Resource): ParsedJson {
  const text = format === 'protobuf' ? '' : body.toString('utf8');
  try {
    if (format === 'protobuf') return readProtobuf(body, resource.shape);
    return format === 'json' ? parseGoJson(text) : readYaml(text);
  } catch (error) {
    if (error instanceof DecodeError) throw unrecognized(resource, error.message, body);
    if (!(error instanceof JsonSyntaxError)) throw error;
    const why = format === 'json' ? `couldn't get version/kind; json parse error: ${error.message}` : error.message;
    throw unrecognized(resource, why, body);
  }
}

/** Kinds without a shape of ours, such as custom ones, have no protobuf form. */
export function readProtobuf(body: Buffer, shape: string | undefined): ParsedJson {
  if (shape === undefined) throw unsupportedMediaType(['application/json', 'application/yaml']);
  const { apiVersion, kind, raw } = openEnvelope(body);
  return { value: { kind, apiVersion, ...decodeProtobuf(shape, raw) }, duplicates: [] };
}

/** As Go's reader takes it; keys that stand twice are reported, the last one counts. */
export function readYaml(text: string): ParsedJson {
  try {
    const { value, duplicates } = readGoYaml(text);
    const told = duplicates.map(({ line, message }) => `  line ${line}: ${message}`);
    return {
      value: value === undefined ? null : plainValue(value),
      duplicates: told.length === 0 ? [] : [`yaml: unmarshal errors:\n${told.join('\n')}`],
    };
  } catch (error) {
    if (error instanceof YamlError) throw new JsonSyntaxError(error.message);
    throw error;
  }
}

interface FoundType {
  kind: string;
  version: string;
  matches: boolean;
  why: string;
}

function checkType(value: unknown, body: Buffer, resource: Resource): FoundType {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (value === null) return { kind: resource.kind, version: resource.version, matches: true, why: '' };
    const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    const struct =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const why = `json: cannot unmarshal ${found} into Go value of type ${struct}`;
    throw unrecognized(resource, `couldn't get version/kind; json parse error: ${why}`, body);
  }
  const { kind, apiVersion } = value as { kind?: unknown; apiVersion?: unknown };
  // Kinds of CRDs have no types of their own to fall back on.
  if (resource.typedItems === true && (typeof kind !== 'string' || kind === ''))
    throw unrecognized(resource, `Object 'Kind' is missing in '${body.toString('utf8').trimEnd()}'`, body);
  const given = { kind: typeof kind === 'string' && kind !== '' ? kind : resource.kind, apiVersion };
  const expected = apiVersionOf(resource);
  const full = typeof apiVersion === 'string' && apiVersion !== '' ? apiVersion : expected;
  const version = full.split('/').at(-1)!;
  const isReadable = full === expected || resource.readsAlso?.includes(full) === true;
  if (isReadable && given.kind === resource.kind) {
    return { kind: given.kind, version, matches: true, why: '' };
  }
  if (full !== expected && given.kind === resource.kind && resource.typedItems === true) {
    throw badRequest(`the API version in the data (${full}) does not match the expected API version (${expected})`);
  }
  const why = foreign(given.kind, full, resource);
  return { kind: given.kind, version, matches: false, why };
}

/** A kind that Kubernetes knows cannot become another one; one that it does not know is nothing. */
function foreign(kind: string, apiVersion: string, resource: Resource): string {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const room = group === '' ? 'core' : group.split('.')[0]!;
  const isKnown = hasKind(`${room}.${version}.${kind}`) || (apiVersion === 'v1' && kind === 'List');
  if (!isKnown || resource.shape === undefined) {
    return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme ${goQuote(schemeName)}`;
  }
  const wanted = resource.shape
    .split('.')
    .filter((_, at) => at !== 1)
    .join('.');
  return `converting (${version}.${kind}) to (${wanted}): unknown conversion`;
}

/** Go shows the beginning of what it could not read. */
function unrecognized(resource: Resource, why: string, body: Buffer): Error {
  const max = 30;
  const shown = body.subarray(0, max);
  const text = body[0] === 0x7b ? shown.toString('utf8') : shown.toString('hex');
  const summary = body.length === 0 ? '<empty>' : `${text}${body.length > max ? ' ...' : ''}`;
  return badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): ${why} (${summary})`);
}
