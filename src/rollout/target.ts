/**
 * Determines which revision a set wants on a node, so that "on target" means this one and not the one that the node was assigned last.
 * Pure: from the status of the sets, as the controller wrote it.
 *
 *   the revision that is rolled out          also on nodes that do not have it yet, are excluded, or wait for a wave
 *   after abort, undo or a rollback          the one before; without one, any but the rejected one
 */
import { refOf, sameConfig } from '../api/config-ref.js';
import { selectsLabels } from '../api/label-selector.js';
import { type NodeConfigSet, type NodeConfigSetSpec, specDefaults, updateLabel } from '../api/node-config-set.js';
import { type ConfiguredNode, membershipOf } from '../fleet/configured-node.js';

type TargetNode = Pick<ConfiguredNode, 'labels' | 'createdAt' | 'claim' | 'configSource'>;

/** Whether the set of a node wants another revision there than the one it has. Made once for many nodes. */
export function outdatedBy(sets: Iterable<NodeConfigSet>): (node: TargetNode) => boolean {
  const live = [...sets].filter(({ metadata }) => metadata.deletionTimestamp === undefined).sort(byAge);
  const byName = new Map(live.map((set) => [set.metadata.name, set]));
  return (node) => {
    const membership = membershipOf(node);
    // No set changes it.
    if (isByHand(node) || membership?.isTaken) return false;
    const claimed = membership?.claim;
    const set = claimed ? byName.get(claimed.set) : live.find(({ spec }) => selectsLabels(spec.selector, node.labels));
    return set !== undefined && isOutdated(set, node, claimed?.revision);
  };
}

/** A person assigned its config. As the controller: what a set assigned before it let the node go is for the next set to change. */
export function isByHand(node: TargetNode): boolean {
  const { claim } = node;
  const assigned = refOf(node.configSource);
  if (assigned === undefined || membershipOf(node) !== undefined) return false;
  return !(claim !== undefined && sameConfig(assigned, claim.source, 'name'));
}

/** The same for sets that change: computed again only when a part of them changes that the answers depend on. */
export class Targets {
  #key = '';
  #isOutdated = outdatedBy([]);

  readonly isOutdated = (node: TargetNode): boolean => this.#isOutdated(node);

  /** True if answers may have changed. */
  update(sets: Iterable<NodeConfigSet>): boolean {
    const all = [...sets];
    const key = all.map(targetKey).join('\n');
    if (key === this.#key) return false;
    this.#key = key;
    this.#isOutdated = outdatedBy(all);
    return true;
  }
}

const targetKey = ({ metadata, spec, status }: NodeConfigSet): string =>
  JSON.stringify([
    metadata.name,
    metadata.deletionTimestamp,
    spec.selector,
    spec.updateNodes,
    status?.updateRevision,
    status?.currentRevision,
    status?.rejectedRevision,
  ]);

function isOutdated(
  { metadata, spec, status = {} }: NodeConfigSet,
  node: TargetNode,
  has: string | undefined,
): boolean {
  const { updateRevision, currentRevision, rejectedRevision, revisions = [] } = status;
  const isRejected = updateRevision !== undefined && updateRevision === rejectedRevision;
  const wanted = isRejected ? currentRevision : updateRevision;
  if (wanted === undefined) return isRejected && has === rejectedRevision;
  if (has === wanted) return false;
  // A rejected revision goes back wherever it is.
  if (isRejected && has === rejectedRevision) return true;
  const startedAt = revisions.find(({ revision }) => revision === wanted)?.startedAt ?? '';
  const isPicked = node.labels[updateLabel] === metadata.name;
  const times = { createdAtMs: Date.parse(node.createdAt) || 0, startedAtMs: Date.parse(startedAt) || 0 };
  return isToBeUpdated(spec.updateNodes ?? specDefaults.updateNodes, { isPicked, ...times });
}

/** Whether `updateNodes` of a set is about this node. */
export function isToBeUpdated(
  updateNodes: NonNullable<NodeConfigSetSpec['updateNodes']>,
  { isPicked, createdAtMs, startedAtMs }: { isPicked: boolean; createdAtMs: number; startedAtMs: number },
): boolean {
  switch (updateNodes) {
    case 'All':
      return true;
    case 'New':
      return createdAtMs >= startedAtMs;
    case 'Selected':
      return isPicked;
  }
}

/** As the controller: the older set has a node that two select. */
function byAge({ metadata: a }: NodeConfigSet, { metadata: b }: NodeConfigSet): number {
  const [one, other] = [`${a.creationTimestamp ?? '~'} ${a.name}`, `${b.creationTimestamp ?? '~'} ${b.name}`];
  return one < other ? -1 : 1;
}
