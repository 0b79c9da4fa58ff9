/** Reads a request body as an object of the resource's kind, with Kubernetes' error messages. */

import type { KubeObject } from '../../../api/object.js';
import { JsonSyntaxError, type ParsedJson, parseGoJson } from '../../../go/json.js';
import { goQuote } from '../../../go/quote.js';
import { readYaml as readGoYaml } from '../../../go/yaml/compose.js';
import { plainValue } from '../../../go/yaml/plain.js';
import { YamlError } from '../../../go/yaml/tokens.js';
import { isObject } from '../../../json.js';
import { invalidField } from '../field-error.js';
import { DecodeError, isCustom, type Resource } from '../resource.js';
import { decodeProtobuf, openEnvelope } from '../schema/protobuf.js';
import { hasKind } from '../schema/types.js';
import { badRequest, invalid, unsupportedMediaType } from '../status-error.js';
import { apiVersionOf } from './codec.js';
import type { Exchange } from './exchange.js';
import { type BodyFormat, bodyFormat } from './negotiate.js';

/** What happens with fields that the kind does not have. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Kubernetes' limit for any object. */
export const maxBodyBytes = 3 << 20;

/** A path in Kubernetes' source, which its error messages contain. */
const schemeName = 'pkg/api/legacyscheme/scheme.go:30';

export async function readObject(
  exchange: Exchange,
  resource: Resource,
  fieldValidation: FieldValidation,
  otherVersions: string[] = [],
): Promise<KubeObject> {
  const format = bodyFormat(exchange.header('content-type'));
  const body = await exchange.body(maxBodyBytes);
  const parsed = parseBody(body, format, resource);
  const { value } = parsed;
  if (fieldValidation !== 'Ignore') warnOfOtherVersion(exchange, value, resource);
  const type = checkType(value, body, resource, otherVersions);
  const complain = (why: string) =>
    badRequest(`${type.kind} in version ${goQuote(type.version)} cannot be handled as a ${resource.kind}: ${why}`);
  if (!type.matches) throw complain(type.why);
  const { object, complaints } = decodeValue(resource, value, parsed.duplicates, complain);
  report(exchange, fieldValidation, complaints, complain);
  return object;
}

/** A version that a CRD does not have has no fields; Kubernetes warns of that before it rejects the version itself. */
function warnOfOtherVersion(exchange: Exchange, value: unknown, resource: Resource): void {
  if (!isCustom(resource) || typeof value !== 'object' || value === null) return;
  const { apiVersion, kind, metadata: _, ...fields } = value as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || apiVersion === '' || apiVersion === apiVersionOf(resource) || !kind) return;
  for (const field of Object.keys(fields).sort()) exchange.warn(`unknown field ${goQuote(field)}`);
}

/** Decodes a parsed value and names unknown fields. */
export function decodeValue(
  resource: Resource,
  value: unknown,
  duplicates: string[],
  rejection: (why: string) => Error,
): { object: KubeObject; complaints: string[] } {
  try {
    // An empty body is an object without fields.
    const { object, unknownFields } = resource.decode(value ?? {}, 'json');
    normaliseType(object, resource);
    return { object, complaints: complaintsOf(value, duplicates, unknownFields) };
  } catch (error) {
    if (error instanceof DecodeError) throw rejection(error.message);
    throw error;
  }
}

/** In JSON errors are in the order of fields; in YAML duplicate keys come first. */
function complaintsOf(value: unknown, duplicates: string[], unknownFields: string[]): string[] {
  const unknown = unknownFields.map((path) => ({ path, text: `unknown field ${goQuote(path)}` }));
  if (duplicates.some((path) => path.startsWith(yamlComplaint)))
    return [...duplicates, ...unknown.map(({ text }) => text)];
  const twice = duplicates.map((path) => ({ path, text: `duplicate field ${goQuote(path)}` }));
  const all = [...twice, ...unknown];
  if (twice.length === 0 || unknown.length === 0) return all.map(({ text }) => text);
  const order = new Map(pathsIn(value, '').map((path, index) => [path, index]));
  const place = (path: string) => order.get(path) ?? order.size;
  return all.sort((a, b) => place(a.path) - place(b.path)).map(({ text }) => text);
}

/** Every path of a document, in its order. */
function pathsIn(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => pathsIn(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [at, ...pathsIn(item, at)];
  });
}

/** Strict rejects, Warn warns, Ignore does nothing. */
export function report(
  exchange: Exchange,
  fieldValidation: FieldValidation,
  complaints: string[],
  rejection: (why: string) => Error,
): void {
  if (complaints.length === 0 || fieldValidation === 'Ignore') return;
  if (fieldValidation === 'Strict') throw rejection(`strict decoding error: ${complaints.join(', ')}`);
  for (const complaint of complaints) for (const line of warningsOf(complaint)) exchange.warn(line);
}

const yamlComplaint = 'yaml: unmarshal errors:';

