/** DELETE: removes an object, or marks it while it has finalizers or a grace period. */
import type { KubeObject } from '../../api/object.js';
import type { Status } from '../../api/status.js';
import { rfc3339 } from '../../clock.js';
import { type DeleteOptions, deleteOptions } from '../options.js';
import { decodeStored, encodeObject, keyOf } from '../requests/codec.js';
import { respondObject, respondOther, respondStored } from '../requests/respond.js';
import type { Resource } from '../resource.js';
import { conflict, notFound } from '../status-error.js';
import { RevisionConflict, type Store, type Stored } from '../store/store.js';
import { isDeletionComplete } from './change.js';
import { about, admissionRequest, thenMaybeSync, type VerbRequest, type WriteContext } from './verb.js';

const attempts = 20;

export type DeleteContext = Omit<WriteContext, 'random'>;

export async function deleteOne(request: VerbRequest, context: DeleteContext): Promise<void> {
  const { exchange, info, resource } = request;
  const options = await deleteOptions(exchange);
  const { object, stored, isGone } = await deleteObject(request, context, info.name, options);
  if (!isGone || resource.deletion?.returnsObject === true) {
    if (stored !== undefined && !isGone) respondStored(request, 200, stored);
    else respondObject(request, 200, object);
    return;
  }
  respondOther(exchange, 200, success(request, object));
}

function success({ info }: VerbRequest, { metadata }: KubeObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: metadata.name,
      ...(info.apiGroup === '' ? {} : { group: info.apiGroup }),
      kind: info.resource,
      ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
    },
  };
}

export interface Deleted {
  /** Its last state, or the marked object. */
  object: KubeObject;
  stored?: Stored;
  isGone: boolean;
}

export async function deleteObject(
  request: VerbRequest,
  context: DeleteContext,
  name: string,
  options: DeleteOptions,
): Promise<Deleted> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await deleteOnce(request, context, name, options);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      if (attempt === attempts) throw conflict(about(request), name);
    }
  }
}

function deleteOnce(
  request: VerbRequest,
  { store, admission, clock }: DeleteContext,
  name: string,
  options: DeleteOptions,
): Deleted | Promise<Deleted> {
  const { info, resource } = request;
  const current = store.latest(keyOf(resource, info.namespace, name));
  if (current === undefined) throw notFound(about(request), name);
  const old = decodeStored(resource, current.bytes);
  checkPreconditions(request, old, options);
  const details = { oldObject: old, dryRun: options.dryRun, options };
  const named = info.name === name ? request : { ...request, info: { ...info, name } };
  const admitted = admissionRequest(named, 'DELETE', details);
  return thenMaybeSync(admission.mutate(admitted), () =>
    thenMaybeSync(admission.validate(admitted), () => {
      const marked = markDeleted(old, resource, options, clock.now());
      return carryOut(resource, store, current, old, marked, options.dryRun);
    }),
  );
}

function checkPreconditions(request: VerbRequest, { metadata }: KubeObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {};
  // Kubernetes names the kind here, not the resource.
  const { resource, info } = request;
  const isNamespace = resource.kind === 'Namespace' && resource.group === '';
  const subject = { group: info.apiGroup, resource: isNamespace ? resource.plural : resource.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    const plain = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
    throw conflict(subject, metadata.name, isNamespace ? plain : why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    const plain = `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`;
    throw conflict(subject, metadata.name, isNamespace ? plain : why);
  }
}

/** The object marked for deletion; undefined when it does not change. */
export function markDeleted(
  old: KubeObject,
  resource: Resource,
  options: DeleteOptions,
  now: number,
): KubeObject | undefined {
  const object = structuredClone(old);
  const { metadata } = object;
  const requested = options.gracePeriodSeconds;
  const grace =
    resource.deletion?.gracePeriodSeconds?.(old, requested === undefined || requested >= 0 ? requested : 1) ?? 0;
  const pending = old.metadata.deletionGracePeriodSeconds;
  if (old.metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = rfc3339(now + grace * 1000);
    // Kinds with their own deletion steps are only marked.
    if (resource.deletion?.begin === undefined) {
      metadata.deletionGracePeriodSeconds = grace;
      if ((metadata.generation ?? 0) > 0) metadata.generation = metadata.generation! + 1;
    }
  } else if (pending !== undefined && pending > 0) {
    // The grace period can only be shortened.
    if (requested === undefined || grace >= pending) return undefined;
    const started = Date.parse(old.metadata.deletionTimestamp) - pending * 1000;
    metadata.deletionTimestamp = rfc3339(started + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
  }
  resource.deletion?.begin?.(object);
  return object;
}

async function carryOut(
  resource: Resource,
  store: Store,
  current: Stored,
  old: KubeObject,
  marked: KubeObject | undefined,
  dryRun: boolean,
): Promise<Deleted> {
  if (marked === undefined) return { object: old, stored: current, isGone: false };
  const isGone = isDeletionComplete(marked, resource);
  if (dryRun) return { object: isGone ? old : marked, isGone };
  const isChanged = JSON.stringify(marked) !== JSON.stringify(old);
  if (!isGone && !isChanged) return { object: old, stored: current, isGone: false };
  // Watchers get the last state of an immediately removed object without a deletionTimestamp. Kinds with
  // a grace period are always marked.
  const shown = isGone && resource.deletion?.gracePeriodSeconds === undefined ? old : marked;
  const encode = (revision: number) => encodeObject(resource, shown, revision);
  const stored = await store.write({ key: current.key, expected: current.revision, delete: isGone, encode });
  return { object: shown, stored, isGone };
}
