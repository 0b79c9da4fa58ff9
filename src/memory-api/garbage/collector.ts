/**
 * The garbage collector: deletes objects whose owners are gone. The queue has keys of objects; the action is
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
import { type Action, decide, foregroundFinalizer, type OwnerState, orphanFinalizer } from './decide.js';
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
const finalizerTexts = [orphanFinalizer, foregroundFinalizer].map((name) => Buffer.from(`"${name}"`));

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
  /** Objects in foreground or orphan deletion, by uid. */
  readonly #leaving = new Map<string, Key>();
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

  /** Lets waiting requests run first. */
  #nextTurn(): Promise<void> {
    return this.#options.clock.sleep(0);
  }

  #see({ type, key, bytes }: StoreEvent): void {
    if (type !== 'deleted') {
      this.#note(key, bytes);
      return;
    }
    const { uid } = (JSON.parse(bytes.toString()) as KubeObject).metadata;
    const owners = this.#dependents.delete(key);
    this.#leaving.delete(uid ?? '');
    for (const owner of owners) {
      this.#wake(owner);
      if (this.#dependents.of(owner.uid).length === 0) this.#gone.delete(owner.uid);
    }
    const dependents = this.#dependents.of(uid ?? '');
    if (dependents.length > 0 && this.#resourceOf(key)?.noController === true) this.#gone.add(uid!);
    for (const dependent of dependents) this.#add(dependent.key);
  }

  /** Most objects have no owners and are not being deleted: found without parsing. */
  #note(key: Key, bytes: Buffer): void {
    const isLeaving = finalizerTexts.some((text) => bytes.includes(text));
    if (!isLeaving && !bytes.includes(ownersText) && !this.#dependents.has(key)) return;
    const object = JSON.parse(bytes.toString()) as KubeObject;
    const { uid, finalizers = [], deletionTimestamp, ownerReferences = [] } = object.metadata;
    const before = this.#dependents.set(key, object);
    if (before !== undefined) this.#add(key);
    for (const owner of [...(before ?? []), ...ownerReferences]) this.#wake(owner);
    if (deletionTimestamp === undefined) return;
    if (!finalizers.includes(foregroundFinalizer) && !finalizers.includes(orphanFinalizer)) return;
    this.#leaving.set(uid!, key);
    this.#add(key);
  }

  /** An owner in foreground deletion is processed again when a dependent changes. */
  #wake({ uid }: OwnerReference): void {
    const key = this.#leaving.get(uid);
    if (key !== undefined) this.#add(key);
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
    const stored = this.#options.store.latest(key);
    const resource = this.#resourceOf(key);
    if (stored === undefined || resource === undefined) return;
    const object = JSON.parse(stored.bytes.toString()) as KubeObject;
    await this.#carryOut(this.#decide(key, object), key, object, resource);
  }

  #decide(key: Key, object: KubeObject): Action {
    const uid = object.metadata.uid ?? '';
    const dependents = this.#dependents.of(uid);
    const owners = new Map((object.metadata.ownerReferences ?? []).map((owner) => [owner.uid, owner]));
    return decide(object, {
      ownerState: (owner) => this.#stateOf(owners.get(owner)!, key.namespace),
      hasDependents: dependents.length > 0,
      hasBlockingDependents: this.#dependents.blocking(uid).length > 0,
      hasLeavingDependents: dependents.some((each) =>
        [...this.#leaving.values()].some((leaving) => isSame(leaving, each.key)),
      ),
    });
  }

  #stateOf({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): OwnerState {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const resource = this.#options.registry.findKind(group, version, kind);
    if (resource === undefined || resource.answer !== undefined) return 'unknown';
    // Namespaced owners own only objects of their namespace.
    if (resource.namespaced && namespace === '') return 'unknown';
    const stored = this.#options.store.latest(keyOf(resource, namespace, name));
    const metadata = stored && (JSON.parse(stored.bytes.toString()) as KubeObject).metadata;
    // Pods of a DaemonSet that never existed were created by hand: not garbage.
    if (metadata?.uid !== uid) return resource.noController === true && !this.#gone.has(uid) ? 'unknown' : 'gone';
    const isWaiting = metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foregroundFinalizer);
    return isWaiting === true ? 'waiting' : 'there';
  }

  #resourceOf(key: Key): Resource | undefined {
    return this.#options.registry.all().find((resource) => isSame({ ...key, ...collectionOf(resource) }, key));
  }

  async #carryOut(action: Action, key: Key, object: KubeObject, resource: Resource): Promise<void> {
    const { store, clock, log } = this.#options;
    const { uid } = object.metadata;
    const change = (next: (current: KubeObject) => KubeObject | 'delete' | undefined) =>
      changeStored(store, key, (current) => (current.metadata.uid === uid ? next(current) : undefined));
    switch (action.kind) {
      case 'keep':
        return;
      case 'forget-owners':
        return change((current) => withoutOwners(current, action.uids));
      case 'delete':
        log.info('deleting object without owners', { object: keyText(key), policy: action.policy });
        return change((current) => {
          if (current.metadata.deletionTimestamp !== undefined) return undefined;
          if (action.unblock) unblockOwners(current);
          const options = { dryRun: false, propagationPolicy: action.policy };
          const marked = markDeleted(current, resource, options, clock.now());
          return marked !== undefined && isDeletionComplete(marked, resource) ? 'delete' : marked;
        });
      case 'free-dependents':
        await Promise.all(
          this.#dependents
            .of(uid!)
            .map((each) => changeStored(store, each.key, (current) => withoutOwners(current, [uid!]))),
        );
        return change((current) => withoutFinalizer(current, orphanFinalizer, resource));
      case 'wait-for-dependents':
        for (const dependent of this.#dependents.of(uid!)) this.#add(dependent.key);
        return;
      case 'let-go':
        return change((current) => withoutFinalizer(current, action.finalizer, resource));
    }
  }
}

function isSame(a: Key, b: Key): boolean {
  return keyText(a) === keyText(b) && a.namespace === b.namespace;
}

function withoutOwners(object: KubeObject, uids: string[]): KubeObject | undefined {
  const { ownerReferences = [] } = object.metadata;
  const gone = new Set(uids);
  const left = ownerReferences.filter(({ uid }) => !gone.has(uid));
  if (left.length === ownerReferences.length) return undefined;
  if (left.length > 0) object.metadata.ownerReferences = left;
  else delete object.metadata.ownerReferences;
  return object;
}

function unblockOwners(object: KubeObject): void {
  for (const owner of object.metadata.ownerReferences ?? []) owner.blockOwnerDeletion = false;
}

function withoutFinalizer(object: KubeObject, name: string, resource: Resource): KubeObject | 'delete' | undefined {
  const { finalizers = [] } = object.metadata;
  const left = finalizers.filter((each) => each !== name);
  if (left.length === finalizers.length) return undefined;
  if (left.length > 0) object.metadata.finalizers = left;
  else delete object.metadata.finalizers;
  return isDeletionComplete(object, resource) ? 'delete' : object;
}