/** A YAML error of several lines becomes several warnings. */
export function warningsOf(complaint: string): string[] {
  const at = complaint.indexOf(yamlComplaint);
  return at === -1
    ? [complaint]
    : complaint
        .slice(at + yamlComplaint.length)
        .trim()
        .split(/\n\s*/);
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

/** Kinds without a shape, such as custom ones, have no protobuf encoding. */
export function readProtobuf(body: Buffer, shape: string | undefined): ParsedJson {
  if (shape === undefined) throw unsupportedMediaType(['application/json', 'application/yaml']);
  const { apiVersion, kind, raw } = openEnvelope(body);
  return { value: { kind, apiVersion, ...decodeProtobuf(shape, raw) }, duplicates: [] };
}

/** As Go's reader takes it; duplicate keys are reported, the last one is used. */
export function readYaml(text: string): ParsedJson {
  try {
    const { value, duplicates } = readGoYaml(text);
    const messages = duplicates.map(({ line, message }) => `  line ${line}: ${message}`);
    return {
      value: value === undefined ? null : plainValue(value),
      duplicates: messages.length === 0 ? [] : [`${yamlComplaint}\n${messages.join('\n')}`],
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

function checkType(value: unknown, body: Buffer, resource: Resource, otherVersions: string[]): FoundType {
  if (!isObject(value)) {
    if (value === null) return { kind: resource.kind, version: resource.version, matches: true, why: '' };
    const found = jsonKind(value);
    const struct =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const why = `json: cannot unmarshal ${found} into Go value of type ${struct}`;
    throw unrecognized(resource, `couldn't get version/kind; json parse error: ${why}`, body);
  }
  const { kind, apiVersion } = value as { kind?: unknown; apiVersion?: unknown };
  for (const [field, given] of Object.entries({ kind, apiVersion }))
    if (given !== undefined && given !== null && typeof given !== 'string') {
      const why = `json: cannot unmarshal ${jsonKind(given)} into Go struct field .${field} of type string`;
      throw unrecognized(resource, `couldn't get version/kind; json parse error: ${why}`, body);
    }
  if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2)
    throw unrecognized(resource, `unexpected GroupVersion string: ${apiVersion}`, body);
  // Custom kinds have no Go type as a fallback.
  if (isCustom(resource) && (typeof kind !== 'string' || kind === ''))
    throw unrecognized(resource, `Object 'Kind' is missing in '${body.toString('utf8').trimEnd()}'`, body);
  const given = { kind: typeof kind === 'string' && kind !== '' ? kind : resource.kind, apiVersion };
  const expected = apiVersionOf(resource);
  const full =
    typeof apiVersion === 'string' && (apiVersion !== '' || isCustom(resource))
      ? apiVersion
      : isCustom(resource)
        ? ''
        : expected;
  const version = full.split('/').at(-1)!;
  const isReadable = full === expected || otherVersions.includes(full);
  if (isReadable && given.kind === resource.kind) {
    return { kind: given.kind, version, matches: true, why: '' };
  }
  if (full !== expected && (isCustom(resource) || isOlder(full, resource.group))) {
    throw badRequest(`the API version in the data (${full}) does not match the expected API version (${expected})`);
  }
  // For custom resources the kind is checked in validation.
  if (isCustom(resource)) throw otherKind(value as KubeObject, given.kind, resource);
  const why = foreign(given.kind, full, resource);
  return { kind: given.kind, version, matches: false, why };
}

function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function otherKind({ metadata }: KubeObject, kind: string, { group, kind: wanted }: Resource): Error {
  return invalid({ group, kind }, metadata?.name ?? '', [invalidField('kind', kind, `must be ${wanted}`)]);
}

/** Versions that Kubernetes still decodes but no longer serves. */
const olderVersions: Record<string, readonly string[]> = {
  'admissionregistration.k8s.io': ['v1beta1', 'v1alpha1'],
  'apiextensions.k8s.io': ['v1beta1'],
  apps: ['v1beta1', 'v1beta2'],
  'authentication.k8s.io': ['v1beta1', 'v1alpha1'],
  'authorization.k8s.io': ['v1beta1'],
  'coordination.k8s.io': ['v1beta1', 'v1alpha2'],
  'events.k8s.io': ['v1beta1'],
  'rbac.authorization.k8s.io': ['v1beta1', 'v1alpha1'],
};

function isOlder(apiVersion: string, group: string): boolean {
  const known = Object.hasOwn(olderVersions, group) ? olderVersions[group]! : [];
  return known.some((version) => apiVersion === `${group}/${version}`);
}

/** A known kind cannot be converted to another; an unknown kind is not registered. */
function foreign(kind: string, apiVersion: string, resource: Resource): string {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const room = group === '' ? 'core' : group.split('.')[0]!;
  const isKnown =
    hasKind(`${room}.${version}.${kind.replace(/List$/, '')}`) || (apiVersion === 'v1' && kind === 'List');
  if (!isKnown || resource.shape === undefined) {
    return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme ${goQuote(schemeName)}`;
  }
  const wanted = resource.shape
    .split('.')
    .filter((_, at) => at !== 1)
    .join('.');
  return `converting (${version}.${kind}) to (${wanted}): unknown conversion`;
}

/** Go shows the beginning of what it could not parse. */
function unrecognized(resource: Resource, why: string, body: Buffer): Error {
  const max = 30;
  const shown = body.subarray(0, max);
  const text = body[0] === 0x7b ? shown.toString('utf8') : shown.toString('hex');
  const summary = body.length === 0 ? '<empty>' : `${text}${body.length > max ? ' ...' : ''}`;
  return badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): ${why} (${summary})`);
}
