/** All built-in kinds, in the order of discovery. */
import type { Resource } from '../resource.js';
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from './admission-policies.js';
import { configMaps } from './configmaps.js';
import { events } from './events.js';
import { eventsView } from './events-view.js';
import { csiDrivers, csiNodes, runtimeClasses } from './for-kubelets.js';
import { cronJobs, jobs } from './jobs.js';
import { leases, serviceAccounts } from './leases-and-accounts.js';
import { limitRanges, podDisruptionBudgets, resourceQuotas } from './limits.js';
import { namespaces } from './namespaces.js';
import { endpoints, ingresses, services } from './networking.js';
import { type NodeOptions, nodes } from './nodes.js';
import { pods } from './pods.js';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './rbac.js';
import { secrets } from './secrets.js';
import { persistentVolumeClaims, persistentVolumes } from './volumes.js';
import {
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  replicationControllers,
  statefulSets,
} from './workloads.js';

export type BuiltInOptions = NodeOptions;

export function builtInResources(options: BuiltInOptions): Resource[] {
  return [
    configMaps,
    endpoints,
    events,
    limitRanges,
    namespaces,
    nodes(options),
    persistentVolumeClaims,
    persistentVolumes,
    pods,
    replicationControllers,
    resourceQuotas,
    secrets,
    serviceAccounts,
    services,
    controllerRevisions,
    daemonSets,
    deployments,
    replicaSets,
    statefulSets,
    eventsView,
    cronJobs,
    jobs,
    ingresses,
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
