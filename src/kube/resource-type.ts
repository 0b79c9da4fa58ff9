/** Resource types: group, version and plural name; the URL paths of objects, and their keys in caches and queues. */
import type { KubeObject } from '../api/object.js';

export interface ResourceType {
  /** Empty for the core group. */
  group: string;
  version: string;
  resource: string;
}

/** Which object or collection of a type. Without a namespace: cluster-scoped, or all namespaces. */
export interface ObjectPlace {
  namespace?: string;
  name?: string;
  subresource?: string;
}

const core = (resource: string): ResourceType => ({ group: '', version: 'v1', resource });

export const configMaps = core('configmaps');
export const events = core('events');
export const namespaces = core('namespaces');
export const nodes = core('nodes');
export const pods = core('pods');
export const leases: ResourceType = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
export const podDisruptionBudgets: ResourceType = { group: 'policy', version: 'v1', resource: 'poddisruptionbudgets' };
export const selfSubjectAccessReviews: ResourceType = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
};
const rbac = (resource: string): ResourceType => ({ group: 'rbac.authorization.k8s.io', version: 'v1', resource });
const admission = (resource: string): ResourceType => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource,
});

export const roles = rbac('roles');
export const roleBindings = rbac('rolebindings');
export const clusterRoles = rbac('clusterroles');
export const clusterRoleBindings = rbac('clusterrolebindings');
/** Kubernetes 1.30 and later. */
export const admissionPolicies = admission('validatingadmissionpolicies');
export const admissionPolicyBindings = admission('validatingadmissionpolicybindings');

export function resourcePath(type: ResourceType, place: ObjectPlace = {}): string {
  const { namespace, name, subresource } = place;
  const parts = type.group === '' ? ['api', type.version] : ['apis', type.group, type.version];
  if (namespace !== undefined && namespace !== '') parts.push('namespaces', namespace);
  parts.push(type.resource);
  if (name !== undefined) parts.push(name);
  // An empty name would turn "delete this one" into "delete them all".
  const bad = parts.find((part) => part === '' || part === '.' || part === '..');
  if (bad !== undefined)
    throw new Error(`address of ${type.resource}: "${bad}" cannot be a name: ${JSON.stringify(place)}`);
  // A subresource may go deeper, such as proxy/configz; a slash in a name does not.
  return `/${parts.map(encodeURIComponent).join('/')}${subresource ? `/${encodeURI(subresource)}` : ''}`;
}

/** `namespace/name`, or `name` without a namespace. */
export function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** The parts of a key of `keyOf`; the namespace is empty for cluster-scoped objects. */
export function parseKey(key: string): { namespace: string; name: string } {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, Math.max(0, at)), name: key.slice(at + 1) };
}
