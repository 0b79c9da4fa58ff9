/** POST: creates an object with its name or one generated from generateName. */
import type { KubeObject } from '../../api/object.js';
import { fillSystemFields, generateName, validateNewMeta } from '../object-meta.js';
import { type WriteOptions, writeOptions } from '../options.js';
import { readObject } from '../requests/body.js';
import { encodeWithinLimit, keyOf, storedKind } from '../requests/codec.js';
import { respondObject, respondStored } from '../requests/respond.js';
import type { Resource } from '../resource.js';
import { alreadyExists, badRequest, generateNameConflict, invalid, plainInternal } from '../status-error.js';
import { RevisionConflict, type Store, type Stored } from '../store/store.js';
import { trackUpdate } from './track-owners.js';
import { about, admissionRequest, thenMaybeSync, type VerbRequest, type WriteContext } from './verb.js';

const revisionOnCreate = 'resourceVersion should not be set on objects to be created';
/** A generated name that is taken is tried again, as often as Kubernetes does. */
const generateAttempts = 8;

export async function create(request: VerbRequest, context: WriteContext): Promise<void> {
  const { exchange, info, resource } = request;
  const options = writeOptions(exchange.query, 'CreateOptions');
  const object = await readObject(exchange, resource, options.fieldValidation);
  setNamespace(object, resource, info.namespace);
  if (resource.answer !== undefined) {
    // Reviews have no columns.
    const plain = { ...request, form: undefined };
    return respondObject(plain, 201, await resource.answer(object, info.user));
  }
  const made = await createObject(request, context, object, options);
  if (made.stored !== undefined) respondStored(request, 201, made.stored);
  else respondObject(request, 201, made.object);
}

/** `stored` is absent on a dry run. Also used by PUT and apply where they may create. */
export async function createObject(
  request: VerbRequest,
  context: WriteContext,
  draft: KubeObject,
  options: WriteOptions,
  isApplied = false,
): Promise<{ object: KubeObject; stored?: Stored }> {
  const given = draft.metadata.resourceVersion ?? '';
  const isGenerated = (draft.metadata.name ?? '') === '' && (draft.metadata.generateName ?? '') !== '';
  for (let attempt = 1; ; attempt++) {
    const object = isGenerated ? structuredClone(draft) : draft;
    if (isGenerated) object.metadata.name = generateName(object.metadata.generateName!, context.random);
    try {
      return await createOnce(request, context, object, options, { isApplied, givenRevision: given });
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
      const { name } = object.metadata;
      if (!isGenerated) throw alreadyExists(about(request), name);
      if (attempt === generateAttempts) throw generateNameConflict(about(request), name);
    }
  }
}

interface Origin {
  isApplied: boolean;
  /** metadata.resourceVersion as the client sent it. */
  givenRevision: string;
}

function createOnce(
  request: VerbRequest,
  context: WriteContext,
  object: KubeObject,
  options: WriteOptions,
  origin: Origin,
) {
  const { info, resource } = request;
  const { admission, clock, random, tracksManagers = true } = context;
  fillSystemFields(object, clock.now(), random);
  const { name = '' } = object.metadata;
  resource.strategy.setDefaults(object);
  if (!origin.isApplied && tracksManagers) trackUpdate(request, options, clock.now(), object);
  const details = { object, dryRun: options.dryRun, options };
  // POST has no name in its path; admission gets that of the object.
  const named = info.name === '' ? { ...request, info: { ...info, name } } : request;
  const admitted = admissionRequest(named, 'CREATE', details);
  return thenMaybeSync(admission.mutate(admitted), () => {
    prepare(request, object);
    return thenMaybeSync(admission.validate(admitted), () => {
      // Checked last, as by the store of Kubernetes.
      if (!options.dryRun && !origin.isApplied && /[1-9]/.test(origin.givenRevision))
        throw plainInternal(revisionOnCreate);
      return write(request, context.store, object, options);
    });
  });
}

function prepare({ exchange, resource }: VerbRequest, object: KubeObject): void {
  resource.strategy.prepareForCreate(object);
  if (resource.strategy.hasGeneration) object.metadata.generation = 1;
  const errors = [...validateNewMeta(object, resource), ...resource.strategy.validateCreate(object)];
  if (errors.length > 0) throw invalid(storedKind(resource), object.metadata.name ?? '', errors);
  for (const warning of resource.strategy.warnings(object, '')) exchange.warn(warning);
}

async function write({ resource }: VerbRequest, store: Store, object: KubeObject, options: WriteOptions) {
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name);
  if (options.dryRun) {
    const current = store.latest(key);
    if (current !== undefined) throw new RevisionConflict(key, current);
    return { object };
  }
  const encode = (revision: number) => encodeWithinLimit(resource, object, revision);
  return { object, stored: await store.write({ key, expected: 0, delete: false, encode }) };
}

/** Takes the namespace from the path; an object with another one is rejected. Cluster-scoped kinds have none. */
export function setNamespace(object: KubeObject, { namespaced }: Resource, namespace: string): void {
  if (!namespaced) {
    delete object.metadata.namespace;
    return;
  }
  const given = object.metadata.namespace ?? '';
  if (given === namespace) return;
  if (given !== '') {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  object.metadata.namespace = namespace;
}
