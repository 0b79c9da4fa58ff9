/**
 * A local copy of a collection, kept up to date by follow. Tells only which object changed: names in queues, not events;
 * whoever is told looks here how it is now.
 */
import type { KubeObject } from '../api/object.js';
import type { KubeClient } from './client.js';
import { type FollowOptions, follow } from './follow.js';

export interface Mirror<T> {
  get(key: string): T | undefined;
  values(): IterableIterator<T>;
  readonly size: number;
  /** The first list is in. */
  readonly synced: Promise<void>;
}

export interface MirrorOptions<T> extends Omit<FollowOptions<KubeObject>, 'onList' | 'onChange'> {
  /** What to keep of an object; smaller is better with thousands of them. Default all of it but managedFields. */
  keep?(object: KubeObject): T;
  /** `namespace/name`, or `name` without a namespace. Also called once for each object of a list, and for those gone since. */
  onKey(key: string): void;
}

/** Runs until the signal fires. */
export function createMirror<T = KubeObject>(client: KubeClient, options: MirrorOptions<T>): Mirror<T> {
  const { keep = withoutManagedFields as (object: KubeObject) => T, onKey, ...followOptions } = options;
  const objects = new Map<string, T>();
  let listed: () => void;
  const synced = new Promise<void>((resolve) => {
    listed = resolve;
  });
  void follow<KubeObject>(client, {
    ...followOptions,
    onList(present) {
      const gone = new Set(objects.keys());
      for (const object of present) {
        const key = keyOf(object);
        gone.delete(key);
        objects.set(key, keep(object));
      }
      for (const key of gone) objects.delete(key);
      listed();
      for (const object of present) onKey(keyOf(object));
      for (const key of gone) onKey(key);
    },
    onChange(type, object) {
      const key = keyOf(object);
      if (type === 'DELETED') objects.delete(key);
      else objects.set(key, keep(object));
      onKey(key);
    },
  });
  return {
    get: (key) => objects.get(key),
    values: () => objects.values(),
    get size() {
      return objects.size;
    },
    synced,
  };
}

export function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

function withoutManagedFields(object: KubeObject): KubeObject {
  delete object.metadata.managedFields;
  return object;
}
