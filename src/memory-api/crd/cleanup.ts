/**
 * Deletion of a CRD: objects of its kind are deleted first, then the definition.
 *
 *     Established ──DELETE──► Terminating ──all objects are gone──► finalizer removed ──► gone
 *                                └─ objects with finalizers delay it
 */
import type { KubeObject } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import { changeStored, deleteOrMark } from '../own-objects.js';
import type { Collection, Key, Store } from '../store/store.js';
import { crdSpec } from './definition.js';
import { cleanupFinalizer, crdGroup, crdPlural } from './definitions.js';

export interface CleanupOptions {
  store: Store;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

/** Watches definitions that are being deleted, until the returned function is called. */
export function startDefinitionCleanup(options: CleanupOptions): () => void {
  const { store, log } = options;
  const terminating = new Map<string, () => void>();
  const look = (key: Key, objects: Collection) => {
    void empty(options, key, objects).catch((error: unknown) => {
      log.error('cannot delete objects of a deleted kind, retrying at their next change', { crd: key.name, error });
    });
  };
  const follow = (key: Key, bytes: Buffer, isGone: boolean) => {
    const crd = JSON.parse(bytes.toString()) as KubeObject;
    if (isGone || crd.metadata.deletionTimestamp === undefined) {
      terminating.get(key.name)?.();
      terminating.delete(key.name);
      return;
    }
    const objects = { group: crdSpec(crd).group, resource: crdSpec(crd).names.plural };
    if (!terminating.has(key.name)) {
      const onEvent = ({ type }: { type: string }) => type === 'deleted' && look(key, objects);
      terminating.set(key.name, store.subscribe(objects, onEvent));
    }
    look(key, objects);
  };
  const definitions = { group: crdGroup, resource: crdPlural };
  const stop = store.subscribe(definitions, ({ key, bytes, type }) => follow(key, bytes, type === 'deleted'));
  for (const { key, bytes } of store.list(definitions).items) follow(key, bytes, false);
  return () => {
    stop();
    for (const leave of terminating.values()) leave();
  };
}

async function empty({ store, clock }: CleanupOptions, crd: Key, objects: Collection): Promise<void> {
  const { items } = store.list(objects);
  await Promise.all(items.map(({ key }) => changeStored(store, key, (object) => deleteOrMark(object, clock.now()))));
  if (store.count(objects) > 0) return;
  await changeStored(store, crd, (definition) => {
    const { finalizers = [] } = definition.metadata;
    const left = finalizers.filter((name) => name !== cleanupFinalizer);
    if (left.length === 0) return 'delete';
    if (left.length === finalizers.length) return undefined;
    definition.metadata.finalizers = left;
    return definition;
  });
}
