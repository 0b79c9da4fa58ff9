/** The read-modify-write of PUT and PATCH, retried on conflict. */

import type { KubeObject } from '../../api/object.js';
import { quote } from '../../go/quote.js';
import { invalidField } from '../field-error.js';
import { isSameJson } from '../json-equality.js';
import { validateChangedMeta } from '../object-meta.js';
import type { WriteOptions } from '../options.js';
import { decodeStored, encodeWithinLimit, keyOf, storedKind, withRevision } from '../requests/codec.js';
import { isCustom, type Resource } from '../resource.js';
import { badRequest, conflict, invalid, notFound, plainInternal } from '../status-error.js';
import { RevisionConflict, type Store, type Stored } from '../store/store.js';
import { createObject, setNamespace } from './create.js';
import { trackUpdate } from './track-owners.js';
import { about, admissionRequest, thenMaybeSync, type VerbRequest, type WriteContext } from './verb.js';

/** Retries on conflict. Without asynchronous admission there are none. */
const attempts = 20;

export interface ChangePlan {
  options: WriteOptions;
  /** The new object, given the current one; undefined when there is none (and `createsMissing`). May be called again. */
  produce(current: KubeObject | undefined): KubeObject;
  /** A missing object is created. */
  createsMissing: boolean;
  /** Set for an apply, which tracks field ownership itself. */
  isApplied?: boolean;
  /** The uid that the stored object must have (PUT with a uid). */
  expectedUid?: string | undefined;
}

export interface Changed {
  object: KubeObject;
  /** Absent on a dry run, and where the change removed the last finalizer of an object in deletion. */
  stored?: Stored;
  isNew: boolean;
}

export async function changeObject(request: VerbRequest, context: WriteContext, plan: ChangePlan): Promise<Changed> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await changeOnce(request, context, plan);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      if (attempt === attempts) throw conflict(about(request), request.info.name);
    }
  }
}

function changeOnce(request: VerbRequest, context: WriteContext, plan: ChangePlan): Changed | Promise<Changed> {
  const { info, resource } = request;
  const { store, admission, clock } = context;
  const key = keyOf(resource, info.namespace, info.name);
  const current = store.latest(key);
  if (current === undefined) return createMissing(request, context, plan);
  // Read once: `bytes` reads from the store each time.
  const before = { key, revision: current.revision, bytes: current.bytes };
  const old = decodeStored(resource, before.bytes);
  checkUid(plan.expectedUid, old, request);
  const object = plan.produce(old);
  checkIdentity(object, request);
  checkRevision(object, current.revision, request);
  carryOver(object, old);
  resource.strategy.setDefaults(object);
  if (plan.isApplied !== true) trackUpdate(request, plan.options, clock.now(), object, old);
  const admitted = admissionRequest(request, 'UPDATE', {
    object,
    oldObject: old,
    dryRun: plan.options.dryRun,
    options: plan.options,
  });
  return thenMaybeSync(admission.mutate(admitted), () => {
    prepare(request, object, old);
    return thenMaybeSync(admission.validate(admitted), () =>
      write(request, store, object, before, plan.options.dryRun),
    );
  });
}

async function createMissing(request: VerbRequest, context: WriteContext, plan: ChangePlan): Promise<Changed> {
  if (!plan.createsMissing) throw notFound(about(request), request.info.name);
  const object = plan.produce(undefined);
  checkIdentity(object, request);
  return { ...(await createObject(request, context, object, plan.options, plan.isApplied)), isNew: true };
}

function checkUid(expected: string | undefined, old: KubeObject, request: VerbRequest): void {
  if (expected === undefined || expected === '' || expected === old.metadata.uid) return;
  const { info, resource } = request;
  const why = `Precondition failed: UID in precondition: ${expected}, UID in object meta: ${old.metadata.uid}`;
  throw conflict(about(request), info.name, storageError(registryKey(resource, info.namespace, info.name), why));
}

function storageError(key: string, why: string): string {
  return `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
}

/** The key in etcd, which is part of one error message of Kubernetes. */
function registryKey(resource: Resource, namespace: string, name: string): string {
  const isOwnGroup = isCustom(resource) || resource.group === 'apiextensions.k8s.io';
  const plural = resource.group === '' && resource.plural === 'nodes' ? 'minions' : resource.plural;
  const parts = ['/registry', isOwnGroup ? resource.group : '', plural, resource.namespaced ? namespace : '', name];
  return parts.filter((part) => part !== '').join('/');
}

/** Name and namespace of the object must match the path. */
function checkIdentity(object: KubeObject, { info, resource }: VerbRequest): void {
  const name = object.metadata.name ?? '';
  if (name === '') {
    throw badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== info.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${info.name})`);
  }
  setNamespace(object, resource, info.namespace);
}

