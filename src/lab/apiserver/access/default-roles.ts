/**
 * The default roles of Kubernetes for people and nodes, without those of components that a lab does not have. Kept as
 * tables; default-policy.ts makes objects of them.
 */
import { nodeRules } from './node-rules.js';
import type { PolicyRule } from './policy-rule.js';
import { read, readWrite, resourceRule, urlRule, write } from './rule-table.js';

export interface DefaultRole {
  name: string;
  rules: PolicyRule[];
}

const core = '';
const coordination = ['coordination.k8s.io'];

const reviewRules = [
  resourceRule(['create'], ['authentication.k8s.io'], ['tokenreviews']),
  resourceRule(['create'], ['authorization.k8s.io'], ['subjectaccessreviews']),
];
const health = ['/livez', '/readyz', '/healthz'];

const everyone: DefaultRole[] = [
  { name: 'cluster-admin', rules: [resourceRule(['*'], ['*'], ['*']), urlRule(['*'], ['*'])] },
  {
    name: 'system:discovery',
    rules: [
      urlRule(
        ['get'],
        [...health, '/version', '/version/', '/openapi', '/openapi/*', '/api', '/api/*', '/apis', '/apis/*'],
      ),
    ],
  },
  {
    name: 'system:monitoring',
    rules: [urlRule(['get'], ['/metrics', '/metrics/slis', ...health, '/livez/*', '/readyz/*', '/healthz/*'])],
  },
  {
    name: 'system:basic-user',
    rules: [
      resourceRule(['create'], ['authorization.k8s.io'], ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
      resourceRule(['create'], ['authentication.k8s.io'], ['selfsubjectreviews']),
    ],
  },
  { name: 'system:public-info-viewer', rules: [urlRule(['get'], [...health, '/version', '/version/'])] },
];

const workloads = ['daemonsets', 'deployments', 'replicasets', 'statefulsets'];

const viewRules = [
  resourceRule(read, [core], ['pods', 'pods/status', 'serviceaccounts', 'services', 'services/status']),
  resourceRule(read, [core], ['configmaps', 'events', 'namespaces', 'namespaces/status']),
  resourceRule(read, ['apps'], [...workloads, ...workloads.map((name) => `${name}/status`)]),
  resourceRule(read, ['policy'], ['poddisruptionbudgets', 'poddisruptionbudgets/status']),
];
const editRules = [
  ...viewRules,
  resourceRule(read, [core], ['secrets']),
  resourceRule(['impersonate'], [core], ['serviceaccounts']),
  resourceRule(write, [core], ['pods', 'serviceaccounts', 'services', 'configmaps', 'secrets', 'events']),
  resourceRule(['create'], [core], ['pods/eviction', 'serviceaccounts/token']),
  resourceRule(write, ['apps'], workloads),
  resourceRule(write, ['policy'], ['poddisruptionbudgets']),
  resourceRule(readWrite, coordination, ['leases']),
];
const adminRules = [
  ...editRules,
  resourceRule(['create'], ['authorization.k8s.io'], ['localsubjectaccessreviews']),
  resourceRule(readWrite, ['rbac.authorization.k8s.io'], ['roles', 'rolebindings']),
];
const people: DefaultRole[] = [
  { name: 'admin', rules: adminRules },
  { name: 'edit', rules: editRules },
  { name: 'view', rules: viewRules },
];

const nodes: DefaultRole[] = [
  { name: 'system:node', rules: nodeRules },
  {
    name: 'system:kubelet-api-admin',
    rules: [
      resourceRule(read, [core], ['nodes']),
      resourceRule(['proxy'], [core], ['nodes']),
      resourceRule(['*'], [core], ['nodes/proxy', 'nodes/metrics', 'nodes/stats', 'nodes/log']),
    ],
  },
  { name: 'system:auth-delegator', rules: reviewRules },
];

export const defaultClusterRoles: DefaultRole[] = [...everyone, ...people, ...nodes];
