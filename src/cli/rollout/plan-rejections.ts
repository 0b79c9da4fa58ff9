/**
 * Predicts which nodes would reject the config of a set. Validates like the agent of each node, forecast included, and like `relet set`
 * and `relet push`, which also reject unknown fields. Includes nodes that are excluded for now, since they get the config later.
 */
import { exclusionReasons } from '../../api/condition-reasons.js';
import type { NodeConfigSet } from '../../api/node-config-set.js';
import { DecodeError } from '../../config/decode.js';
import { flagAt } from '../../config/flags.js';
import { mergeLocal } from '../../config/merge.js';
import { newestMinor, parseMinor } from '../../config/model.js';
import { acceptanceErrors } from '../../fleet/acceptance.js';
import { type Fleet, fleetFrom, madeFleet } from '../../rehearsal/fleet.js';
import { findRejections, type NodeRejection } from '../../rehearsal/rejections.js';
import type { SetMember } from '../../rollout/members.js';

export async function planRejections(
  set: NodeConfigSet,
  payload: string,
  members: readonly SetMember[],
): Promise<NodeRejection[]> {
  const own = belongingTo(members);
  const subjects = own.length > 0 ? own : members;
  const isWritten = set.spec.config.overlay === undefined;
  if (subjects.length > 0) return rejectionsIn(fleetOf(set, subjects), payload, { isWritten });
  // No node is selected yet: validate as the newest known kubelet version would.
  const made = madeFleet({ set: { ...set, spec: { ...set.spec, selector: {} } }, count: 1, kubeletVersion: newest });
  return (await rejectionsIn(made, payload, { isWritten })).map((one) => ({ ...one, nodes: [] }));
}

const newest = `v1.${newestMinor}.0`;

const belongsToOthers: ReadonlySet<string> = new Set(
  [exclusionReasons.otherSet, exclusionReasons.byHand, exclusionReasons.repointed].map(({ reason }) => reason),
);

/** Also those that are left out for now. */
export const belongingTo = (members: readonly SetMember[]): SetMember[] =>
  members.filter(({ node }) => !belongsToOthers.has(node.blocked?.reason ?? ''));

function fleetOf(set: NodeConfigSet, members: readonly SetMember[]): Fleet {
  const nodes = members.map(({ cluster }) => ({ ...cluster, apiVersion: 'v1', kind: 'Node' }));
  const objects = members.flatMap(({ object }) => object ?? []);
  const kinds = { apiVersion: 'relet.dev/v1alpha1', kind: 'NodeConfig' };
  return fleetFrom([...nodes, ...objects.map((object) => ({ ...object, ...kinds }))], { set });
}

async function rejectionsIn(
  fleet: Fleet,
  payload: string,
  { isWritten }: { isWritten: boolean },
): Promise<NodeRejection[]> {
  const found = await findRejections(fleet, payload, { isWritten });
  const rejecting = new Set(found.flatMap(({ nodes }) => nodes));
  const others = new Map<string, NodeRejection>();
  for (const node of fleet.nodes) {
    const { name, kubeletVersion, local, host } = node;
    if (rejecting.has(name)) continue;
    const key = JSON.stringify([kubeletVersion, local, host?.flags]);
    const known = others.get(key);
    if (known === undefined) others.set(key, strictRejection(node, payload));
    else known.nodes.push(name);
  }
  return [...found, ...[...others.values()].filter(({ message }) => message !== '')];
}

/** Its message is empty where there is no error. */
function strictRejection(
  { name, kubeletVersion, local, host }: Fleet['nodes'][number],
  payload: string,
): NodeRejection {
  const minor = parseMinor(kubeletVersion) ?? newestMinor;
  const pinnedByFlags = (host?.flags ?? []).flatMap((flag) => flagAt(flag.slice(2).split('=')[0]!, minor)?.field ?? []);
  const [first] = acceptanceErrors(payload, { minor, local: localOf(local, minor), pinned: pinnedByFlags });
  const message = first === undefined ? '' : `${first.path === '' ? '' : `${first.path}: `}${first.message}`;
  return { nodes: [name], kubeletVersion, reason: 'ParseFailed', message };
}

function localOf(text: string, minor: number) {
  try {
    return mergeLocal({ minor, local: [{ path: 'local', text }] }).config;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
