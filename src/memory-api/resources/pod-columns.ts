/** The columns of `kubectl get pods`: the state of a Pod in one word, from the states of its containers. */
import type { KubeObject } from '../../api/object.js';
import type { Column } from '../resource.js';
import { ageColumn, column, nameColumn, wideColumn } from './columns.js';
import { podSpec, podStatus } from './pod-parts.js';

export const podColumns: Column[] = [
  nameColumn,
  column('Ready', 'How many of its containers are ready.', ready),
  column('Status', 'Its state in one word.', state),
  column('Restarts', 'How often its containers were restarted.', restarts),
  ageColumn,
  wideColumn('IP', 'Its address.', (pod) => podStatus(pod).podIPs?.[0]?.ip || '<none>'),
  wideColumn('Node', 'The node it runs on.', (pod) => podSpec(pod).nodeName || '<none>'),
  wideColumn(
    'Nominated Node',
    'The node on which room is made for it.',
    (pod) => podStatus(pod).nominatedNodeName || '<none>',
  ),
  wideColumn('Readiness Gates', 'How many of its additional conditions are true.', () => '<none>'),
];

const statuses = (pod: KubeObject) => podStatus(pod).containerStatuses ?? [];

function ready(pod: KubeObject): string {
  return `${statuses(pod).filter(({ ready: isReady }) => isReady).length}/${(podSpec(pod).containers ?? []).length}`;
}

/** The first container that waits or has ended decides. */
function state(pod: KubeObject): string {
  const { phase = '', reason } = podStatus(pod);
  const isOver = phase === 'Failed' || phase === 'Succeeded';
  if (pod.metadata.deletionTimestamp !== undefined && !isOver) return 'Terminating';
  for (const { state: { waiting, terminated } = {} } of statuses(pod)) {
    if (waiting?.reason) return waiting.reason;
    if (terminated !== undefined) return terminated.reason || `ExitCode:${terminated.exitCode ?? 0}`;
  }
  return reason || phase;
}

function restarts(pod: KubeObject): string {
  return String(statuses(pod).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0));
}
