/**
 * Who may read which kubelet config. Pure: the controller reads the cluster and makes it so.
 *
 * A node is granted a ConfigMap when its NodeConfig's spec refers to it. It keeps the grant while it still names the
 * ConfigMap in its status, as a config to fall back to. A status alone grants nothing: nodes write it, and a node must not
 * open a ConfigMap for itself by naming it. A NodeConfig may be written for a name that no Node has: it is granted nothing
 * until the Node registers. A Node that goes keeps its grants for a while, since it may be about to register again.
 */
import type { NodeConfig } from '../api/node-config.js';
import type { NodeConfigSource } from '../api/node-config-source.js';

export interface GrantFacts {
  namespaces: readonly string[];
  /** ConfigMaps that carry the label, as `namespace/name`. */
  isLabelled(key: string): boolean;
  /** Nodes that are granted it now. */
  granted(key: string): ReadonlySet<string>;
  /** How long there has been no Node of this name; undefined while there is one. */
  nodeGoneMs(name: string): number | undefined;
}

/** How long a grant outlives its Node. */
export const nodeGraceMs = 3_600_000;

/** The ConfigMap that a source means, as `namespace/name`. */
export function configMapKey(source: NodeConfigSource | undefined): string | undefined {
  const { namespace, name } = source?.configMap ?? {};
  return namespace && name ? `${namespace}/${name}` : undefined;
}

/** All ConfigMaps that a node is told to use or says it uses. */
export function namedBy({ spec, status }: Pick<NodeConfig, 'spec' | 'status'>): Set<string> {
  const { assigned, active, lastKnownGood } = status?.config ?? {};
  const keys = [spec?.configSource, assigned, active, lastKnownGood].map(configMapKey);
  return new Set(keys.filter((key) => key !== undefined));
}

/** The nodes that shall be able to read this ConfigMap, sorted. */
export function nodesToGrant(
  key: string,
  nodeConfigs: Iterable<Pick<NodeConfig, 'metadata' | 'spec' | 'status'>>,
  facts: GrantFacts,
): string[] {
  if (refusal(key, facts) !== undefined) return [];
  const granted = facts.granted(key);
  const nodes: string[] = [];
  for (const object of nodeConfigs) {
    const { name } = object.metadata;
    const isGranted = granted.has(name);
    const goneMs = facts.nodeGoneMs(name);
    if (goneMs !== undefined && !(isGranted && goneMs < nodeGraceMs)) continue;
    const assigned = configMapKey(object.spec?.configSource) === key;
    if (assigned || (isGranted && namedBy(object).has(key))) nodes.push(name);
  }
  return nodes.sort();
}

export interface Refusal {
  reason: 'NamespaceNotAllowed' | 'NotLabelled';
  message: string;
}

/** Why nobody is granted this ConfigMap; undefined when it may be granted. */
export function refusal(key: string, { namespaces, isLabelled }: GrantFacts): Refusal | undefined {
  const namespace = key.split('/')[0]!;
  if (!namespaces.includes(namespace))
    return {
      reason: 'NamespaceNotAllowed',
      message: `ConfigMap ${key} is not granted: the controller grants only those in ${namespaces.join(', ')} (--config-namespaces)`,
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
  const key = configMapKey(spec?.configSource);
  if (key === undefined)
    return { type: 'Granted', status: 'True', reason: 'NothingAssigned', message: 'no ConfigMap is assigned' };
  const refused = refusal(key, facts);
  if (refused !== undefined) return { type: 'Granted', status: 'False', ...refused };
  if (facts.nodeGoneMs(metadata.name) !== undefined && !facts.granted(key).has(metadata.name)) {
    const message = `ConfigMap ${key} is not granted: there is no Node ${metadata.name}`;
    return { type: 'Granted', status: 'False', reason: 'NoNode', message };
  }
  return facts.granted(key).has(metadata.name)
    ? { type: 'Granted', status: 'True', reason: 'RoleBinding', message: `the node may read ConfigMap ${key}` }
    : { type: 'Granted', status: 'False', reason: 'Pending', message: `ConfigMap ${key} is about to be granted` };
}
