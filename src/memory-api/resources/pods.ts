/** Pods: enough of them for `kubectl run`, `describe node` and `drain`; kubelets run them. */

import type { KubeObject } from '../../api/object.js';
import { defineResource, keepOtherPart } from './define.js';
import { podColumns } from './pod-columns.js';
import { setPodDefaults } from './pod-defaults.js';
import { podSpec, podStatus, qosClass } from './pod-parts.js';
import { validatePod, validatePodUpdate } from './pod-rules.js';

const statusVerbs = ['get', 'patch', 'update'];

export const pods = defineResource({
  kind: 'Pod',
  plural: 'pods',
  revalidatesMeta: true,
  shape: 'core.v1.Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  subresources: {
    eviction: { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
    status: { kind: 'Pod', verbs: statusVerbs },
  },
  columns: podColumns,
  rows: { conditions: endOf },
  selectableFields: {
    'spec.nodeName': (pod) => podSpec(pod).nodeName ?? '',
    'spec.restartPolicy': (pod) => podSpec(pod).restartPolicy ?? '',
    'spec.schedulerName': (pod) => podSpec(pod).schedulerName ?? '',
    'spec.serviceAccountName': (pod) => podSpec(pod).serviceAccountName ?? '',
    'spec.hostNetwork': (pod) => String(podSpec(pod).hostNetwork ?? false),
    'status.phase': (pod) => podStatus(pod).phase ?? '',
    'status.podIP': (pod) => podStatus(pod).podIPs?.[0]?.ip ?? '',
    'status.nominatedNodeName': (pod) => podStatus(pod).nominatedNodeName ?? '',
  },
  statusResetFields: ['metadata.deletionTimestamp', 'metadata.ownerReferences'],
  setDefaults(pod) {
    setPodDefaults(pod);
    if (pod.status !== undefined) agreeOnAddress(pod);
  },
  prepareForCreate(pod) {
    pod.status = { phase: 'Pending', qosClass: qosClass(podSpec(pod)) };
  },
  prepareForUpdate: keepOtherPart,
  validateCreate: validatePod,
  validateUpdate: (pod, old, subresource) =>
    subresource === '' ? [...validatePod(pod), ...validatePodUpdate(pod, old)] : [],
  deletion: { returnsObject: true, gracePeriodSeconds },
});

/** 0 without a node, or for a pod that has ended: no kubelet would confirm its end. */
function gracePeriodSeconds(pod: KubeObject, requested: number | undefined): number {
  const { nodeName, terminationGracePeriodSeconds = 0 } = podSpec(pod);
  const { phase } = podStatus(pod);
  if (!nodeName || phase === 'Failed' || phase === 'Succeeded') return 0;
  const period = requested ?? terminationGracePeriodSeconds;
  return period < 0 ? 1 : period;
}

/** The condition of a pod that has ended. */
function endOf(pod: KubeObject): object[] {
  const { phase } = podStatus(pod);
  const end = { type: 'Completed', status: 'True', reason: phase };
  if (phase === 'Succeeded') return [{ ...end, message: 'The pod has completed successfully.' }];
  return phase === 'Failed' ? [{ ...end, message: 'The pod failed.' }] : [];
}

/** podIP is the first of podIPs; where both are given and differ, podIP takes precedence. */
function agreeOnAddress(pod: KubeObject): void {
  const status = podStatus(pod);
  const [first] = status.podIPs ?? [];
  if (status.podIP && first?.ip !== status.podIP) status.podIPs = [{ ip: status.podIP }];
  else if (!status.podIP && first?.ip) status.podIP = first.ip;
}
