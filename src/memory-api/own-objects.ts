/** Reads and writes of the server's own controllers, which bypass request handling. */
import type { KubeObject } from '../api/object.js';
import { type Clock, rfc3339 } from '../clock.js';
import type { Random } from '../random.js';
import { fillSystemFields } from './object-meta.js';
import { encodeObject, keyOf } from './requests/codec.js';
import type { Resource } from './resource.js';
import { type Key, RevisionConflict, type Store } from './store/store.js';

export interface CreateContext {
  store: Store;
  clock: Clock;
  random: Random;
}

/** Creates an object unless there is one by that name. */
export async function ensureObject(
  { store, clock, random }: CreateContext,
  resource: Resource,
  draft: KubeObject,
): Promise<void> {
  const key = keyOf(resource, draft.metadata.namespace ?? '', draft.metadata.name);
  if (store.latest(key) !== undefined) return;
  const { object } = resource.decode(draft, 'json');
  fillSystemFields(object, clock.now(), random);
  resource.strategy.setDefaults(object);
  resource.strategy.prepareForCreate(object);
  const encode = (revision: number) => encodeObject(resource, object, revision);
  try {
    await store.write({ key, expected: 0, delete: false, encode });
  } catch (error) {
    // Created concurrently.
    if (!(error instanceof RevisionConflict)) throw error;
  }
}

/** Returns the object to store instead, `'delete'`, or undefined for no change. */
export type StoredChange = (object: KubeObject) => KubeObject | 'delete' | undefined;

/** Changes an object if it exists; `change` is called again after a conflict with another write. */
export async function changeStored(store: Store, key: Key, change: StoredChange): Promise<void> {
  for (;;) {
    const current = store.latest(key);
    if (current === undefined) return;
    const object = JSON.parse(current.bytes.toString('utf8')) as KubeObject;
    const next = change(structuredClone(object));
    if (next === undefined) return;
    const shown = next === 'delete' ? object : next;
    try {
      await store.write({
        key,
        expected: current.revision,
        delete: next === 'delete',
        encode: (revision) => encodeStored(shown, revision),
      });
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
}

/** Deletes an object, or marks it where it has finalizers. */
export function deleteOrMark(object: KubeObject, now: number): KubeObject | 'delete' | undefined {
  if ((object.metadata.finalizers ?? []).length === 0) return 'delete';
  if (object.metadata.deletionTimestamp !== undefined) return undefined;
  object.metadata.deletionTimestamp = rfc3339(now);
  object.metadata.deletionGracePeriodSeconds = 0;
  return object;
}

/** An object that is already in its stored form. */
function encodeStored({ kind, apiVersion, metadata, ...rest }: KubeObject, revision: number): Buffer {
  const meta = { ...metadata, resourceVersion: String(revision) };
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: meta, ...rest }));
}

/** Reads one stored object. */
export function findObject(
  store: Store,
  key: { group: string; resource: string; namespace: string; name: string },
): KubeObject | undefined {
  const stored = store.latest(key);
  return stored && (JSON.parse(stored.bytes.toString('utf8')) as KubeObject);
}
