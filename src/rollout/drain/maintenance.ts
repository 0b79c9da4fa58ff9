/**
 * Detects maintenance of a node by other systems, so that relet leaves it alone: taints and conditions of the Node, NodeMaintenances
 * and Leases of other operators. docs/drain.md has the table with the sources. Pure.
 */
import type { KubeObject } from '../../api/object.js';

/** Parts of a Node from which claims are read. */
export interface ClaimedNode {
  spec?: { taints?: { key: string; effect?: string; value?: string }[] };
  status?: { conditions?: { type: string; status: string; reason?: string }[] };
}

const taints: Record<string, string> = {
  'karpenter.sh/disrupted': 'claimed by Karpenter',
  // Before Karpenter 1.0.
  'karpenter.sh/disruption': 'claimed by Karpenter',
  'karpenter.sh/rebooting': 'claimed by Karpenter',
  'karpenter.sh/unregistered': 'claimed by Karpenter',
  // Its other taint, DeletionCandidateOfClusterAutoscaler, is only a candidacy, which may end.
  ToBeDeletedByClusterAutoscaler: 'claimed by the cluster autoscaler',
  'node.kubernetes.io/out-of-service': 'it is out of service',
  'medik8s.io/drain': 'claimed by medik8s',
};
/** All taints of Cluster API: uninitialized, outdated-revision. */
const clusterApiPrefix = 'node.cluster.x-k8s.io/';

/** Conditions of KEP-5683, and of the kubelet while its host shuts down; while relet drains, the first has our reason. */
export const maintenanceConditions: readonly string[] = [
  'MaintenanceInProgress',
  'DrainInProgress',
  'GracefulNodeShutdownInProgress',
];
export const ownMaintenanceReason = 'KubeletConfigChange';

/** The claimant as text, from the Node alone; undefined if there is none. */
export function claimantOf({ spec, status }: ClaimedNode): string | undefined {
  for (const { key } of spec?.taints ?? []) {
    const isOfClusterApi = key.startsWith(clusterApiPrefix);
    const claim = Object.hasOwn(taints, key) ? taints[key] : isOfClusterApi ? 'claimed by Cluster API' : undefined;
    if (claim !== undefined) return `${claim} (taint ${key})`;
  }
  const condition = status?.conditions?.find(
    ({ type, status: value, reason }) =>
      maintenanceConditions.includes(type) && value === 'True' && reason !== ownMaintenanceReason,
  );
  return condition && `${condition.type} is True (${condition.reason || 'no reason given'})`;
}

/** Objects of NVIDIA (namespaced) and of medik8s (cluster-scoped): each for one node, for as long as it exists. */
export interface NodeMaintenance extends KubeObject {
  spec?: { nodeName?: string; requestorID?: string; reason?: string };
}

export const nodeMaintenances: readonly { group: string; version: string; resource: string }[] = [
  { group: 'maintenance.nvidia.com', version: 'v1alpha1', resource: 'nodemaintenances' },
  { group: 'nodemaintenance.medik8s.io', version: 'v1beta1', resource: 'nodemaintenances' },
];

/** Claimant and node of a maintenance. Undefined for an object that names no node. */
export function maintenanceClaim(
  { group }: { group: string },
  { metadata, spec }: NodeMaintenance,
): { node: string; claimant: string } | undefined {
  const { nodeName, requestorID, reason } = Object(spec) as NonNullable<NodeMaintenance['spec']>;
  if (typeof nodeName !== 'string' || nodeName === '') return undefined;
  const name = metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
  const by = requestorID ? ` by ${requestorID}` : '';
  return { node: nodeName, claimant: `NodeMaintenance ${name} (${group})${by}${reason ? `: ${reason}` : ''}` };
}

/** The operators of medik8s take the Lease of a node before they touch it. */
export const medik8sNamespace = 'medik8s-leases';
export const medik8sLease = (node: string): string => `node-${node}`.toLowerCase();

export interface NodeLease extends KubeObject {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
}

/** An expired one claims nothing, and one that somebody gave back is deleted. */
export function leaseClaim(lease: NodeLease | undefined, nowMs: number): string | undefined {
  const { holderIdentity, leaseDurationSeconds = 0, renewTime } = lease?.spec ?? {};
  const endsMs = Date.parse(renewTime ?? '') + leaseDurationSeconds * 1000;
  if (!holderIdentity || !(endsMs >= nowMs)) return undefined;
  return `${holderIdentity} of medik8s holds its Lease (${medik8sNamespace}/${lease!.metadata.name})`;
}

/** Claims in objects beside the Node, by the name of the node. */
export interface OtherClaims {
  of(node: string): string | undefined;
}
