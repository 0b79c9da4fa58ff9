/**
 * The default roles and bindings of Kubernetes, without those of controllers that this server does not
 * have (system:controller:*). Kept as tables; default-policy.ts makes objects of them.
 */
import { nodeRules } from './node-rules.js';
import type { PolicyRule } from './policy-rule.js';
import { read, readWrite, resourceRule, urlRule, write } from './rule-table.js';

export interface DefaultRole {
  name: string;
  labels?: Record<string, string>;
  /** Empty for aggregated roles. */
  rules: PolicyRule[];
  /** Labels of the roles that this one aggregates. */
  aggregates?: Record<string, string>;
}

const core = '';
const certificates = ['certificates.k8s.io'];
const coordination = ['coordination.k8s.io'];
const storage = ['storage.k8s.io'];

const aggregateTo = (name: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${name}`]: 'true' });

const eventsRule = resourceRule(['create', 'patch', 'update'], [core, 'events.k8s.io'], ['events']);
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

const workloads = ['daemonsets', 'deployments', 'deployments/scale', 'replicasets', 'replicasets/scale'];
const workloadsWithStatus = [...workloads, 'daemonsets/status', 'deployments/status', 'replicasets/status'];

const people: DefaultRole[] = [
  { name: 'admin', rules: [], aggregates: aggregateTo('admin') },
  { name: 'edit', labels: aggregateTo('admin'), rules: [], aggregates: aggregateTo('edit') },
  { name: 'view', labels: aggregateTo('edit'), rules: [], aggregates: aggregateTo('view') },
  {
    name: 'system:aggregate-to-admin',
    labels: aggregateTo('admin'),
    rules: [
      resourceRule(['create'], ['authorization.k8s.io'], ['localsubjectaccessreviews']),
      resourceRule(readWrite, ['rbac.authorization.k8s.io'], ['roles', 'rolebindings']),
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    labels: aggregateTo('edit'),
    rules: [
      resourceRule(
        read,
        [core],
        ['pods/attach', 'pods/proxy', 'pods/exec', 'pods/portforward', 'secrets', 'services/proxy'],
      ),
      resourceRule(['impersonate'], [core], ['serviceaccounts']),
      resourceRule(write, [core], ['pods', 'pods/attach', 'pods/proxy', 'pods/exec', 'pods/portforward']),
      resourceRule(['create'], [core], ['pods/eviction']),
      resourceRule(
        write,
        [core],
        [
          ...[
            'replicationcontrollers',
            'replicationcontrollers/scale',
            'serviceaccounts',
            'services',
            'services/proxy',
          ],
          ...['persistentvolumeclaims', 'configmaps', 'secrets', 'events'],
        ],
      ),
      resourceRule(['create'], [core], ['serviceaccounts/token']),
      resourceRule(write, ['apps'], [...workloads, 'deployments/rollback', 'statefulsets', 'statefulsets/scale']),
      resourceRule(write, ['autoscaling'], ['horizontalpodautoscalers']),
      resourceRule(write, ['batch'], ['jobs', 'cronjobs']),
      resourceRule(
        write,
        ['extensions'],
        [...workloads, 'deployments/rollback', 'ingresses', 'replicationcontrollers/scale', 'networkpolicies'],
      ),
      resourceRule(write, ['policy'], ['poddisruptionbudgets']),
      resourceRule(write, ['networking.k8s.io'], ['networkpolicies', 'ingresses']),
      resourceRule(readWrite, coordination, ['leases']),
    ],
  },
  {
    name: 'system:aggregate-to-view',
    labels: aggregateTo('view'),
    rules: [
      resourceRule(
        read,
        [core],
        [
          ...['pods', 'replicationcontrollers', 'replicationcontrollers/scale', 'serviceaccounts', 'services'],
          ...['services/status', 'endpoints', 'persistentvolumeclaims', 'persistentvolumeclaims/status', 'configmaps'],
        ],
      ),
      resourceRule(
        read,
        [core],
        [
          ...['limitranges', 'resourcequotas', 'bindings', 'events', 'pods/status', 'resourcequotas/status'],
          ...['namespaces/status', 'replicationcontrollers/status', 'pods/log'],
        ],
      ),
      resourceRule(read, [core], ['namespaces']),
      resourceRule(read, ['discovery.k8s.io'], ['endpointslices']),
      resourceRule(
        read,
        ['apps'],
        [...workloadsWithStatus, 'controllerrevisions', 'statefulsets', 'statefulsets/status', 'statefulsets/scale'],
      ),
      resourceRule(read, ['autoscaling'], ['horizontalpodautoscalers', 'horizontalpodautoscalers/status']),
      resourceRule(read, ['batch'], ['jobs', 'cronjobs', 'cronjobs/status', 'jobs/status']),
      resourceRule(
        read,
        ['extensions'],
        [...workloadsWithStatus, 'ingresses', 'ingresses/status', 'replicationcontrollers/scale', 'networkpolicies'],
      ),
      resourceRule(read, ['policy'], ['poddisruptionbudgets', 'poddisruptionbudgets/status']),
      resourceRule(read, ['networking.k8s.io'], ['networkpolicies', 'ingresses', 'ingresses/status']),
    ],
  },
];

const nodes: DefaultRole[] = [
  { name: 'system:node', rules: nodeRules },
  {
    name: 'system:node-problem-detector',
    rules: [resourceRule(['get'], [core], ['nodes']), resourceRule(['patch'], [core], ['nodes/status']), eventsRule],
  },
  {
    name: 'system:node-bootstrapper',
    rules: [resourceRule(['create', 'get', 'list', 'watch'], certificates, ['certificatesigningrequests'])],
  },
  {
    name: 'system:node-proxier',
    rules: [
      resourceRule(['list', 'watch'], [core], ['services', 'endpoints']),
      resourceRule(read, [core], ['nodes']),
      eventsRule,
      resourceRule(['list', 'watch'], ['discovery.k8s.io'], ['endpointslices']),
    ],
  },
  {
    name: 'system:kubelet-api-admin',
    rules: [
      resourceRule(read, [core], ['nodes']),
      resourceRule(['proxy'], [core], ['nodes']),
      resourceRule(['*'], [core], ['nodes/proxy', 'nodes/metrics', 'nodes/stats', 'nodes/log']),
    ],
  },
  ...['nodeclient', 'selfnodeclient'].map((kind) => ({
    name: `system:certificates.k8s.io:certificatesigningrequests:${kind}`,
    rules: [resourceRule(['create'], certificates, [`certificatesigningrequests/${kind}`])],
  })),
  ...[
    ['legacy-unknown', 'kubernetes.io/legacy-unknown'],
    ['kubelet-serving', 'kubernetes.io/kubelet-serving'],
    ['kube-apiserver-client', 'kubernetes.io/kube-apiserver-client'],
    ['kube-apiserver-client-kubelet', 'kubernetes.io/kube-apiserver-client-kubelet'],
  ].map(([short, signer]) => ({
    name: `system:certificates.k8s.io:${short}-approver`,
    rules: [resourceRule(['approve'], certificates, ['signers'], [signer!])],
  })),
];

const components: DefaultRole[] = [
  {
    name: 'system:heapster',
    rules: [
      resourceRule(read, [core], ['events', 'pods', 'nodes', 'namespaces']),
      resourceRule(read, ['extensions'], ['deployments']),
    ],
  },
  { name: 'system:auth-delegator', rules: reviewRules },
  { name: 'system:kube-aggregator', rules: [resourceRule(read, [core], ['services', 'endpoints'])] },
  {
    name: 'system:kube-controller-manager',
    rules: [
      eventsRule,
      resourceRule(['create'], coordination, ['leases']),
      resourceRule(['get', 'update'], coordination, ['leases'], ['kube-controller-manager']),
      resourceRule(['create'], [core], ['secrets', 'serviceaccounts']),
      resourceRule(['delete'], [core], ['secrets']),
      resourceRule(['get'], [core], ['namespaces', 'secrets', 'serviceaccounts', 'configmaps']),
      resourceRule(['update'], [core], ['secrets', 'serviceaccounts']),
      ...reviewRules,
      resourceRule(['list', 'watch'], ['*'], ['*']),
      resourceRule(['create'], [core], ['serviceaccounts/token']),
    ],
  },
  { name: 'system:kube-dns', rules: [resourceRule(['list', 'watch'], [core], ['endpoints', 'services'])] },
  {
    name: 'system:persistent-volume-provisioner',
    rules: [
      resourceRule(['get', 'list', 'watch', 'create', 'delete'], [core], ['persistentvolumes']),
      resourceRule(['get', 'list', 'watch', 'update'], [core], ['persistentvolumeclaims']),
      resourceRule(read, storage, ['storageclasses']),
      resourceRule(['watch'], [core], ['events']),
      eventsRule,
    ],
  },
  {
    name: 'system:volume-scheduler',
    rules: [
      resourceRule([...read, 'update', 'patch'], [core], ['persistentvolumes']),
      resourceRule(read, storage, ['storageclasses']),
      resourceRule([...read, 'update', 'patch'], [core], ['persistentvolumeclaims']),
    ],
  },
  {
    name: 'system:service-account-issuer-discovery',
    rules: [
      urlRule(
        ['get'],
        [
          ...['/.well-known/openid-configuration', '/.well-known/openid-configuration/'],
          ...['/openid/v1/jwks', '/openid/v1/jwks/'],
        ],
      ),
    ],
  },
  {
    name: 'system:kube-scheduler',
    rules: [
      eventsRule,
      resourceRule(['create'], coordination, ['leases']),
      resourceRule(['get', 'update', 'list', 'watch'], coordination, ['leases'], ['kube-scheduler']),
      resourceRule(readWrite, coordination, ['leasecandidates']),
      resourceRule(read, [core], ['nodes']),
      resourceRule([...read, 'delete'], [core], ['pods']),
      resourceRule(['create'], [core], ['pods/binding', 'bindings']),
      resourceRule(['patch', 'update'], [core], ['pods/status']),
      resourceRule(read, [core], ['services', 'replicationcontrollers']),
      resourceRule(read, ['apps', 'extensions'], ['replicasets']),
      resourceRule(read, ['apps'], ['statefulsets']),
      resourceRule(read, ['policy'], ['poddisruptionbudgets']),
      resourceRule(read, [core], ['persistentvolumeclaims', 'persistentvolumes']),
      ...reviewRules,
      resourceRule(read, storage, ['csinodes']),
      resourceRule(read, storage, ['volumeattachments']),
      resourceRule(read, [core], ['namespaces']),
      resourceRule(read, storage, ['csidrivers']),
      resourceRule(read, storage, ['csistoragecapacities']),
    ],
  },
];

export const defaultClusterRoles: DefaultRole[] = [...everyone, ...people, ...nodes, ...components];
