/** Releases the nodes that a set has claimed and no longer selects; all of them when the set is deleted. */
import { exclusionReasons } from '../api/condition-reasons.js';
import { refOf, sameConfig } from '../api/config-ref.js';
import { selectsLabels } from '../api/label-selector.js';
import { type Claim, claimOf } from '../api/node-annotations.js';
import { type NodeConfig, nodeConfigs } from '../api/node-config.js';
import { mostInBatch, type NodeConfigSet, specDefaults } from '../api/node-config-set.js';
import { isConflict, isNotFound } from '../api/status.js';
import { rfc3339 } from '../clock.js';
import type { KubeClient } from '../kube/client.js';
import type { Log } from '../log.js';
import { claimPatch, releasePatch } from '../rollout/claim-patch.js';
import type { ClusterNode } from '../rollout/cluster-node.js';
import { claimantOf, type OtherClaims } from '../rollout/drain/maintenance.js';
import { type SetNode, setNode } from '../rollout/members.js';
import { readRules, type SetRules, shareOf } from '../rollout/spec.js';
import { hasFailed } from '../rollout/survey.js';
import type { ClusterView } from './cluster-view.js';
import type { OwnWrites } from './set-memory.js';

export interface LeavingOptions {
  client: KubeClient;
  view: Pick<ClusterView, 'nodes' | 'nodeConfigs'> & { claims?: OtherClaims };
  set: NodeConfigSet;
  /** Undefined if the spec cannot be read: then nodes are reset one by one. */
  rules: SetRules | undefined;
  isDeleted: boolean;
  writes: OwnWrites;
  log: Log;
  signal: AbortSignal;
}

/** The revision of a node that gets its local config back before it is let go. */
const resetting = 'reset';

/** How many nodes are left to let go. Those that are reset go within maxUnavailable, which all nodes of the set count for. */
export async function leaving(options: LeavingOptions): Promise<number> {
  const { set, rules, isDeleted, client } = options;
  const { onLeave = specDefaults.onLeave, onDelete = specDefaults.onDelete } = set.spec;
  const all = claimedBy(options);
  const leavers = all.filter(({ object }) => isDeleted || !isSelected(options, object.metadata.name));
  if (leavers.length === 0) return 0;
  const isReset = (isDeleted ? onDelete : onLeave) === 'Reset';
  const away = new Set(isReset ? all.filter((one) => isAwaited(nodeOf(one, options), options)) : []);
  let mayReset = (rules ? shareOf(rules.maxUnavailable, all.length, 'budget') : 1) - away.size;
  let writes = 0;
  for (const leaver of leavers) {
    if (writes === mostInBatch) break;
    const { object, claim } = leaver;
    const step = isReset ? stepOf(leaver, options) : 'release';
    const costs = step === 'reset' && !away.has(leaver) ? 1 : 0;
    if (step === 'wait' || (costs > 0 && mayReset <= 0)) continue;
    mayReset -= costs;
    writes++;
    const at = rfc3339(client.clock.now());
    const patch =
      step === 'reset'
        ? claimPatch(object, { ...claim, revision: resetting, source: undefined, wave: 0, at }, undefined)
        : releasePatch(object, claim, { isTaken: step === 'forget' });
    await write(options, object, patch);
  }
  return leavers.length;
}

type Step = 'release' | 'forget' | 'reset' | 'wait';

/**
 * First the local config, then, once it runs, or after the deadline, the claim ends. A node that a person took is only let go; one that
 * is held, or that another system has, keeps what it runs.
 */
function stepOf(leaver: Claimed, options: LeavingOptions): Step {
  const { object, claim } = leaver;
  if (!sameConfig(claim.source, refOf(object.spec?.configSource), 'name')) return 'forget';
  const node = nodeOf(leaver, options);
  if (claim.revision !== resetting) return isLeftAlone(node) ? 'release' : 'reset';
  return isAwaited(node, options) ? 'wait' : 'forget';
}

/** The node was changed and is not active yet. False after the deadline. */
const isAwaited = (node: SetNode, { rules = defaults, client }: LeavingOptions): boolean =>
  node.state === 'waiting' && !hasFailed(node, rules, client.clock.now());

const isLeftAlone = ({ blocked }: SetNode): boolean =>
  blocked?.reason === exclusionReasons.held.reason || blocked?.reason === exclusionReasons.claimed.reason;

/** Used if the spec cannot be read. */
const defaults = readRules({ selector: {}, config: {} });

interface Claimed {
  object: NodeConfig;
  claim: Claim;
}

function claimedBy({ view, set }: LeavingOptions): Claimed[] {
  const found: Claimed[] = [];
  for (const object of view.nodeConfigs.values()) {
    const claim = claimOf(object);
    if (claim?.set === set.metadata.name && !claim.released) found.push({ object, claim });
  }
  return found;
}

/** A node that is away for a while keeps its claim with its NodeConfig. */
function isSelected({ view, set }: LeavingOptions, name: string): boolean {
  const node = view.nodes.get(name);
  return node === undefined || selectsLabels(set.spec.selector, node.metadata.labels);
}

function nodeOf({ object, claim }: Claimed, { view }: LeavingOptions): SetNode {
  const { name } = object.metadata;
  const node: ClusterNode = view.nodes.get(name) ?? { apiVersion: 'v1', kind: 'Node', metadata: { name } };
  const claimant = claimantOf(node) ?? view.claims?.of(name);
  return setNode({ set: claim.set, node, object, olderSets: [], claimant });
}

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
