/** Unaggregated discovery: one document per group and one per version. */
import type { Registry } from '../../../memory-api/registry.js';
import type { Resource } from '../../../memory-api/resource.js';

export interface GroupVersions {
  name: string;
  /** The preferred one first. */
  versions: string[];
}

/** The order of Kubernetes, in which clients search for a kind. */
const builtInOrder = [
  '',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
];

/** Built-in groups in their order, then those of CRDs in the order of their creation. */
export function groupsOf(registry: Registry): GroupVersions[] {
  const groups = new Map<string, Set<string>>();
  for (const { group, version } of registry.all()) {
    if (!groups.has(group)) groups.set(group, new Set());
    groups.get(group)!.add(version);
  }
  const place = ([name]: [string, unknown]) => {
    const at = builtInOrder.indexOf(name);
    return at === -1 ? builtInOrder.length : at;
  };
  const ordered = [...groups].sort((a, b) => place(a) - place(b));
  return ordered.map(([name, versions]) => ({ name, versions: [...versions].sort(compareVersions) }));
}

/** v2 before v1 before v1beta1 before v1alpha1; names that do not fit that form last. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  for (const [index, value] of left.entries()) if (value !== right[index]) return right[index]! - value;
  return a < b ? -1 : a > b ? 1 : 0;
}

function rank(version: string): number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [0, 0, 0];
  const stability = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}

export function apiVersions(serverAddress: string): unknown {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

export function apiGroupList(registry: Registry): unknown {
  const groups = groupsOf(registry).filter(({ name }) => name !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupBody) };
}

export function apiGroup(group: GroupVersions): unknown {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group) };
}

function groupBody({ name, versions }: GroupVersions) {
  const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

export function apiResourceList(registry: Registry, group: string, version: string): unknown {
  const resources = registry.all().filter((resource) => resource.group === group && resource.version === version);
  return {
    kind: 'APIResourceList',
    // The oldest document lacks it.
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: resources.flatMap(apiResources).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function apiResources(resource: Resource) {
  const { plural, namespaced, kind, verbs, names } = resource;
  const { singular, shortNames, categories } = names;
  const main = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  };
  const parts = Object.entries(resource.subresources).map(([name, part]) => ({
    name: `${plural}/${name}`,
    singularName: '',
    namespaced,
    ...(part.group === undefined ? {} : { group: part.group, version: part.version }),
    kind: part.kind,
    verbs: part.verbs,
  }));
  return [main, ...parts];
}
