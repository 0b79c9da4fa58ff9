/** Every kind that this server has from the start, in the order discovery lists them. */
import type { Resource } from '../resource.js';
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from './admission-policies.js';
import { configMaps } from './configmaps.js';
import { deployments } from './deployments.js';
import { events } from './events.js';
import { eventsView } from './events-view.js';
import { csiDrivers, csiNodes, runtimeClasses, services } from './for-kubelets.js';
import { leases, serviceAccounts } from './leases-and-accounts.js';
import { namespaces } from './namespaces.js';
import { type NodeOptions, nodes } from './nodes.js';
import { pods } from './pods.js';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './rbac.js';
import { secrets } from './secrets.js';

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
    deployments,
    leases,
    eventsView,
    runtimeClasses,
    clusterRoleBindings,
    clusterRoles,
    roleBindings,
    roles,
    csiDrivers,
    csiNodes,
    validatingAdmissionPolicies,
    validatingAdmissionPolicyBindings,
  ];
}
