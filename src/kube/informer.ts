/**
 * An informer: a local cache of a collection, kept up to date by a watch loop. Its handler gets keys, not events: it reads
 * the cache for the present state, so that missed, doubled and reordered events do not matter.
 */
import type { KubeObject } from '../api/object.js';
import type { KubeClient } from './client.js';
import { keyOf } from './resource-type.js';
import { type WatchLoopOptions, watchLoop } from './watch.js';

export interface Informer<T> {
  get(key: string): T | undefined;
  values(): IterableIterator<T>;
  readonly size: number;
  /** The first list is cached. */
  readonly synced: Promise<void>;
}

export interface InformerOptions<T> extends Omit<WatchLoopOptions<KubeObject>, 'onList' | 'onChange'> {
  /**
   * The part of an object to cache; smaller is better with thousands of them. Default: all but managedFields. An object that it throws
   * on is not cached, and reported: the others are cached all the same.
   */
  keep?(object: KubeObject): T;
  /** `namespace/name`, or `name` without a namespace. Also called for each object of a list, and for those deleted since. */
  onKey(key: string): void;
  /** `keep` threw on this object. Default: the object is missing from the cache without notice. */
  onUnusable?(key: string, error: unknown): void;
}

/** Runs until the signal fires. */
export function createInformer<T = KubeObject>(client: KubeClient, options: InformerOptions<T>): Informer<T> {
  const { keep = withoutManagedFields as (object: KubeObject) => T, onKey, onUnusable, ...watchOptions } = options;
  const objects = new Map<string, T>();
  const store = (key: string, object: KubeObject) => {
    try {
      objects.set(key, keep(object));
    } catch (error) {
      objects.delete(key);
      onUnusable?.(key, error);
    }
  };
  let listed: () => void;
  const synced = new Promise<void>((resolve) => {
    listed = resolve;
  });
  void watchLoop<KubeObject>(client, {
    ...watchOptions,
    onList(present) {
      const gone = new Set(objects.keys());
      for (const object of present) {
        const key = keyOf(object);
        gone.delete(key);
        store(key, object);
      }
      for (const key of gone) objects.delete(key);
      listed();
      for (const object of present) onKey(keyOf(object));
      for (const key of gone) onKey(key);
    },
    onChange(type, object) {
      const key = keyOf(object);
      if (type === 'DELETED') objects.delete(key);
      else store(key, object);
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

function withoutManagedFields(object: KubeObject): KubeObject {
  delete object.metadata.managedFields;
  return object;
}
