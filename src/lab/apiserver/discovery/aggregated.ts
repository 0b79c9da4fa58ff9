/** Discovery in one document, as clients since 1.26 ask for it: all groups, versions, resources and subresources. */
import type { Registry } from '../../../memory-api/registry.js';
import { isCustom, type Resource } from '../../../memory-api/resource.js';
import { groupsOf } from './groups.js';

/** `isCore`: for /api, else for /apis. */
export function aggregatedDiscovery(registry: Registry, version: string, isCore: boolean): unknown {
  const groups = groupsOf(registry).filter(({ name }) => (name === '') === isCore);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name === '' ? {} : { name }), creationTimestamp: null },
      versions: versions.map((served) => ({
        version: served,
        resources: registry
          .all()
          .filter((resource) => resource.group === name && resource.version === served)
          .sort((a, b) => (a.plural < b.plural ? -1 : 1))
          .map(resourceDiscovery),
        freshness: 'Current',
      })),
    })),
  };
}

function resourceDiscovery(resource: Resource): unknown {
  const { kind, plural, namespaced, verbs, names } = resource;
  const { singular, shortNames, categories } = names;
  // Kubernetes leaves both empty for a built-in kind that is served under its own group and version.
  const own = isCustom(resource) ? { group: resource.group, version: resource.version } : { group: '', version: '' };
  const subresources = Object.entries(resource.subresources).map(([subresource, part]) => ({
    subresource,
    responseKind: {
      ...own,
      ...(part.group === undefined ? {} : { group: part.group, version: part.version }),
      kind: part.kind,
    },
    verbs: part.verbs,
  }));
  return {
    resource: plural,
    responseKind: { ...own, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0 ? { subresources } : {}),
  };
}
