/** Names of users and groups that Kubernetes gives a meaning. */
import type { User } from '../../memory-api/attributes.js';

export const mastersGroup = 'system:masters';
export const nodesGroup = 'system:nodes';
export const authenticatedGroup = 'system:authenticated';
export const unauthenticatedGroup = 'system:unauthenticated';

const nodeUserPrefix = 'system:node:';
const serviceAccountPrefix = 'system:serviceaccount:';

export const anonymousUser: User = { name: 'system:anonymous', groups: [unauthenticatedGroup] };

export const nodeUserName = (nodeName: string) => `${nodeUserPrefix}${nodeName}`;

/**
 * The node name of a node's user, undefined for other users. Empty for a user in the group of nodes whose name is not a
 * node's.
 */
export function nodeNameOf(user: User): string | undefined {
  return user.name.startsWith(nodeUserPrefix) && user.groups.includes(nodesGroup)
    ? user.name.slice(nodeUserPrefix.length)
    : undefined;
}

export const serviceAccountUserName = (namespace: string, name: string) =>
  `${serviceAccountPrefix}${namespace}:${name}`;

export const serviceAccountGroups = (namespace: string) => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];

/** Namespace and name of a service account's user name; undefined for other users. */
export function splitServiceAccountUserName(userName: string): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace, name, ...rest] = userName.slice(serviceAccountPrefix.length).split(':');
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined;
}
