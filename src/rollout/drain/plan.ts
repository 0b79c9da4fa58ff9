/**
 * Plans the drains of a set: which node is next, which pods are evicted next, which cordons stay. Pure: controller/drain/drains.ts
 * reads the cluster and executes the plan.
 *
 *   all nodes of the batch cordoned ─► pods with budgets evicted ─► the others evicted ─► empty ─► assigned ─► active ─► uncordoned
 *                                        └─ not empty in time ─► uncordoned, the node is left alone for a while
 */
import { exclusionReasons } from '../../api/condition-reasons.js';
import { type DrainMark, drainAnnotation, drainTaint, isCordoned, isOwnCordon } from '../../api/drain.js';
import type { KubeObject } from '../../api/object.js';
import { shorten } from '../../shorten.js';
import type { ClusterNode } from '../cluster-node.js';
import { type Exclusion, mayGet, type SetNode } from '../members.js';
import { isWritten } from '../plan.js';
import type { SetRules } from '../spec.js';
import type { Intent } from '../state.js';
import { hasFailed } from '../survey.js';
import type { DrainPod, PodAction } from './pods.js';

/** A node whose drain failed is tried again after so long, unless the strategy halts. */
export const retryDrainMs = 30 * 60_000;

/** The node is being drained for this batch. A mark from before the batch is ignored. */
export const isDrainedFor = (mark: DrainMark | undefined, { revision, at }: Pick<Intent, 'revision' | 'at'>): boolean =>
  mark?.state === 'Draining' && mark.revision === revision && Date.parse(mark.at) >= Date.parse(at);

/** Pods with a budget first: if they cannot be evicted, no other pod is. None while a pod blocks the drain anyway. */
export function evictNext(actions: readonly PodAction[]): DrainPod[] {
  if (actions.some(({ kind }) => kind === 'block')) return [];
  const evictable = actions.flatMap((one) => (one.kind === 'evict' ? [one] : []));
  const first = evictable.filter(({ hasBudget }) => hasBudget);
  return (first.length > 0 ? first : evictable).map(({ pod }) => pod);
}

export interface DrainContext {
  rules: SetRules | undefined;
  /** Start of the update revision; a retry starts it again, and with it the drains that failed before. */
  startedAtMs: number;
  /** The update revision is taken back: nothing halts that. */
  isRejected: boolean;
  nowMs: number;
}

/** Why the set leaves the node alone: its drain failed, and it is not time yet to try again. */
export function failedDrain({ drain }: SetNode, context: DrainContext): Exclusion | undefined {
  const { rules, startedAtMs, isRejected, nowMs } = context;
  if (drain?.state !== 'Failed') return undefined;
  const sinceMs = nowMs - Date.parse(drain.at);
  const halts = rules?.drain.onUndrainable === 'Halt' && !isRejected;
  const isOver = sinceMs < 0 || (!halts && sinceMs >= retryDrainMs);
  if (Date.parse(drain.at) < startedAtMs || isOver) return undefined;
  return undrainableBecause(drain.message ?? 'it was not drained in time');
}

export const undrainableBecause = (message: string): Exclusion => ({
  reason: exclusionReasons.undrainable.reason,
  message: shorten(message, 300),
});

/** The node is in the batch, and was not written yet. */
const isInBatch = (node: SetNode, intent: Intent | undefined): boolean =>
  intent?.names.includes(node.name) === true && mayGet(node, intent) && !isWritten(node, intent);

/**
 * Whether the mark stays on the node, and with it the cordon or the taint. `node`: undefined if the set does not select it any more.
 * A cordon stays until the node is in the batch no longer, and runs the config it was drained for, or has failed to.
 */
export function isMarkWanted(
  mark: DrainMark,
  node: SetNode | undefined,
  batch: { intent: Intent | undefined; waiting: ReadonlySet<string> },
  context: DrainContext,
): boolean {
  if (node === undefined) return false;
  switch (mark.state) {
    case 'Waiting':
      return batch.waiting.has(node.name);
    case 'Failed':
      return failedDrain(node, context) !== undefined;
    case 'Draining': {
      if (isInBatch(node, batch.intent)) return isDrainedFor(mark, batch.intent!);
      const { claim, state } = node;
      const isForIt = claim?.revision === mark.revision && Date.parse(claim.at) >= Date.parse(mark.at);
      return isForIt && state === 'waiting' && !(context.rules && hasFailed(node, context.rules, context.nowMs));
    }
  }
}

/** Merge patches of a Node as it is now, with its resourceVersion: who changed it meanwhile is respected. */
export function cordonPatch(node: KubeObject, mark: DrainMark): object {
  const foundCordoned = isCordoned(node) && !isOwnCordon(node);
  const text = JSON.stringify({ ...mark, ...(foundCordoned && { foundCordoned: true }) });
  return withMark(node, text, { unschedulable: true, ...taintsOf(node, []) });
}

export const waitingPatch = (node: KubeObject, mark: DrainMark): object =>
  withMark(node, JSON.stringify(mark), taintsOf(node, [drainTaint]));

/** Takes back what the mark stands for, and only that. `next`: of a drain that failed. */
export const liftPatch = (node: KubeObject, next: DrainMark | undefined): object =>
  withMark(node, next === undefined ? null : JSON.stringify(next), {
    ...(isOwnCordon(node) && { unschedulable: null }),
    ...taintsOf(node, []),
  });

const withMark = ({ metadata }: KubeObject, text: string | null, spec: object): object => ({
  metadata: { resourceVersion: metadata.resourceVersion, annotations: { [drainAnnotation]: text } },
  ...(Object.keys(spec).length > 0 && { spec }),
});

type Taint = NonNullable<NonNullable<ClusterNode['spec']>['taints']>[number];

/** A merge patch replaces the list. Nothing if it would stay the same. */
function taintsOf({ spec }: KubeObject, ours: readonly Taint[]): { taints?: Taint[] | null } {
  const { taints = [] } = (spec ?? {}) as { taints?: Taint[] };
  const others = taints.filter(({ key }) => key !== drainTaint.key);
  if (others.length + ours.length === taints.length) return {};
  const next = [...others, ...ours];
  return { taints: next.length === 0 ? null : next };
}
