/** All built-in kinds, in the order of discovery. */
import type { Resource } from '../resource.js';
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from './admission-policies.js';
import { configMaps } from './configmaps.js';
import { podDisruptionBudgets } from './disruption-budgets.js';
import { events } from './events.js';
import { csiDrivers, csiNodes, runtimeClasses } from './for-kubelets.js';
import { leases, serviceAccounts } from './leases-and-accounts.js';
import { namespaces } from './namespaces.js';
import { type NodeOptions, nodes } from './nodes.js';
import { pods } from './pods.js';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './rbac.js';
import { secrets } from './secrets.js';
import { daemonSets, deployments, replicaSets, services, statefulSets } from './workloads.js';

export type BuiltInOptions = NodeOptions;

export function builtInResources(options: BuiltInOptions): Resource[] {
  return [
    configMaps,
    events,
    namespaces,
    nodes(options),
    pods,
    secrets,
    serviceAccounts,
    services,
    daemonSets,
    deployments,
    replicaSets,
    statefulSets,
    podDisruptionBudgets,
    clusterRoleBindings,
    clusterRoles,
    roleBindings,
    roles,
    csiDrivers,
    csiNodes,
    validatingAdmissionPolicies,
    validatingAdmissionPolicyBindings,
    leases,
    runtimeClasses,
  ];
}
