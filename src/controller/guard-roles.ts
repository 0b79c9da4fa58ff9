/** The roles that let nodes write status: one for all nodes behind admission policies, or one for each node. Pure. */
import type { KubeObject } from '../api/object.js';
import { nodeSubject } from './grant-plan.js';

/** Bound to all nodes only while the policies are complete. deploy/ has the role. */
export const nodeStatusRole = 'relet:node-status';

export function nodeStatusBinding() {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: nodeStatusRole, labels: { 'app.kubernetes.io/managed-by': 'relet' } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: nodeStatusRole },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' }],
  };
}

export const nodeRoleLabel = 'relet.dev/node-role';
export const nodeRoleName = (node: string): string => `relet:node:${node}`;

/** The role of one node and its binding; the Node owns both. */
export function nodeRoleObjects({
  name,
  uid = '',
}: {
  name: string;
  uid?: string | undefined;
}): [KubeObject, KubeObject] {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const metadata = {
    name: nodeRoleName(name),
    labels: { [nodeRoleLabel]: 'true', 'app.kubernetes.io/managed-by': 'relet' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
  };
  const rules = [
    { apiGroups: ['relet.dev'], resources: ['nodeconfigs/status'], resourceNames: [name], verbs: ['update', 'patch'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: nodeRoleName(name) };
  return [
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects: [nodeSubject(name)] },
  ];
}
