/** The resources this server serves, by group, version and plural; CRDs come and go at run time. */
import type { Resource } from './resource.js';

export class Registry {
  /** Counts changes, so that what is computed from the registry (discovery, OpenAPI) can be cached. */
  generation = 0;
  readonly #resources = new Map<string, Resource>();
  readonly #listeners = new Set<() => void>();

  constructor(resources: Iterable<Resource> = []) {
    for (const resource of resources)
      this.#resources.set(id(resource.group, resource.version, resource.plural), resource);
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#resources.get(id(group, version, plural));
  }

  /** In the order of registration. */
  all(): Resource[] {
    return [...this.#resources.values()];
  }

  /** Whether kinds of Kubernetes itself are in that group: those of CRDs have no shape. */
  hasBuiltIn(group: string): boolean {
    return this.all().some((entry) => entry.group === group && entry.shape !== undefined);
  }

  findKind(group: string, version: string, kind: string): Resource | undefined {
    return this.all().find(
      (resource) => resource.group === group && resource.version === version && resource.kind === kind,
    );
  }

  /** Removes and adds in one step, so that all versions of a CRD change together. */
  replace(removed: Iterable<Resource>, added: Iterable<Resource>): void {
    for (const { group, version, plural } of removed) this.#resources.delete(id(group, version, plural));
    for (const resource of added) this.#resources.set(id(resource.group, resource.version, resource.plural), resource);
    this.generation++;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Called after every change until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function id(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}
