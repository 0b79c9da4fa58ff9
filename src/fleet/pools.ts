/**
 * The default pool of a node, used if no label is given: nodes of a pool are expected to be alike. Built from the set that has the
 * node, or the pool or role in its labels, with its instance type and the minor of its kubelet. Pure.
 */

/** Pools of clouds and installers, in this order. */
const poolLabels: readonly string[] = [
  'cloud.google.com/gke-nodepool',
  'eks.amazonaws.com/nodegroup',
  'karpenter.sh/nodepool',
  'kubernetes.azure.com/agentpool',
  'doks.digitalocean.com/node-pool',
  'k8s.scaleway.com/pool-name',
  'worker.gardener.cloud/pool',
  'cluster.x-k8s.io/deployment-name',
  'node-pool',
  'nodepool',
  'pool',
];
const instanceTypes: readonly string[] = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'];
const rolePrefix = 'node-role.kubernetes.io/';

export interface PoolNode {
  labels: Record<string, string>;
  kubeletVersion: string;
  set?: string | undefined;
}

/** `web m5.large 1.36`; with `by`, the value of that label. */
export function poolOf({ labels, kubeletVersion, set }: PoolNode, by?: string): string {
  const firstOf = (keys: readonly string[]) => keys.map((key) => labels[key]).find((value) => value !== undefined);
  if (by !== undefined) return firstOf([by]) ?? '<none>';
  const roles = Object.keys(labels)
    .filter((key) => key.startsWith(rolePrefix))
    .map((key) => key.slice(rolePrefix.length))
    .filter((role) => role !== '')
    .sort();
  const name = set ?? firstOf(poolLabels) ?? (roles.join('+') || 'worker');
  const minor = /^v?(1\.\d+)/.exec(kubeletVersion)?.[1];
  return [name, firstOf(instanceTypes), minor].filter((part) => part !== undefined).join(' ');
}

/** A node of the control plane, by the labels that installers give it. */
export const isControlPlane = (labels: Record<string, string>): boolean =>
  ['control-plane', 'controlplane', 'master'].some((role) => Object.hasOwn(labels, `${rolePrefix}${role}`));
