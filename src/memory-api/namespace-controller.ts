/**
 * Namespace controller: creates the system namespaces at start, and empties a namespace before it is removed.
 *
 *     Active ──DELETE──► Terminating ──everything in it is gone──► finalizer `kubernetes` removed ──► gone
 *                            └─ objects with finalizers delay it until those are cleared
 */
import type { KubeObject } from '../api/object.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { type CreateContext, changeStored, deleteOrMark, ensureObject } from './own-objects.js';
import type { Registry } from './registry.js';
import { collectionOf } from './requests/codec.js';
import type { Key, Store } from './store/store.js';

const namespaces = { group: '', resource: 'namespaces' };
export const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const ownFinalizer = 'kubernetes';

export interface NamespaceControllerOptions {
  store: Store;
  registry: Registry;
  clock: Clock;
  log: Log;
}

/** Resolves when the system's namespaces exist. */
export async function ensureSystemNamespaces(context: CreateContext, registry: Registry): Promise<void> {
  const resource = registry.find('', 'v1', 'namespaces')!;
  await Promise.all(
    systemNamespaces.map((name) =>
      ensureObject(context, resource, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
    ),
  );
}

/** Watches namespaces, and the objects in those that terminate, until the returned function is called. */
export function startNamespaceController(options: NamespaceControllerOptions): () => void {
  const { store, log } = options;
  const terminating = new Map<string, () => void>();

  const look = (name: string) => {
    void empty(options, name).catch((error: unknown) => {
      log.error('cannot empty namespace, retrying at its next change', { namespace: name, error });
    });
  };
  const follow = (key: Key, bytes: Buffer, isGone: boolean) => {
    const { deletionTimestamp } = (JSON.parse(bytes.toString('utf8')) as KubeObject).metadata;
    if (isGone) {
      terminating.get(key.name)?.();
      terminating.delete(key.name);
    } else if (deletionTimestamp !== undefined) {
      if (!terminating.has(key.name)) terminating.set(key.name, watchContent(options, key.name, look));
      look(key.name);
    }
  };
  const stop = store.subscribe(namespaces, ({ key, bytes, type }) => follow(key, bytes, type === 'deleted'));
  for (const { key, bytes } of store.list(namespaces).items) follow(key, bytes, false);
  return () => {
    stop();
    for (const leave of terminating.values()) leave();
  };
}

/** Any deletion in the namespace may have been the last. */
function watchContent(
  { store, registry }: NamespaceControllerOptions,
  namespace: string,
  look: (namespace: string) => void,
): () => void {
  const leave = contentCollections(registry).map((collection) =>
    store.subscribe({ ...collection, namespace }, ({ type }) => {
      if (type === 'deleted') look(namespace);
    }),
  );
  return () => {
    for (const each of leave) each();
  };
}

async function empty({ store, registry, clock }: NamespaceControllerOptions, namespace: string): Promise<void> {
  const content = contentCollections(registry).flatMap((collection) => store.list({ ...collection, namespace }).items);
  await Promise.all(content.map(({ key }) => changeStored(store, key, (object) => deleteOrMark(object, clock.now()))));
  const isEmpty = contentCollections(registry).every((collection) => store.count({ ...collection, namespace }) === 0);
  if (!isEmpty) return;
  await changeStored(store, { ...namespaces, namespace: '', name: namespace }, (object) => {
    const spec = object.spec as { finalizers?: string[] } | undefined;
    const left = (spec?.finalizers ?? []).filter((name) => name !== ownFinalizer);
    if (left.length === 0 && (object.metadata.finalizers ?? []).length === 0) return 'delete';
    if (left.length === spec?.finalizers?.length) return undefined;
    object.spec = left.length === 0 ? {} : { ...spec, finalizers: left };
    return object;
  });
}

/** Every collection that has objects in namespaces, once. */
function contentCollections(registry: Registry): { group: string; resource: string }[] {
  const collections = registry
    .all()
    .filter((resource) => resource.namespaced && resource.answer === undefined)
    .map(collectionOf);
  return [
    ...new Map(collections.map((collection) => [`${collection.group}/${collection.resource}`, collection])).values(),
  ];
}
