/** The nodes that a set selects, as plan() sees them, from the objects of the cluster. Pure. */
import { selectsLabels } from '../api/label-selector.js';
import type { NodeConfig } from '../api/node-config.js';
import type { NodeConfigSet } from '../api/node-config-set.js';
import { claimantOf, type OtherClaims } from '../fleet/node-claims.js';
import { type ClusterNode, type NodeFacts, type SetNode, setNode } from './set-nodes.js';

/** A selected node: as plan() sees it, and the objects it was read from. */
export interface SetMember {
  node: SetNode;
  cluster: ClusterNode;
  object: NodeConfig | undefined;
}

export interface ClusterObjects {
  sets: { values(): Iterable<NodeConfigSet> };
  nodes: { values(): Iterable<ClusterNode> };
  nodeConfigs: { get(name: string): NodeConfig | undefined };
  /** Of other systems, in objects beside the Node. */
  claims?: OtherClaims;
}

/** By name. */
export function membersOf(
  set: NodeConfigSet,
  { sets, nodes, nodeConfigs, claims }: ClusterObjects,
  read: (facts: NodeFacts) => SetNode = setNode,
): SetMember[] {
  const { name } = set.metadata;
  const older = [...sets.values()].filter((other) => isOlder(other, set));
  const members: SetMember[] = [];
  for (const node of nodes.values()) {
    const { labels } = node.metadata;
    if (!selectsLabels(set.spec.selector, labels)) continue;
    const object = nodeConfigs.get(node.metadata.name);
    const olderSets = older.filter(({ spec }) => selectsLabels(spec.selector, labels)).map((one) => one.metadata.name);
    const claimant = claimantOf(node) ?? claims?.of(node.metadata.name);
    const facts = { set: name, node, object, olderSets, claimant };
    members.push({ node: read(facts), cluster: node, object });
  }
  return members.sort((a, b) => (a.node.name < b.node.name ? -1 : 1));
}

/** By the time it was created, then by name. One that is being deleted has no say. */
function isOlder({ metadata: other }: NodeConfigSet, { metadata: set }: NodeConfigSet): boolean {
  if (other.name === set.name || other.deletionTimestamp !== undefined) return false;
  // One that is not created yet is the youngest.
  const [a, b] = [other.creationTimestamp ?? '', set.creationTimestamp ?? '~'];
  return a === b ? other.name < set.name : a < b;
}

/** For objects of informers, which replace what changes: a node is read again only then. For one set. */
export function nodeReader(): (facts: NodeFacts) => SetNode {
  const known = new WeakMap<ClusterNode, { object: NodeConfig | undefined; others: string; read: SetNode }>();
  return (facts) => {
    const { node, object, olderSets, claimant = '' } = facts;
    const before = known.get(node);
    const others = olderSets.length === 0 ? claimant : `${olderSets.join('/')}/${claimant}`;
    if (before !== undefined && before.object === object && before.others === others) return before.read;
    const read = setNode(facts);
    known.set(node, { object, others, read });
    return read;
  };
}
