/** The columns of `kubectl get pods`: a pod's state in one word, from its containers' states. */
import type { KubeObject } from '../../../api/object.js';
import type { Column } from '../resource.js';
import { age, ageColumn, column, nameColumn, wideColumn } from './columns.js';
import { type Container, type ContainerState, type ContainerStatus, podSpec, podStatus } from './pod-parts.js';

export const podColumns: Column[] = [
  nameColumn,
  column('Ready', 'How many of its containers are ready.', (pod) => summary(pod).ready),
  column('Status', 'Its state in one word.', (pod) => summary(pod).reason),
  column('Restarts', 'How often its containers were restarted, and when last.', (pod, now) => restarts(pod, now)),
  ageColumn,
  wideColumn('IP', 'Its address.', (pod) => podStatus(pod).podIPs?.[0]?.ip || '<none>'),
  wideColumn('Node', 'Where it runs.', (pod) => podSpec(pod).nodeName || '<none>'),
  wideColumn(
    'Nominated Node',
    'Where room is being made for it.',
    (pod) => podStatus(pod).nominatedNodeName || '<none>',
  ),
  wideColumn('Readiness Gates', 'How many of its extra conditions hold.', readinessGates),
];

interface Summary {
  reason: string;
  ready: string;
  restarts: number;
  lastRestart?: string;
}

function summary(pod: KubeObject): Summary {
  const { phase = '', reason: own, conditions = [] } = podStatus(pod);
  const gated = conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated');
  const base = gated ? 'SchedulingGated' : own || phase;
  const init = initSummary(pod);
  const isInitialized = conditions.some(({ type, status }) => type === 'Initialized' && status === 'True');
  const isMain = init.reason === undefined || isInitialized;
  const main = mainSummary(pod, isMain ? base : init.reason!);
  const counted = isMain
    ? [...(podStatus(pod).containerStatuses ?? []), ...init.sidecars]
    : (podStatus(pod).initContainerStatuses ?? []);
  const total = (podSpec(pod).containers ?? []).length + (podSpec(pod).initContainers ?? []).filter(isSidecar).length;
  const lastRestart = counted
    .map((status) => status.lastState?.terminated?.finishedAt ?? '')
    .sort()
    .at(-1);
  return {
    reason: deletionReason(pod, isMain ? main.reason : init.reason!),
    ready: `${init.ready + (isMain ? main.ready : 0)}/${total}`,
    restarts: counted.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    ...(lastRestart ? { lastRestart } : {}),
  };
}

function isSidecar(container: Container | undefined): boolean {
  return container?.restartPolicy === 'Always';
}

/** The first init container that has not succeeded decides the state. */
function initSummary(pod: KubeObject): { reason?: string; ready: number; sidecars: ContainerStatus[] } {
  const declared = podSpec(pod).initContainers ?? [];
  const statuses = podStatus(pod).initContainerStatuses ?? [];
  const sidecarNames = new Set(declared.filter(isSidecar).map(({ name }) => name));
  const sidecars = statuses.filter(({ name }) => sidecarNames.has(name));
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    const { terminated, waiting } = status.state ?? {};
    if (terminated !== undefined && (terminated.exitCode ?? 0) === 0) continue;
    if (sidecarNames.has(status.name) && status.started) {
      if (status.ready) ready++;
      continue;
    }
    if (terminated !== undefined) return { reason: `Init:${endReason(terminated)}`, ready, sidecars };
    if (waiting?.reason && waiting.reason !== 'PodInitializing')
      return { reason: `Init:${waiting.reason}`, ready, sidecars };
    return { reason: `Init:${index}/${declared.length}`, ready, sidecars };
  }
  return { ready, sidecars };
}

function mainSummary(pod: KubeObject, base: string): { reason: string; ready: number } {
  let reason = base;
  let ready = 0;
  for (const status of [...(podStatus(pod).containerStatuses ?? [])].reverse()) {
    const { waiting, terminated, running } = status.state ?? {};
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated !== undefined) reason = endReason(terminated);
    else if (status.ready && running !== undefined) ready++;
  }
  if (reason !== 'Completed' || ready === 0) return { reason, ready };
  const isReady = podStatus(pod).conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  return { reason: isReady ? 'Running' : 'NotReady', ready };
}

function endReason({ reason, signal, exitCode = 0 }: NonNullable<ContainerState['terminated']>): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);
}

function deletionReason(pod: KubeObject, reason: string): string {
  const { phase, reason: own } = podStatus(pod);
  if (pod.metadata.deletionTimestamp === undefined) return reason;
  if (own === 'NodeLost') return 'Unknown';
  return phase === 'Failed' || phase === 'Succeeded' ? reason : 'Terminating';
}

function restarts(pod: KubeObject, now: Date): string {
  const { restarts: count, lastRestart } = summary(pod);
  return count > 0 && lastRestart !== undefined ? `${count} (${age(lastRestart, now)} ago)` : `${count}`;
}

function readinessGates(pod: KubeObject): string {
  const gates = podSpec(pod).readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const holds = (type: string) =>
    podStatus(pod).conditions?.some((entry) => entry.type === type && entry.status === 'True');
  return `${gates.filter(({ conditionType }) => holds(conditionType)).length}/${gates.length}`;
}
