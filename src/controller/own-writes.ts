/** What was written and the caches do not show yet: nothing is decided before they do. */
import type { KubeObject } from '../api/object.js';
import type { ClusterView } from './cluster-view.js';

type Kind = 'sets' | 'nodeConfigs' | 'nodes';

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
