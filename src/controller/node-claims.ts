/** Whether another system does maintenance on a node, so that sets leave it alone. Pure. */
import type { ClusterNode } from './set-nodes.js';

/** Taints by which autoscalers and others say that a node is about to go, or is under repair. */
const taints: Record<string, string> = {
  'karpenter.sh/disrupted': 'Karpenter',
  'karpenter.sh/disruption': 'Karpenter',
  ToBeDeletedByClusterAutoscaler: 'the cluster autoscaler',
  'node.kubernetes.io/out-of-service': 'the taint node.kubernetes.io/out-of-service',
  'node.cluster.x-k8s.io/uninitialized': 'Cluster API',
};

/** Conditions of Kubernetes 1.37 for maintenance; ours has this reason. */
const conditions = ['MaintenanceInProgress', 'DrainInProgress', 'GracefulNodeShutdownInProgress'];
export const ownMaintenanceReason = 'KubeletConfigChange';

/** Who has it, in words; undefined: nobody. */
export function claimantOf({ spec, status }: ClusterNode): string | undefined {
  const taint = spec?.taints?.find(({ key }) => Object.hasOwn(taints, key));
  if (taint !== undefined) return `${taints[taint.key]} has it (taint ${taint.key})`;
  const condition = status?.conditions?.find(
    ({ type, status: value, reason }) =>
      conditions.includes(type) && value === 'True' && reason !== ownMaintenanceReason,
  );
  return condition && `${condition.type} is True (${condition.reason ?? 'no reason given'})`;
}
