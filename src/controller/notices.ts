/**
 * Maps the status of a set to the notice that a webhook gets about its rollout. Pure. notifier.ts delivers notices.
 *
 *   Stalled ─► Halted, or Undone where its nodes went back     Reconciling, AwaitingApproval ─► AwaitingApproval
 *   Ready   ─► Complete                                        everything else ─► none
 */
import { createHash } from 'node:crypto';
import { setProgressReasons, setReadyReasons, setStalledReasons } from '../api/condition-reasons.js';
import type { NodeConfigCondition } from '../api/node-config.js';
import type { NodeConfigSet, NodeConfigSetStatus } from '../api/node-config-set.js';

export type NoticeEvent = 'Halted' | 'AwaitingApproval' | 'Complete' | 'Undone';

/** The body of a request, as docs/sets.md describes it. */
export interface Notice {
  apiVersion: 'relet.dev/v1alpha1';
  kind: 'RolloutNotice';
  /** The same for every delivery of the same notice. */
  id: string;
  event: NoticeEvent;
  set: string;
  revision: string;
  /** AwaitingApproval: the wave that waits. */
  wave?: number;
  reason: string;
  /** A sentence with node names. */
  message: string;
  /** Some of the nodes that failed. */
  nodes: string[];
  counts: { selected: number; updated: number; failed: number; excluded: number };
  /** When it became so. */
  time: string;
}

/** Undefined while there is nothing that a person must know. */
export function noticeOf({ metadata, status = {} }: Pick<NodeConfigSet, 'metadata' | 'status'>): Notice | undefined {
  const condition = trueCondition(status);
  const event = condition && eventOf(condition);
  if (event === undefined) return undefined;
  const { reason, message, lastTransitionTime = '' } = condition!;
  const {
    updateRevision: revision = '',
    selectedNodes = 0,
    updatedNodes = 0,
    failedNodes = 0,
    excludedNodes = 0,
  } = status;
  const wave =
    event === 'AwaitingApproval' ? status.waves?.find(({ state }) => state === 'AwaitingApproval') : undefined;
  // Reconciling is True since the rollout began; it waits since the wave ended.
  const time = wave?.endedAt ?? lastTransitionTime;
  const key = [metadata.uid, event, reason, revision, wave?.wave, lastTransitionTime, time].join('\n');
  return {
    apiVersion: 'relet.dev/v1alpha1',
    kind: 'RolloutNotice',
    id: createHash('sha256').update(key).digest('hex').slice(0, 32),
    event,
    set: metadata.name,
    revision,
    ...(wave !== undefined && { wave: wave.wave }),
    reason,
    message: status.waiting && event === 'AwaitingApproval' ? status.waiting : message,
    nodes: status.failed?.nodes ?? [],
    counts: { selected: selectedNodes, updated: updatedNodes, failed: failedNodes, excluded: excludedNodes },
    time,
  };
}

const trueCondition = ({ conditions = [] }: NodeConfigSetStatus): NodeConfigCondition | undefined =>
  conditions.find(({ type, status }) => status === 'True' && ['Ready', 'Reconciling', 'Stalled'].includes(type));

const undone: ReadonlySet<string> = new Set(
  [setStalledReasons.undone, setStalledReasons.rolledBack, setStalledReasons.expired].map(({ reason }) => reason),
);

function eventOf({ type, reason }: NodeConfigCondition): NoticeEvent | undefined {
  if (type === 'Stalled') return undone.has(reason ?? '') ? 'Undone' : 'Halted';
  if (type === 'Ready') return reason === setReadyReasons.complete.reason ? 'Complete' : undefined;
  return reason === setProgressReasons.approval.reason ? 'AwaitingApproval' : undefined;
}

/** Age limit for sets without a delivered notice: a new webhook does not get the past of all sets. */
const newsMs = 3_600_000;

export function isDue({ id, time }: Notice, notified: string | undefined, nowMs: number): boolean {
  if (notified === id) return false;
  return notified !== undefined || !(nowMs - Date.parse(time) > newsMs);
}
