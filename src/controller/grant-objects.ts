/** The objects of a grant: for each ConfigMap one Role that allows reading it, and one RoleBinding with the nodes. Pure. */
import type { KubeObject } from '../api/object.js';

/** Marks Roles and RoleBindings of the controller. */
export const grantLabel = 'relet.dev/grant';
export const nodeUserPrefix = 'system:node:';
const rbacGroup = 'rbac.authorization.k8s.io';

export interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

export interface RoleBinding extends KubeObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects?: Subject[];
}

export interface Role extends KubeObject {
  rules: { apiGroups: string[]; resources: string[]; resourceNames?: string[]; verbs: string[] }[] | null;
}

export interface ConfigMapIdentity {
  namespace: string;
  name: string;
  /** It owns Role and RoleBinding. */
  uid: string;
}

export const grantName = (configMap: string): string => `relet:kubelet-config:${configMap}`;

/** The name of the ConfigMap from the name of its grant. */
export function grantedConfigMap(name: string): string | undefined {
  const prefix = grantName('');
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

export function grantRole(configMap: ConfigMapIdentity): Role {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'Role',
    metadata: metadataFor(configMap),
    rules: [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: [configMap.name], verbs: ['get', 'list', 'watch'] },
    ],
  };
}

export function grantBinding(configMap: ConfigMapIdentity, nodes: readonly string[]): RoleBinding {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'RoleBinding',
    metadata: metadataFor(configMap),
    roleRef: { apiGroup: rbacGroup, kind: 'Role', name: grantName(configMap.name) },
    subjects: nodes.map(nodeSubject),
  };
}

export const nodeSubject = (node: string): Subject => ({
  kind: 'User',
  apiGroup: rbacGroup,
  name: `${nodeUserPrefix}${node}`,
});

/** The nodes among the subjects of a binding. */
export function boundNodes(binding: Pick<RoleBinding, 'subjects'> | undefined): Set<string> {
  const users = (binding?.subjects ?? []).filter(({ kind }) => kind === 'User').map(({ name }) => name);
  const nodes = users.filter((name) => name.startsWith(nodeUserPrefix));
  return new Set(nodes.map((name) => name.slice(nodeUserPrefix.length)));
}

function metadataFor({ namespace, name, uid }: ConfigMapIdentity) {
  return {
    name: grantName(name),
    namespace,
    labels: { [grantLabel]: 'true', 'app.kubernetes.io/managed-by': 'relet' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }],
  };
}
