/**
 * The end of a CRD: objects of its kind go first, then the definition.
 *
 *     Established ──DELETE──► Terminating ──all objects are gone──► finalizer removed ──► gone
 *                                └─ objects with finalizers of their own hold it up
 */
import type { KubeObject } from '../../../api/object.js';
import type { Clock } from '../../../clock.js';
import type { Log } from '../../../log.js';
import { changeOwn, goOrWait } from '../own-objects.js';
import type { Collection, Key, Store } from '../store/store.js';
import { crdSpec } from './definition.js';
import { cleanupFinalizer, crdGroup, crdPlural } from './definitions.js';

export interface CleanupOptions {
  store: Store;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

/** Follows definitions that are to go, until the returned function is called. */
export function startDefinitionCleanup(options: CleanupOptions): () => void {
  const { store, log } = options;
  const terminating = new Map<string, () => void>();
  const look = (key: Key, objects: Collection) => {
    void empty(options, key, objects).catch((error: unknown) => {
      log.error('objects of a deleted kind remain, the next change among them tries again', { crd: key.name, error });
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
  await Promise.all(items.map(({ key }) => changeOwn(store, key, (object) => goOrWait(object, clock.now()))));
  if (store.count(objects) > 0) return;
  await changeOwn(store, crd, (definition) => {
    const { finalizers = [] } = definition.metadata;
    const left = finalizers.filter((name) => name !== cleanupFinalizer);
    if (left.length === 0) return 'delete';
    if (left.length === finalizers.length) return undefined;
    definition.metadata.finalizers = left;
    return definition;
  });
}
