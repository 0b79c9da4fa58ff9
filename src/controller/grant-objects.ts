/**
 * The objects of a grant: for each ConfigMap one Role that allows reading it, and RoleBindings with the nodes, which are its shards. An
 * object of etcd may have 1.5 MB, and a subject up to 350 bytes, so a shard has at most 500 nodes. Pure.
 */
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

/** Nodes in a shard. */
export const shardSize = 500;

/** Of the Role, and of the RoleBinding of a shard. The first shard has the name that the only one had up to 0.1.0. */
export const grantName = (configMap: string, shard = 0): string =>
  `relet:kubelet-config:${configMap}${shard === 0 ? '' : `:${shard}`}`;

/** The name of the ConfigMap from the name of its grant. No name of a ConfigMap has a colon. */
export function grantedConfigMap(name: string): string | undefined {
  const prefix = grantName('');
  return name.startsWith(prefix) ? name.slice(prefix.length).replace(/:\d+$/, '') : undefined;
}

/** Which nodes each shard has to have. A node stays where it is, and new ones fill the gaps, so that a batch changes few shards. */
export function shardsOf(present: readonly ReadonlySet<string>[], nodes: readonly string[]): string[][] {
  const wanted = new Set(nodes);
  const shards = present.map((shard) => [...shard].filter((node) => wanted.delete(node)));
  let at = 0;
  for (const node of wanted) {
    while ((shards[at]?.length ?? 0) >= shardSize) at++;
    const shard = shards[at];
    if (shard === undefined) shards.push([node]);
    else shard.push(node);
  }
  return shards.map((shard) => shard.sort());
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

export function grantBinding(configMap: ConfigMapIdentity, shard: number, nodes: readonly string[]): RoleBinding {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { ...metadataFor(configMap), name: grantName(configMap.name, shard) },
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
export function boundNodes(binding: Pick<RoleBinding, 'subjects'> | undefined): ReadonlySet<string> {
  if (binding === undefined) return new Set();
  const known = bound.get(binding);
  if (known !== undefined) return known;
  const users = (binding.subjects ?? []).filter(({ kind }) => kind === 'User').map(({ name }) => name);
  const nodes = users.filter((name) => name.startsWith(nodeUserPrefix));
  const found = new Set(nodes.map((name) => name.slice(nodeUserPrefix.length)));
  bound.set(binding, found);
  return found;
}

/** Of bindings in the cache, which do not change: each NodeConfig of a ConfigMap asks for them. */
const bound = new WeakMap<object, ReadonlySet<string>>();

function metadataFor({ namespace, name, uid }: ConfigMapIdentity) {
  return {
    name: grantName(name),
    namespace,
    labels: { [grantLabel]: 'true', 'app.kubernetes.io/managed-by': 'relet' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }],
  };
}
