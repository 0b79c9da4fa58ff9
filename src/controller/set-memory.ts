/**
 * Caches of the set reconciler between two passes, per set. They are one object because one rule holds for all of them:
 *
 *   Everything here can be read or computed again, so that a restart, or another replica, loses nothing. An entry is valid only for the
 *   inputs it was computed from: this object, this batch, until this time. A pass decides nothing before the informers have delivered
 *   the own writes of the pass before it. The caches of a set end with the set.
 *
 * Answers about configs are cached by `SetCases`, whose keys name everything that an answer depends on.
 */
import type { KubeObject } from '../api/object.js';
import type { Measured } from '../rollout/analysis/analysis.js';
import { nodeReader } from '../rollout/members.js';
import type { Intent } from '../rollout/state.js';
import type { ClusterView } from './cluster-view.js';

export class SetMemory {
  readonly #sets = new Map<string, KnownSet>();

  of(set: string): KnownSet {
    const known = this.#sets.get(set) ?? new KnownSet();
    this.#sets.set(set, known);
    return known;
  }

  forget(set: string): void {
    this.#sets.delete(set);
  }
}

export class KnownSet {
  readonly writes = new OwnWrites();
  /** Reads a node again only when its objects were replaced. */
  readonly readNode = nodeReader();
  /** By node: the pods that its drain waits for. */
  readonly waitsFor = new Map<string, string>();
  /** By node: why it cannot be drained, and how long that result is cached. */
  readonly undrainable = new Map<string, { message: string; untilMs: number }>();
  /** Answers of Prometheus for the newest analysis; those with an error until then. */
  measured: { measured?: Measured; untilMs: number } = { untilMs: 0 };
  #batch: { id: string; drained: Map<string, boolean> } = { id: '', drained: new Map() };

  /** By node of this batch: whether it is drained. Those of another batch are dropped. */
  drainedIn({ revision, at }: Pick<Intent, 'revision' | 'at'>): Map<string, boolean> {
    const id = `${revision} ${at}`;
    if (this.#batch.id !== id) this.#batch = { id, drained: new Map() };
    return this.#batch.drained;
  }
}

type Kind = 'sets' | 'nodeConfigs' | 'nodes';

/** Expectations: own writes that the informers have not delivered yet. */
export class OwnWrites {
  readonly #versions = new Map<string, { kind: Kind; name: string; version: bigint }>();

  add(kind: Kind, { metadata: { name, resourceVersion } }: KubeObject): void {
    const version = versionOf(resourceVersion);
    if (version !== undefined) this.#versions.set(`${kind}/${name}`, { kind, name, version });
  }

  /** An object that is gone was seen: only objects that were cached are written. */
  areSeen(view: Pick<ClusterView, Kind>): boolean {
    for (const [key, { kind, name, version }] of this.#versions) {
      const cached = versionOf(view[kind].get(name)?.metadata.resourceVersion);
      if (cached === undefined || cached >= version) this.#versions.delete(key);
    }
    return this.#versions.size === 0;
  }
}

/** Kubernetes compares them as numbers, and so may clients from 1.35 on; etcd's revisions always were. */
function versionOf(resourceVersion: string | undefined): bigint | undefined {
  return resourceVersion !== undefined && /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined;
}
