/** Tracks ownership of fields for requests: the manager, the schema, and metadata.managedFields afterwards. */
import type { KubeObject } from '../../api/object.js';
import { rfc3339 } from '../../clock.js';
import { type FieldSet, fromPaths, nothing } from '../apply/field-set.js';
import { isReset, type Manager, readManagers, sortManagers } from '../apply/managers.js';
import { ItemError, type JsonMap, type MergeSchema } from '../apply/merge-schema.js';
import { afterUpdate, type Write } from '../apply/ownership.js';
import { isSameJson } from '../json-equality.js';
import type { WriteOptions } from '../options.js';
import { apiVersionOf } from '../requests/codec.js';
import type { Resource } from '../resource.js';
import { linkedSchema } from '../schema/linked.js';
import type { VerbRequest } from './verb.js';

/** Updates managedFields after a create, update or patch. `old` is absent for a new object. */
export function trackUpdate(
  request: VerbRequest,
  options: WriteOptions,
  nowMs: number,
  object: KubeObject,
  old?: KubeObject,
): void {
  const { managedFields: given, ...metadata } = object.metadata;
  object.metadata = metadata;
  // They cannot be set through a subresource.
  const isOwnPlace = request.info.subresource === '';
  if (isOwnPlace && old !== undefined && isReset(given)) return;
  const managers = (isOwnPlace ? sentManagers(given, old) : undefined) ?? storedManagers(old);
  // An object without managers is tracked from the first apply on.
  if (old !== undefined && managers.length === 0) return;
  const name = options.fieldManager || userAgentName(request.exchange.header('user-agent') ?? '');
  const by = writer(request, name, 'Update', nowMs);
  try {
    const after = afterUpdate(writeOf(request.resource, request.info.subresource, { live: old, managers, by }), object);
    setManagers(object, after);
  } catch (error) {
    // Lists whose items cannot be distinguished have no owners; the write itself is valid.
    if (!(error instanceof ItemError)) throw error;
  }
}

/** The managers sent by the client; undefined if they are unchanged or unreadable. */
function sentManagers(given: unknown[] | undefined, old: KubeObject | undefined): Manager[] | undefined {
  if (given === undefined || isSameJson(given, old?.metadata.managedFields)) return undefined;
  const sent = readManagers(given);
  return sent?.length === 0 ? undefined : sent;
}

/** Stored managers were validated when they were written. */
function storedManagers(object: KubeObject | undefined): Manager[] {
  return (object?.metadata.managedFields ?? []) as Manager[];
}

export function setManagers(object: KubeObject, managers: Manager[]): void {
  if (managers.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = sortManagers(managers);
}

export function writer(
  { resource, info }: VerbRequest,
  name: string,
  operation: Manager['operation'],
  nowMs: number,
): Manager {
  return {
    manager: name || 'unknown',
    operation,
    apiVersion: apiVersionOf(resource),
    time: rfc3339(nowMs),
    fieldsType: 'FieldsV1',
    fieldsV1: nothing,
    ...(info.subresource === '' ? {} : { subresource: info.subresource }),
  };
}

/** `kubectl` of `kubectl/v1.32.1 (linux/amd64)`. */
function userAgentName(userAgent: string): string {
  const name = userAgent.split('/', 1)[0]!;
  if (/^[ -~]{0,128}$/.test(name)) return name;
  return Buffer.from(name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ''))
    .subarray(0, 128)
    .toString();
}

export function writeOf(
  resource: Resource,
  subresource: string,
  { live, managers, by }: { live: KubeObject | undefined; managers: Manager[]; by: Manager },
): Write {
  return {
    live: live === undefined ? emptyObject(resource) : withoutManagers(live),
    managers,
    by,
    schema: mergeSchema(resource),
    reset: resetFields(resource, subresource),
  };
}

export function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const emptyObjects = new WeakMap<Resource, JsonMap>();

/** An empty object of the kind: with structs, without pointers. */
function emptyObject(resource: Resource): JsonMap {
  let empty = emptyObjects.get(resource);
  if (empty === undefined) {
    const type = { kind: resource.kind, apiVersion: apiVersionOf(resource) };
    empty = resource.shape === undefined ? type : resource.decode(type, 'json').object;
    emptyObjects.set(resource, empty);
  }
  return empty;
}

const customSchemas = new WeakMap<object, MergeSchema>();

/** Schemas of CRDs lack metadata, which is the same for all objects. */
export function mergeSchema({ shape, schema }: Resource): MergeSchema {
  const own = schema as MergeSchema;
  if (shape !== undefined) return own;
  let whole = customSchemas.get(own);
  if (whole === undefined) {
    const text: MergeSchema = { type: 'string' };
    const metadata = linkedSchema('meta.v1.ObjectMeta');
    whole = { ...own, properties: { ...own.properties, apiVersion: text, kind: text, metadata } };
    customSchemas.set(own, whole);
  }
  return whole;
}

const resets = new WeakMap<Resource, Map<string, FieldSet>>();

function resetFields(resource: Resource, subresource: string): FieldSet {
  let known = resets.get(resource);
  if (known === undefined) {
    known = new Map();
    resets.set(resource, known);
  }
  let fields = known.get(subresource);
  if (fields === undefined) {
    fields = fromPaths(...resetPaths(resource, subresource).map((path) => path.split('.').map((name) => `f:${name}`)));
    known.set(subresource, fields);
  }
  return fields;
}

function resetPaths(resource: Resource, subresource: string): string[] {
  if (!('status' in resource.subresources)) return [];
  return subresource === 'status' ? ['spec', ...resource.strategy.statusResetFields] : ['status'];
}