function checkRevision(object: KubeObject, current: number, request: VerbRequest): void {
  const { resource, info } = request;
  const given = object.metadata.resourceVersion ?? '';
  if (given === '' || given === '0') {
    if (!resource.strategy.allowUnconditionalUpdate) {
      const error = invalidField('metadata.resourceVersion', given, 'must be specified for an update');
      throw invalid({ group: info.apiGroup, kind: info.resource }, info.name, [error]);
    }
    object.metadata.resourceVersion = String(current);
  } else if (!/^\d+$/.test(given)) {
    throw plainInternal(`metadata.resourceVersion must be a number, not ${quote(given)}`);
  } else if (Number(given) !== current) throw conflict(about(request), info.name);
}

/** Fields that no update may change. */
function carryOver(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  metadata.uid ||= old.metadata.uid!;
  copy(metadata, old.metadata, 'generation');
  copy(metadata, old.metadata, 'creationTimestamp');
  delete (metadata as { selfLink?: string }).selfLink;
  if (old.metadata.deletionTimestamp !== undefined) copy(metadata, old.metadata, 'deletionTimestamp');
  if (metadata.deletionGracePeriodSeconds === undefined) copy(metadata, old.metadata, 'deletionGracePeriodSeconds');
}

function copy<T extends object, K extends keyof T>(to: T, from: T, key: K): void {
  if (from[key] === undefined) delete to[key];
  else to[key] = from[key];
}

function prepare({ exchange, info, resource }: VerbRequest, object: KubeObject, old: KubeObject): void {
  resource.strategy.prepareForUpdate(object, old, info.subresource);
  if (resource.strategy.hasGeneration && info.subresource !== 'status' && isSpecChanged(object, old, resource)) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  const errors = [
    ...validateChangedMeta(object, old, resource),
    ...resource.strategy.validateUpdate(object, old, info.subresource),
  ];
  if (errors.length > 0) throw invalid(storedKind(resource), info.name, errors);
  for (const warning of resource.strategy.warnings(object, info.subresource)) exchange.warn(warning);
}

/** Compares all but metadata, and status where it is a subresource. */
function isSpecChanged(object: KubeObject, old: KubeObject, resource: Resource): boolean {
  const specOf = ({ metadata: _, apiVersion: __, kind: ___, status, ...spec }: KubeObject) =>
    'status' in resource.subresources ? spec : { ...spec, status };
  return !isSameJson(specOf(object), specOf(old));
}

async function write(
  { resource }: VerbRequest,
  store: Store,
  object: KubeObject,
  current: Stored,
  dryRun: boolean,
): Promise<Changed> {
  const { key } = current;
  const isLast = isDeletionComplete(object, resource);
  const bytes = encodeWithinLimit(resource, object, current.revision);
  if (!isLast && isUnchanged(bytes, current.bytes)) {
    // The state that was read may not be durable yet; wait before answering.
    if (store.get(key)?.revision !== current.revision) await store.settled();
    return { object, stored: current, isNew: false };
  }
  if (dryRun) return { object, isNew: false };
  // Watchers get the state before the write that removed the finalizer.
  const last = isLast ? current.bytes : bytes;
  const encode = (revision: number) => withRevision(last, current.revision, revision);
  const stored = await store.write({ key, expected: current.revision, delete: isLast, encode });
  // The client gets what it wrote, with the old resourceVersion.
  return isLast ? { object, isNew: false } : { object, stored, isNew: false };
}

/** Whether an object in deletion has no finalizers and no grace period left. */
export function isDeletionComplete(object: KubeObject, resource: Resource): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds !== 0 || finalizers.length > 0) return false;
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  const spec = object.spec as { finalizers?: string[] } | undefined;
  return !isNamespace || (spec?.finalizers ?? []).length === 0;
}

/** A write that changes nothing creates no revision. Bytes of equal length may still differ in the order of keys. */
function isUnchanged(after: Buffer, before: Buffer): boolean {
  if (after.length !== before.length) return false;
  if (after.equals(before)) return true;
  // Reordered keys give the same bytes in another order.
  if (sumOf(after) !== sumOf(before)) return false;
  return isSameJson(JSON.parse(after.toString()), JSON.parse(before.toString()));
}

function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at++) sum += bytes[at]!;
  return sum;
}
