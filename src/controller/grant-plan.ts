/**
 * Which nodes may read which ConfigMap. Pure.
 *
 * A node is granted a ConfigMap when its NodeConfig's spec refers to it. It keeps the grant while its status still refers
 * to the ConfigMap, as a config to fall back to. A status alone grants nothing: nodes write it, and a node must not get
 * access by writing its own status. A NodeConfig without a Node is granted nothing until the Node registers. When a Node is
 * deleted its grants stay for a while, since it may register again.
 */
import { formatRef, type NodeConfigSource, refOf } from '../api/config-ref.js';
import type { NodeConfig } from '../api/node-config.js';
import { parseKey } from '../kube/informer.js';

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

/** What to do with the grant of the ConfigMap `key`. Requeued when the grant of a node without a Node ends. */
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
