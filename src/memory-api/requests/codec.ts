/**
 * Objects as bytes: JSON in the stored version, kind and apiVersion first, so that lists can cut them off without
 * parsing.
 */
import type { KubeObject } from '../../api/object.js';
import type { Resource } from '../resource.js';
import { requestEntityTooLarge } from '../status-error.js';
import type { Collection, Key, Stored } from '../store/store.js';

/** The store collection of a resource. */
export function collectionOf(resource: Resource): Collection {
  const { stored } = resource;
  return stored === undefined
    ? { group: resource.group, resource: resource.plural }
    : { group: stored.group, resource: stored.resource };
}

export function keyOf(resource: Resource, namespace: string, name: string): Key {
  const { group, resource: plural } = collectionOf(resource);
  return { group, resource: plural, namespace: resource.namespaced ? namespace : '', name };
}

/** The kind in validation errors: that of the stored version. */
export function storedKind({ stored, group, kind }: Resource): { group: string; kind: string } {
  return stored === undefined ? { group, kind } : stored;
}

export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The object as this resource serves it. */
export function decodeStored(resource: Resource, bytes: Buffer): KubeObject {
  const object = JSON.parse(bytes.toString('utf8')) as KubeObject;
  return resource.stored === undefined ? object : resource.stored.fromStored(object);
}

/**
 * The largest stored object: patches could otherwise grow it without limit. etcd takes 1.5 MiB of protobuf; this is more
 * than that as JSON, so everything that a real server accepts is accepted.
 */
const maxObjectBytes = 8 << 20;

/** As stored; throws if it is too large. */
export function encodeWithinLimit(resource: Resource, object: KubeObject, revision: number): Buffer {
  const bytes = encodeObject(resource, object, revision);
  if (bytes.length > maxObjectBytes)
    throw requestEntityTooLarge(`an object may have ${maxObjectBytes} bytes, this would have ${bytes.length}`);
  return bytes;
}

/** As stored, with its revision. The object is not changed. */
export function encodeObject(resource: Resource, object: KubeObject, revision: number): Buffer {
  const shown = resource.stored === undefined ? object : resource.stored.toStored(object);
  const { kind, apiVersion } = storedType(resource);
  const { kind: _, apiVersion: __, metadata, ...rest } = shown;
  const meta = revision === 0 ? metadata : { ...metadata, resourceVersion: String(revision) };
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: meta, ...rest }));
}

/**
 * The same object with another revision, without encoding it again. Metadata comes first, and inside a JSON string every
 * quote has a backslash before it: the first match is metadata.resourceVersion.
 */
export function withRevision(bytes: Buffer, from: number, to: number): Buffer {
  const at = bytes.indexOf(`"resourceVersion":"${from}"`) + revisionAt;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(String(to)), bytes.subarray(at + String(from).length)]);
}

const revisionAt = '"resourceVersion":"'.length;

/** As served: the stored bytes themselves where possible. */
export function servedBytes(resource: Resource, stored: Stored): Buffer {
  if (resource.stored === undefined) return stored.bytes;
  return servedEncoding(resource, decodeStored(resource, stored.bytes));
}

export function servedEncoding(resource: Resource, object: KubeObject): Buffer {
  const { kind: _, apiVersion: __, ...rest } = object;
  return Buffer.from(JSON.stringify({ kind: resource.kind, apiVersion: apiVersionOf(resource), ...rest }));
}

/** The length of `"kind":"Node","apiVersion":"v1",` behind the opening brace of served bytes. */
export function typePrefixLength(resource: Resource): number {
  return Buffer.byteLength(JSON.stringify({ kind: resource.kind, apiVersion: apiVersionOf(resource) })) - 1;
}

function storedType(resource: Resource): { kind: string; apiVersion: string } {
  const { stored } = resource;
  return stored === undefined
    ? { kind: resource.kind, apiVersion: apiVersionOf(resource) }
    : { kind: stored.kind, apiVersion: apiVersionOf(stored) };
}
