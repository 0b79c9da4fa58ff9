/** Selects the cohort of a wave: which canaries and controls are observed, and which of them are excluded from the comparison. Pure. */
import { createHash } from 'node:crypto';
import { exclusionReasons, leftOutReasons } from '../../api/condition-reasons.js';
import { mostObserved, type NamedNode } from '../../api/node-config-set.js';
import type { UnfitReason } from '../../api/observe.js';
import { byNaturalOrder } from '../../natural-order.js';
import { todoOf } from '../batch.js';
import type { Exclusion, SetNode } from '../members.js';
import type { SetRules } from '../spec.js';
import { type SetState, updateOf } from '../state.js';
import { isUnsettled, type Survey } from '../survey.js';
import type { StratumKey } from './strata.js';

/** The first nodes that this wave of this attempt was assigned to. A correction of a node that had failed is not one of them. */
export function canariesOf(state: SetState, { phases }: Survey, wave: number): SetNode[] {
  const startedAtMs = Date.parse(updateOf(state)?.startedAt ?? '');
  return [...phases]
    .filter(([{ claim }, phase]) => phase !== 'todo' && claim?.wave === wave && !claim.exempt)
    .map(([node]) => ({ node, atMs: Date.parse(node.claim!.at) }))
    .filter(({ atMs }) => atMs >= startedAtMs)
    .sort((a, b) => a.atMs - b.atMs || byNaturalOrder(a.node.name, b.node.name))
    .slice(0, mostObserved)
    .map(({ node }) => node);
}

export interface ControlsInput {
  id: string;
  survey: Survey;
  rules: SetRules;
  most: number;
  /** Nodes that the wave may still assign: they come first, and cannot be controls. */
  room: number;
  canaries: readonly SetNode[];
  nowMs: number;
}

/**
 * Nodes of the set that keep the previous config until the wave is over, and have settled. Those that are like a canary come first; among
 * equals chance decides, by a digest, so that a restart chooses the same.
 */
export function controlsOf({ id, survey, rules, most, room, canaries, nowMs }: ControlsInput): SetNode[] {
  const keys = canaries.map(keyOf);
  const rankOf = (node: SetNode) => {
    const { minor, instanceType, zone } = keyOf(node);
    const minors = keys.filter((key) => key.minor === minor);
    const types = minors.filter((key) => key.instanceType === instanceType);
    if (types.some((key) => key.zone === zone)) return 0;
    return types.length > 0 ? 1 : minors.length > 0 ? 2 : 3;
  };
  return todoOf(survey, rules, nowMs)
    .filter(({ isExempt }) => !isExempt)
    .slice(room)
    .map(({ node }) => ({ node, rank: rankOf(node), digest: digestOf(`${id}/${node.name}`) }))
    .filter(({ node, rank }) => rank < 3 && node.isReady && !node.isCordoned && !node.drain && !isUnsettled(node))
    .sort((a, b) => a.rank - b.rank || (a.digest < b.digest ? -1 : 1))
    .slice(0, most)
    .map(({ node }) => node);
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export function keyOf({ labels, kubeletMinor = '' }: SetNode): StratumKey {
  const labelOf = (...names: string[]) => names.map((name) => labels[name]).find((value) => value !== undefined) ?? '';
  return {
    minor: kubeletMinor,
    instanceType: labelOf('node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'),
    zone: labelOf('topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'),
  };
}

/** Why a node of the cohort cannot be compared; undefined as long as it can. */
export function unfitnessOf(
  node: SetNode | undefined,
  isCanary: boolean,
  id: string,
  { phases }: Survey,
): Exclusion | undefined {
  const { gone, failed, changed, drained } = leftOutReasons;
  if (node === undefined) return exclusionOf(gone);
  const phase = phases.get(node);
  if (isCanary && phase !== 'trial' && phase !== 'updated') return exclusionOf(failed);
  if (!isCanary && phase !== 'todo') return exclusionOf(changed);
  if (node.blocked !== undefined) return node.blocked;
  if (!node.isReady) return { reason: exclusionReasons.notReady.reason, message: 'it is not Ready' };
  if (node.isCordoned || (isCanary && node.claim?.drained)) return exclusionOf(drained);
  const unfit = node.observed?.id === id ? node.observed.unfit : undefined;
  return unfit && exclusionOf(unfitReasons[unfit]);
}

const unfitReasons = {
  Booted: leftOutReasons.booted,
  NoHistory: leftOutReasons.noHistory,
} satisfies Record<UnfitReason, Exclusion>;

const exclusionOf = ({ reason, message }: Exclusion): Exclusion => ({ reason, message });

export const leftOut = (name: string, { reason, message }: Exclusion): NamedNode => ({ name, reason, message });
