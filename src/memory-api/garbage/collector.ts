/**
 * The garbage collector: deletes objects whose owners are gone, and drops references to deleted owners while
 * another exists. An owner goes first, its dependents after it (background deletion). The queue has keys of objects; the action is
 * decided from the state at the time of processing, so missed and repeated events do not matter.
 */
import type { KubeObject, OwnerReference } from '../../api/object.js';
import type { Clock } from '../../clock.js';
import type { Log } from '../../log.js';
import { changeStored } from '../own-objects.js';
import type { Registry } from '../registry.js';
import { collectionOf, keyOf } from '../requests/codec.js';
import type { Resource } from '../resource.js';
import { type Collection, type Key, keyText, type Store, type StoreEvent } from '../store/store.js';
import { isDeletionComplete } from '../verbs/change.js';
import { markDeleted } from '../verbs/delete.js';
import { Dependents } from './dependents.js';

export interface CollectorOptions {
  store: Store;
  registry: Registry;
  clock: Clock;
  log: Log;
}

/** Objects that the initial scan reads before requests get a turn. */
const scanStep = 200;
const retryMs = 1000;
const ownersText = Buffer.from('"ownerReferences":[');

/** Runs until the returned function is called. */
export function startGarbageCollector(options: CollectorOptions): () => void {
  const collector = new Collector(options);
  collector.follow();
  const stopFollowing = options.registry.onChange(() => collector.follow());
  return () => {
    stopFollowing();
    collector.stop();
  };
}

class Collector {
  readonly #options: CollectorOptions;
  readonly #dependents = new Dependents();
  /** Deleted owners of kinds without a controller, by uid, until their last dependent is deleted. */
  readonly #gone = new Set<string>();
  readonly #followed = new Map<string, () => void>();
  readonly #queue = new Map<string, Key>();
  readonly #ended = new AbortController();
  #working: Promise<void> | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Watches every served kind that is not watched yet. Events neither own nor are owned. */
  follow(): void {
    for (const resource of this.#options.registry.all()) {
      const collection = collectionOf(resource);
      const id = `${collection.group}/${collection.resource}`;
      if (resource.answer !== undefined || collection.resource === 'events' || this.#followed.has(id)) continue;
      this.#followed.set(
        id,
        this.#options.store.subscribe(collection, (event) => this.#see(event)),
      );
      void this.#scan(collection);
    }
  }

  stop(): void {
    this.#ended.abort();
    for (const leave of this.#followed.values()) leave();
  }

  /** Objects from before the start: owners may have been deleted while the server was down. */
  async #scan(collection: Collection): Promise<void> {
    await this.#nextTurn();
    for (const [at, stored] of this.#options.store.list(collection).items.entries()) {
      if (this.#ended.signal.aborted) return;
      const current = this.#options.store.get(stored.key);
      if (current !== undefined) this.#note(current.key, current.bytes);
      if (at % scanStep === scanStep - 1) await this.#nextTurn();
    }
  }

  /** Yields, so that waiting requests run first. */
  #nextTurn(): Promise<void> {
    return this.#options.clock.sleep(0);
  }

  #see({ type, key, bytes }: StoreEvent): void {
    if (type !== 'deleted') {
      this.#note(key, bytes);
      return;
    }
    const { uid = '' } = parse(bytes).metadata;
    for (const owner of this.#dependents.delete(key))
      if (this.#dependents.of(owner).length === 0) this.#gone.delete(owner);
    const dependents = this.#dependents.of(uid);
    if (dependents.length > 0 && this.#resourceOf(key)?.noController === true) this.#gone.add(uid);
    for (const dependent of dependents) this.#add(dependent);
  }

  /** Most objects have no owners: found without parsing. */
  #note(key: Key, bytes: Buffer): void {
    if (!bytes.includes(ownersText) && !this.#dependents.has(key)) return;
    const owners = (parse(bytes).metadata.ownerReferences ?? []).map(({ uid }) => uid);
    if (this.#dependents.set(key, owners)) this.#add(key);
  }

  #add(key: Key): void {
    this.#queue.set(keyText(key), key);
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    await null;
    for (const [text, key] of this.#queue) {
      if (this.#ended.signal.aborted) break;
      this.#queue.delete(text);
      try {
        await this.#settle(key);
      } catch (error) {
        this.#options.log.error('garbage collection failed, retrying', { object: text, error });
        void this.#again(key);
      }
    }
    this.#working = undefined;
  }

  async #again(key: Key): Promise<void> {
    await this.#options.clock.sleep(retryMs, this.#ended.signal).catch(() => {});
    if (!this.#ended.signal.aborted) this.#add(key);
  }

  async #settle(key: Key): Promise<void> {
    const { store, clock, log } = this.#options;
    const stored = store.latest(key);
    const resource = this.#resourceOf(key);
    if (stored === undefined || resource === undefined) return;
    const { uid, ownerReferences = [] } = parse(stored.bytes).metadata;
    const states = ownerReferences.map((owner) => this.#stateOf(owner, key.namespace));
    if (states.includes('unknown') || !states.includes('gone')) return;
    await changeStored(store, key, (current) => {
      const { metadata } = current;
      if (metadata.uid !== uid || metadata.deletionTimestamp !== undefined) return undefined;
      if (states.includes('there')) {
        const gone = new Set(ownerReferences.filter((_, at) => states[at] === 'gone').map((owner) => owner.uid));
        metadata.ownerReferences = metadata.ownerReferences?.filter((owner) => !gone.has(owner.uid)) ?? [];
        return current;
      }
      log.info('deleting object without owners', { object: keyText(key) });
      const marked = markDeleted(current, resource, { dryRun: false }, clock.now());
      return marked !== undefined && isDeletionComplete(marked, resource) ? 'delete' : marked;
    });
  }

  #stateOf({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): OwnerState {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const resource = this.#options.registry.findKind(group, version, kind);
    if (resource === undefined || resource.answer !== undefined) return 'unknown';
    // Namespaced owners own only objects of their namespace.
    if (resource.namespaced && namespace === '') return 'unknown';
    const stored = this.#options.store.latest(keyOf(resource, namespace, name));
    const metadata = stored && parse(stored.bytes).metadata;
    // Pods of a DaemonSet that never existed were created by hand: not garbage.
    if (metadata?.uid !== uid) return resource.noController === true && !this.#gone.has(uid) ? 'unknown' : 'gone';
    return 'there';
  }

  #resourceOf(key: Key): Resource | undefined {
    return this.#options.registry
      .all()
      .find((resource) => keyText({ ...key, ...collectionOf(resource) }) === keyText(key));
  }
}

/** Unknown: of a kind that is not served now, or one that cannot own this object. Nothing is done then. */
type OwnerState = 'there' | 'gone' | 'unknown';

const parse = (bytes: Buffer) => JSON.parse(bytes.toString()) as KubeObject;
