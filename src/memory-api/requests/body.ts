/** Reads a request body as an object of the resource's kind. */

import type { KubeObject } from '../../api/object.js';
import { type ParsedJson, parseGoJson } from '../../go/json.js';
import { JsonError } from '../../go/json-reader.js';
import { quote } from '../../go/quote.js';
import { readYaml as readGoYaml } from '../../go/yaml/compose.js';
import { plainValue } from '../../go/yaml/plain.js';
import { YamlError } from '../../go/yaml/tokens.js';
import { isObject } from '../../json.js';
import { invalidField } from '../field-error.js';
import { DecodeError, isCustom, type Resource } from '../resource.js';
import { decodeProtobuf, openEnvelope } from '../schema/protobuf.js';
import { badRequest, invalid, unsupportedMediaType } from '../status-error.js';
import { apiVersionOf } from './codec.js';
import type { Exchange } from './exchange.js';
import { type BodyFormat, bodyFormat } from './negotiate.js';

/** Treatment of fields that the kind does not have. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Kubernetes' limit for any object. */
export const maxBodyBytes = 3 << 20;

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
  checkType(value, resource, otherVersions);
  const complain = (why: string) =>
    badRequest(
      `${resource.kind} in version ${quote(resource.version)} cannot be handled as a ${resource.kind}: ${why}`,
    );
  const { object, complaints } = decodeValue(resource, value, parsed.duplicates, complain);
  report(exchange, fieldValidation, complaints, complain);
  return object;
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
    return { object, complaints: complaintsOf(duplicates, unknownFields) };
  } catch (error) {
    if (error instanceof DecodeError) throw rejection(error.message);
    throw error;
  }
}

function complaintsOf(duplicates: string[], unknownFields: string[]): string[] {
  return [
    ...duplicates.map((path) => (path.startsWith(yamlComplaint) ? path : `duplicate field ${quote(path)}`)),
    ...unknownFields.map((path) => `unknown field ${quote(path)}`),
  ];
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
    if (isUnreadable(error)) throw unrecognized(resource, error.message);
    throw error;
  }
}

/** A body that is not of its format. */
export const isUnreadable = (error: unknown): error is DecodeError | JsonError | YamlError =>
  error instanceof DecodeError || error instanceof JsonError || error instanceof YamlError;

/** Kinds without a shape, such as custom ones, have no protobuf encoding. */
export function readProtobuf(body: Buffer, shape: string | undefined): ParsedJson {
  if (shape === undefined) throw unsupportedMediaType(['application/json', 'application/yaml']);
  const { apiVersion, kind, raw } = openEnvelope(body);
  return { value: { kind, apiVersion, ...decodeProtobuf(shape, raw) }, duplicates: [] };
}

/** As Go's reader takes it; duplicate keys are reported, the last one is used. Throws YamlError. */
export function readYaml(text: string): ParsedJson {
  const { value, duplicates } = readGoYaml(text);
  const messages = duplicates.map(({ line, message }) => `  line ${line}: ${message}`);
  return {
    value: value === undefined ? null : plainValue(value),
    duplicates: messages.length === 0 ? [] : [`${yamlComplaint}\n${messages.join('\n')}`],
  };
}

/** Throws if the body is of another kind or version; kind and version may be missing for built-in kinds. */
function checkType(value: unknown, resource: Resource, otherVersions: string[]): void {
  if (value === null) return;
  if (!isObject(value)) throw unrecognized(resource, 'it is not an object');
  const { kind = '', apiVersion = '' } = value;
  if (typeof kind !== 'string' || typeof apiVersion !== 'string')
    throw unrecognized(resource, 'kind and apiVersion must be texts');
  if (isCustom(resource) && kind === '') throw unrecognized(resource, "Object 'Kind' is missing");
  const expected = apiVersionOf(resource);
  const isRead =
    apiVersion === expected || otherVersions.includes(apiVersion) || (apiVersion === '' && !isCustom(resource));
  if (!isRead)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  if (kind === '' || kind === resource.kind) return;
  if (!isCustom(resource))
    throw badRequest(`${kind} in version ${quote(apiVersion)} cannot be handled as a ${resource.kind}`);
  const { metadata } = value as unknown as KubeObject;
  const wrong = invalidField('kind', kind, `must be ${resource.kind}`);
  throw invalid({ group: resource.group, kind }, metadata?.name ?? '', [wrong]);
}

function unrecognized(resource: Resource, why: string): Error {
  return badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): ${why}`);
}
