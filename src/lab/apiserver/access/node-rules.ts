/** Rights of every node, as the ClusterRole `system:node` lists them; the Node authorizer narrows some of them further. */
import type { PolicyRule } from './policy-rule.js';
import { read, resourceRule } from './rule-table.js';

const core = '';

export const nodeRules: PolicyRule[] = [
  resourceRule(['create'], ['authentication.k8s.io'], ['tokenreviews']),
  resourceRule(['create'], ['authorization.k8s.io'], ['localsubjectaccessreviews', 'subjectaccessreviews']),
  resourceRule(read, [core], ['services']),
  resourceRule(['create', 'get', 'list', 'watch'], [core], ['nodes']),
  resourceRule(['patch', 'update'], [core], ['nodes/status']),
  resourceRule(['patch', 'update'], [core], ['nodes']),
  resourceRule(['create', 'patch', 'update'], [core], ['events']),
  resourceRule(read, [core], ['pods']),
  resourceRule(['create', 'delete'], [core], ['pods']),
  resourceRule(['patch', 'update'], [core], ['pods/status']),
  resourceRule(['create'], [core], ['pods/eviction']),
  resourceRule(read, [core], ['configmaps', 'secrets']),
  resourceRule(['get'], [core], ['persistentvolumeclaims', 'persistentvolumes']),
  resourceRule(['get'], [core], ['endpoints']),
  resourceRule(['create', 'get', 'list', 'watch'], ['certificates.k8s.io'], ['certificatesigningrequests']),
  resourceRule(['create', 'delete', 'get', 'patch', 'update'], ['coordination.k8s.io'], ['leases']),
  resourceRule(['get'], ['storage.k8s.io'], ['volumeattachments']),
  resourceRule(['create'], [core], ['serviceaccounts/token']),
  resourceRule(['get', 'patch', 'update'], [core], ['persistentvolumeclaims/status']),
  resourceRule(read, ['storage.k8s.io'], ['csidrivers']),
  resourceRule(['create', 'delete', 'get', 'patch', 'update'], ['storage.k8s.io'], ['csinodes']),
  resourceRule(read, ['node.k8s.io'], ['runtimeclasses']),
];
