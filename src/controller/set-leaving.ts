/** Nodes that a set has claimed and no longer selects, or all of them when it is deleted: they are let go. */
import { selectsLabels } from '../api/label-selector.js';
import { type Claim, claimOf } from '../api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { mostInBatch, type NodeConfigSet, specDefaults } from '../api/node-config-set.js';
import { isConflict, isNotFound } from '../api/status.js';
import { rfc3339 } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import type { Log } from '../log.js';
import type { ClusterView } from './cluster-view.js';
import type { OwnWrites } from './own-writes.js';
import { type ClusterNode, setNode, sourceText } from './set-nodes.js';
import { type SetRules, shareOf } from './set-spec.js';
import { hasFailed } from './set-survey.js';
import { assignPatch, releasePatch } from './set-writes.js';

export interface LeavingOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'nodes' | 'nodeConfigs'>;
  set: NodeConfigSet;
  /** Undefined where the spec cannot be read: then nodes go one by one. */
  rules: SetRules | undefined;
  isDeleted: boolean;
  writes: OwnWrites;
  log: Log;
  signal: AbortSignal;
}

/** The revision of a node that gets its local config back before it is let go. */
const resetting = 'reset';

/** How many nodes are left to let go. Those that are reset go within maxUnavailable. */
export async function leaving(options: LeavingOptions): Promise<number> {
  const { set, rules, isDeleted, client } = options;
  const { onLeave = specDefaults.onLeave, onDelete = specDefaults.onDelete } = set.spec;
  const { leavers, total } = claimed(options);
  const isReset = (isDeleted ? onDelete : onLeave) === 'Reset';
  const seen = leavers.map((leaver) => ({ ...leaver, step: stepOf(leaver, isReset, options) }));
  const waiting = seen.filter(({ step }) => step === 'wait').length;
  let mayReset = Math.max(0, (rules ? shareOf(rules.maxUnavailable, total, 'budget') : 1) - waiting);
  let writes = 0;
  for (const { object, claim, step } of seen) {
    if (writes === mostInBatch) break;
    if (step === 'wait' || (step === 'reset' && mayReset === 0)) continue;
    if (step === 'reset') mayReset--;
    writes++;
    const at = rfc3339(client.clock.now());
    const patch =
      step === 'reset'
        ? assignPatch(object, { ...claim, revision: resetting, source: 'local', wave: 0, at }, undefined)
        : releasePatch(object, claim, { isTaken: step === 'forget' });
    await write(options, object, patch);
  }
  return leavers.length;
}

type Step = 'release' | 'forget' | 'reset' | 'wait';

/** Reset: first the local config, then, once it runs, or after the deadline, the claim ends. A node that a person took is only let go. */
function stepOf({ object, claim }: Claimed, isReset: boolean, { rules, client }: LeavingOptions): Step {
  if (claim.source !== sourceText(object)) return 'forget';
  if (!isReset) return 'release';
  if (claim.revision !== resetting) return 'reset';
  const node = setNode({ set: claim.set, node: nodeOf(object), object, olderSets: [] });
  const isOver = node.state !== 'waiting' || rules === undefined || hasFailed(node, rules, client.clock.now());
  return isOver ? 'forget' : 'wait';
}

interface Claimed {
  object: NodeConfig;
  claim: Claim;
}

/** Those that leave, and how many the set has claimed in all. */
function claimed(options: LeavingOptions): { leavers: Claimed[]; total: number } {
  const { view, set, isDeleted } = options;
  const leavers: Claimed[] = [];
  let total = 0;
  for (const object of view.nodeConfigs.values()) {
    const claim = claimOf(object);
    if (claim === undefined || claim.set !== set.metadata.name || claim.released) continue;
    total++;
    if (isDeleted || !isSelected(options, object.metadata.name)) leavers.push({ object, claim });
  }
  return { leavers, total };
}

/** A node that is away for a while keeps its claim with its NodeConfig. */
function isSelected({ view, set }: LeavingOptions, name: string): boolean {
  const node = view.nodes.get(name);
  return node === undefined || selectsLabels(set.spec.selector, node.metadata.labels);
}

const nodeOf = ({ metadata: { name } }: NodeConfig): ClusterNode => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
});

async function write(
  { client, writes, signal, log, set }: LeavingOptions,
  object: NodeConfig,
  patch: object,
): Promise<void> {
  const { name } = object.metadata;
  try {
    const options = { as: 'merge', fieldManager: 'relet-controller', signal } as const;
    writes.add('nodeConfigs', await client.patch<NodeConfig>(nodeConfigs, { name }, patch, options));
    log.info('node leaves set', { set: set.metadata.name, node: name });
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}
