/**
 * Computes which nodes may read which ConfigMap, and the RBAC objects that grant it. Pure.
 *
 * A node is granted a ConfigMap when its NodeConfig's spec refers to it. It keeps the grant while its status still refers to the
 * ConfigMap, as a config to fall back to. A status alone grants nothing: nodes write it, and a node must not get access by writing its
 * own status. A NodeConfig without a Node is granted nothing until the Node registers. When a Node is deleted its grants stay for a
 * while, since it may register again.
 *
 * For each ConfigMap there is one Role that allows reading it, and RoleBindings with the nodes, which are its shards. An object of etcd
 * may have 1.5 MB, and a subject up to 350 bytes, so a shard has at most 500 nodes.
 */
import { formatRef, type NodeConfigSource, refOf } from '../api/config-ref.js';
import type { NodeConfig } from '../api/node-config.js';
import type { KubeObject } from '../api/object.js';
import { parseKey } from '../kube/resource-type.js';

export interface GrantFacts {
  namespaces: readonly string[];
  /** Whether the ConfigMap `namespace/name` exists and carries the label. */
  isLabelled(key: string): boolean;
  /** Whether the node is granted it now. */
  isGranted(key: string, node: string): boolean;
  /** How long there has been no Node of this name; undefined while there is one. */
  nodeAbsentMs(name: string): number | undefined;
}

/** How long a grant stays without its Node. */
export const nodeGraceMs = 3_600_000;

/** The ConfigMap that a source refers to, as `namespace/name`. */
export function configMapOf(source: NodeConfigSource | undefined): string | undefined {
  const ref = refOf(source);
  return ref && formatRef(ref, 'configMap');
}

/** All ConfigMaps that a NodeConfig refers to, in spec or status. */
export function referencedConfigMaps({ spec, status }: Pick<NodeConfig, 'spec' | 'status'>): Set<string> {
  const keys = [spec?.configSource, ...sourcesIn(status)].map(configMapOf);
  return new Set(keys.filter((key) => key !== undefined));
}

const sourcesIn = (status: NodeConfig['status']) => {
  const { assigned, active, lastKnownGood } = status?.config ?? {};
  return [assigned, active, lastKnownGood];
};

export type GrantPlan =
  /** Not in a namespace that this controller grants from. */
  { kind: 'none' } | { kind: 'revoke' } | { kind: 'grant'; nodes: string[]; requeueAfterMs?: number };

/** Plan for the grant of the ConfigMap `key`. Requeued when the grant of a node without a Node ends. */
export function planGrant(
  key: string,
  nodeConfigs: Iterable<Pick<NodeConfig, 'metadata' | 'spec' | 'status'>>,
  facts: GrantFacts,
): GrantPlan {
  if (!facts.namespaces.includes(parseKey(key).namespace)) return { kind: 'none' };
  const nodes = nodesToGrant(key, nodeConfigs, facts);
  if (nodes.length === 0) return { kind: 'revoke' };
  const absentMs = nodes.map((node) => facts.nodeAbsentMs(node)).filter((ms) => ms !== undefined);
  const requeueAfterMs = nodeGraceMs - Math.max(...absentMs);
  return { kind: 'grant', nodes, ...(absentMs.length > 0 && { requeueAfterMs }) };
}

/** Sorted. */
function nodesToGrant(
  key: string,
  nodeConfigs: Iterable<Pick<NodeConfig, 'metadata' | 'spec' | 'status'>>,
  facts: GrantFacts,
): string[] {
  if (whyNotGranted(key, facts) !== undefined) return [];
  const { namespace, name: configMap } = parseKey(key);
  const isIt = (source: NodeConfigSource | undefined) => {
    const ref = source?.configMap ?? source?.configMapRef;
    return ref?.name === configMap && ref.namespace === namespace;
  };
  const nodes: string[] = [];
  for (const object of nodeConfigs) {
    const { name } = object.metadata;
    const assigned = isIt(object.spec?.configSource);
    const absentMs = facts.nodeAbsentMs(name);
    // A grant is kept for what the status names, and for a Node that is away; there is a new one only for what is assigned.
    const isNew = assigned && absentMs === undefined;
    const mayKeep = (absentMs ?? 0) < nodeGraceMs && (assigned || sourcesIn(object.status).some(isIt));
    if (isNew || (mayKeep && facts.isGranted(key, name))) nodes.push(name);
  }
  return nodes.sort();
}

interface NotGranted {
  reason: 'NamespaceNotAllowed' | 'NotLabelled';
  message: string;
}

/** Why no node is granted this ConfigMap; undefined when it may be granted. */
function whyNotGranted(key: string, { namespaces, isLabelled }: GrantFacts): NotGranted | undefined {
  if (!namespaces.includes(parseKey(key).namespace))
    return {
      reason: 'NamespaceNotAllowed',
      message: `ConfigMap ${key} is not granted: the controller grants only those in ${namespaces.join(', ')} (--config-namespaces); push the config to one of these and assign that`,
    };
  if (!isLabelled(key))
    return {
      reason: 'NotLabelled',
      message: `ConfigMap ${key} is not granted: it does not exist, or does not carry the label relet.dev/kubelet-config`,
    };
  return undefined;
}

export interface GrantedCondition {
  type: 'Granted';
  status: 'True' | 'False';
  reason: string;
  message: string;
}

export function grantedCondition({ metadata, spec }: NodeConfig, facts: GrantFacts): GrantedCondition {
  const key = configMapOf(spec?.configSource);
  if (key === undefined)
    return { type: 'Granted', status: 'True', reason: 'NothingAssigned', message: 'no ConfigMap is assigned' };
  const reason = whyNotGranted(key, facts);
  if (reason !== undefined) return { type: 'Granted', status: 'False', ...reason };
  if (facts.nodeAbsentMs(metadata.name) !== undefined && !facts.isGranted(key, metadata.name)) {
    const message = `ConfigMap ${key} is not granted: there is no Node ${metadata.name}`;
    return { type: 'Granted', status: 'False', reason: 'NoNode', message };
  }
  return facts.isGranted(key, metadata.name)
    ? { type: 'Granted', status: 'True', reason: 'RoleBinding', message: `the node may read ConfigMap ${key}` }
    : { type: 'Granted', status: 'False', reason: 'Pending', message: `ConfigMap ${key} is about to be granted` };
}

/** Marks Roles and RoleBindings of the controller. */
export const grantLabel = 'relet.dev/grant';
const nodeUserPrefix = 'system:node:';
const rbacGroup = 'rbac.authorization.k8s.io';

interface Subject {
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

interface ConfigMapIdentity {
  namespace: string;
  name: string;
  /** It owns Role and RoleBinding. */
  uid: string;
}

/** Nodes in a shard. */
export const shardSize = 500;

/** Name of the Role, and of the RoleBinding of a shard. The first shard has the name that the only one had before 0.1.0. */
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

/** Cached for bindings of the informer, which do not change: each NodeConfig of a ConfigMap reads them. */
const bound = new WeakMap<object, ReadonlySet<string>>();

function metadataFor({ namespace, name, uid }: ConfigMapIdentity) {
  return {
    name: grantName(name),
    namespace,
    labels: { [grantLabel]: 'true', 'app.kubernetes.io/managed-by': 'relet' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }],
  };
}
