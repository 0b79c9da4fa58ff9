/**
 * Counts the effects on a node's pods in a window, from their status in a list that was read at its end or later. Counts are of
 * workloads: ten restarts of one crash-looping pod are one. Pure. Times in a status have whole seconds.
 */
import type { KubeObject } from '../../api/object.js';
import { isRejected, lastKubeletWrite } from '../trial/rejected-pods.js';
import type { Window } from './history.js';

interface Terminated {
  reason?: string;
  finishedAt?: string;
}

interface ContainerStatus {
  restartCount?: number;
  state?: { terminated?: Terminated };
  lastState?: { terminated?: Terminated };
}

interface PodStatus {
  phase?: string;
  reason?: string;
  message?: string;
  conditions?: { type: string; status: string; lastTransitionTime?: string }[];
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
}

export interface PodCounts {
  oomKills: number;
  evictions: number;
  restarts: number;
  rejectedPods: number;
}

const statusOf = ({ status }: KubeObject): PodStatus => (status ?? {}) as PodStatus;

/** Static pods have the Node as their owner, all of them: each is a workload of its own. */
export function workloadOf({ metadata }: KubeObject): string {
  const owner = metadata.ownerReferences?.find(({ controller, kind }) => controller === true && kind !== 'Node');
  return owner?.uid ?? metadata.uid ?? metadata.name;
}

export function podCounts(pods: readonly KubeObject[], window: Window): PodCounts {
  const isIn = (time: string | undefined) => inWindow(time, window);
  return {
    oomKills: workloads(pods, (pod) =>
      containersOf(pod).some(({ state, lastState }) =>
        [state?.terminated, lastState?.terminated].some((end) => end?.reason === 'OOMKilled' && isIn(end.finishedAt)),
      ),
    ),
    evictions: workloads(pods, (pod) => isEvicted(pod) && isIn(failedAt(pod))),
    restarts: workloads(pods, (pod) =>
      containersOf(pod).some(
        ({ restartCount = 0, lastState }) => restartCount > 0 && isIn(lastState?.terminated?.finishedAt),
      ),
    ),
    rejectedPods: workloads(pods, (pod) => isRejected(pod) && isIn(failedAt(pod))),
  };
}

/** Uids of pods that are Ready. */
export const readyPods = (pods: readonly KubeObject[]): string[] =>
  pods.filter((pod) => conditionOf(pod, 'Ready')?.status === 'True').map(({ metadata }) => metadata.uid ?? '');

/** Workloads with a pod that stopped being Ready in the window, and still is there and not Ready. */
export const lostReadyIn = (pods: readonly KubeObject[], window: Window): number =>
  workloads(pods, (pod) => isUnready(pod) && inWindow(conditionOf(pod, 'Ready')?.lastTransitionTime, window));

/** The same since a list of which the Ready pods are known. */
export function lostReadySince(pods: readonly KubeObject[], ready: ReadonlySet<string>): number {
  return workloads(pods, (pod) => isUnready(pod) && ready.has(pod.metadata.uid ?? ''));
}

/**
 * Median of the pods that were scheduled in the window and are ready without a restart, from PodScheduled to ContainersReady. With image
 * pulls: the status does not show them. Undefined if no pod started.
 */
export function podStartSeconds(pods: readonly KubeObject[], window: Window): number | undefined {
  const seconds = pods.flatMap((pod) => {
    const scheduled = conditionOf(pod, 'PodScheduled');
    const ready = conditionOf(pod, 'ContainersReady');
    const isFirst = containersOf(pod).every(({ restartCount = 0 }) => restartCount === 0);
    if (!isFirst || ready?.status !== 'True' || !inWindow(scheduled?.lastTransitionTime, window)) return [];
    const took = (Date.parse(ready.lastTransitionTime ?? '') - Date.parse(scheduled?.lastTransitionTime ?? '')) / 1000;
    return took >= 0 ? [took] : [];
  });
  if (seconds.length === 0) return undefined;
  const sorted = seconds.sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Messages of kubelets for a pod that exceeded a limit of its own: not an effect of the node. */
const ownLimit =
  /^(Pod ephemeral local storage usage exceeds|Usage of EmptyDir volume|Container \S+ exceeded its local)/;

function isEvicted(pod: KubeObject): boolean {
  const { phase, reason, message = '' } = statusOf(pod);
  return phase === 'Failed' && reason === 'Evicted' && !ownLimit.test(message);
}

/** Kubelets before 1.26 write no condition: then the last write of the kubelet, which does not touch a failed pod again. */
const failedAt = (pod: KubeObject): string | undefined =>
  conditionOf(pod, 'DisruptionTarget')?.lastTransitionTime ?? lastKubeletWrite(pod);

/** A job that is done is not Ready either, nor is a pod that is being deleted. */
const isUnready = (pod: KubeObject): boolean =>
  statusOf(pod).phase !== 'Succeeded' &&
  pod.metadata.deletionTimestamp === undefined &&
  conditionOf(pod, 'Ready')?.status !== 'True';

const conditionOf = (pod: KubeObject, type: string) => statusOf(pod).conditions?.find((one) => one.type === type);

function containersOf(pod: KubeObject): ContainerStatus[] {
  const { containerStatuses = [], initContainerStatuses = [] } = statusOf(pod);
  return [...initContainerStatuses, ...containerStatuses];
}

function inWindow(time: string | undefined, { from, to }: Window): boolean {
  const at = Date.parse(time ?? '');
  return at >= from && at <= to;
}

const workloads = (pods: readonly KubeObject[], isAffected: (pod: KubeObject) => boolean): number =>
  new Set(pods.filter(isAffected).map(workloadOf)).size;
