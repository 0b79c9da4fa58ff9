/**
 * Marks that relet puts on a Node that it drains, so that any replica, and any person, sees which set has cordoned it:
 *
 *   relet.dev/drain: '{"set":"gpu","revision":"1f0c…","state":"Draining","at":"2026-03-01T10:00:00Z"}'
 *
 * The annotation is written in the same request as the cordon or the taint, and removed in the one that takes these back.
 */
import { parseObject } from '../json.js';
import type { KubeObject } from './object.js';

export const drainAnnotation = 'relet.dev/drain';
/** On nodes that are drained later in the same rollout: evicted pods prefer nodes without it. */
export const drainTaint = { key: 'relet.dev/drain-pending', effect: 'PreferNoSchedule' };
/** A condition of Kubernetes 1.37 for anybody who does maintenance. */
export const maintenanceCondition = 'MaintenanceInProgress';
/** On a pod, as in the drain rules of Cluster API: `skip`, or `wait-completed`. */
export const drainLabel = 'cluster.x-k8s.io/drain';
/** Field manager of the requests that cordon; the API server keeps who wrote a field. */
export const drainFieldManager = 'relet-controller';

/**
 * Transitions: (none) ─► Waiting (tainted) ─► Draining (cordoned) ─► (none), once the node runs the config, or the drain is given up.
 * Draining ─► Failed: not drained in time, and not cordoned any more; the set leaves the node alone for a while.
 */
export type DrainState = 'Waiting' | 'Draining' | 'Failed';

export interface DrainMark {
  set: string;
  /** For which the node is drained. */
  revision: string;
  state: DrainState;
  /** When this state began. */
  at: string;
  /** Only while Draining: the node was cordoned before, and that cordon is not lifted. */
  foundCordoned?: true;
  /** Only when Failed: which pods were left, and why. */
  message?: string;
}

/** Undefined for an annotation that is not there, or is not a mark. */
export function readDrainMark(text: string | undefined): DrainMark | undefined {
  const { set, revision, state, at, foundCordoned, message } = parseObject(text) ?? {};
  const isState = state === 'Waiting' || state === 'Draining' || state === 'Failed';
  if (typeof set !== 'string' || typeof revision !== 'string' || typeof at !== 'string' || !isState) return undefined;
  return {
    set,
    revision,
    state,
    at,
    ...(foundCordoned === true && { foundCordoned }),
    ...(typeof message === 'string' && { message }),
  };
}

export const drainMarkOf = ({ metadata }: KubeObject): DrainMark | undefined =>
  readDrainMark(metadata.annotations?.[drainAnnotation]);

/**
 * Whether the cordon of the Node is the one that the mark is about: a person may have lifted it and cordoned the node again since.
 * Servers of Kubernetes 1.18 and later record the manager of a field; without it, the mark counts.
 */
export function isOwnCordon(node: KubeObject): boolean {
  const mark = drainMarkOf(node);
  if (!isCordoned(node) || mark?.state !== 'Draining' || mark.foundCordoned) return false;
  const writers = (node.metadata.managedFields ?? []).filter(ownsCordon);
  return writers.every((entry) => (entry as { manager?: string }).manager === drainFieldManager);
}

export const isCordoned = ({ spec }: KubeObject): boolean =>
  (spec as { unschedulable?: boolean } | undefined)?.unschedulable === true;

const ownsCordon = (entry: unknown): boolean => {
  const { fieldsV1 } = entry as { fieldsV1?: { 'f:spec'?: Record<string, unknown> } };
  return fieldsV1?.['f:spec']?.['f:unschedulable'] !== undefined;
};
