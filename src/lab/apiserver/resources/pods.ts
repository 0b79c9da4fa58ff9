/** Pods: enough of them for `kubectl run`, `describe node` and `drain`; kubelets run them. */

import type { KubeObject } from '../../../api/object.js';
import { type FieldError, forbiddenField, invalidField } from '../field-error.js';
import { identityOf, isEquivalent } from '../json-equality.js';
import { defineResource, keepOtherPart } from './define.js';
import { podColumns } from './pod-columns.js';
import { setPodDefaults } from './pod-defaults.js';
import { type Container, type PodSpec, podSpec, podStatus, qosClass } from './pod-parts.js';
import { validateNewPod, validatePod } from './pod-rules.js';

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
    binding: { kind: 'Binding', verbs: ['create'] },
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
  validateCreate: validateNewPod,
  validateUpdate: (pod, old, subresource) =>
    subresource === '' ? [...validatePod(pod), ...validateSpecUpdate(podSpec(pod), podSpec(old))] : [],
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

const maxDeadline = 2 ** 31 - 1;
const mutableFields =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function validateSpecUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  const counted = (['containers', 'initContainers'] as const).find((part) => spec[part]?.length !== old[part]?.length);
  if (counted !== undefined) return [forbiddenField(`spec.${counted}`, 'pod updates may not add or remove containers')];
  const deadline = validateDeadlineUpdate(spec, old);
  // Kubernetes stops at an invalid deadline.
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return deadline;
  return [...deadline, ...validateTolerationsUpdate(spec, old), ...validateFixedParts(spec, old)];
}

function validateFixedParts(spec: PodSpec, old: PodSpec): FieldError[] {
  const comparable = { ...spec, ...withoutMutable(spec) };
  const before = { ...old, ...withoutMutable(old) };
  return isEquivalent(comparable, before) ? [] : [forbiddenField('spec', mutableFields)];
}

/** A deadline may be set and decreased. */
function validateDeadlineUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  const { activeDeadlineSeconds: deadline } = spec;
  const { activeDeadlineSeconds: before } = old;
  const at = 'spec.activeDeadlineSeconds';
  if (deadline === undefined)
    return before === undefined
      ? []
      : [invalidField(at, undefined, 'must not update from a positive integer to nil value')];
  if (deadline < 0 || deadline > maxDeadline)
    return [invalidField(at, deadline, `must be between 0 and ${maxDeadline}, inclusive`)];
  if (before !== undefined && deadline > before)
    return [invalidField(at, deadline, 'must be less than or equal to previous value')];
  return [];
}

/** Tolerations may be added; of existing ones only the seconds may change. */
function validateTolerationsUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  const timeless = (tolerations: Record<string, unknown>[] = []) =>
    tolerations.map(({ tolerationSeconds: _, ...toleration }) => toleration);
  const now = new Set(timeless(spec.tolerations).map(identityOf));
  const isKept = timeless(old.tolerations).every((toleration) => now.has(identityOf(toleration)));
  return isKept
    ? []
    : [forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

/** The fields that may change, set to the same value on both sides. */
function withoutMutable(spec: PodSpec): Record<string, unknown> {
  const sameImage = (containers?: Container[]) => containers?.map((container) => ({ ...container, image: '' }));
  return {
    containers: sameImage(spec.containers),
    initContainers: sameImage(spec.initContainers),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
  };
}
