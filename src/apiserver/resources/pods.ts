/** Pods: enough of them for `kubectl run`, `describe node` and `drain`; what runs them is a kubelet's matter. */
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../api/field-error.js';
import { checkDnsLabel, checkDnsSubdomain } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { compareQuantities, parseQuantity } from '../../api/quantity.js';
import { builtIn, keepOtherPart } from './define.js';
import { isEqual } from './equal.js';
import { podColumns } from './pod-columns.js';
import { setPodDefaults } from './pod-defaults.js';
import { type Container, type PodSpec, podSpec, podStatus, qosClass } from './pod-parts.js';

const statusVerbs = ['get', 'patch', 'update'];

export const pods = builtIn({
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
  returnsDeleted: true,
  statusResets: ['metadata.deletionTimestamp', 'metadata.ownerReferences'],
  setDefaults: setPodDefaults,
  prepareForCreate(pod) {
    pod.status = { phase: 'Pending', qosClass: qosClass(podSpec(pod)) };
  },
  prepareForUpdate: keepOtherPart,
  validateCreate: validate,
  validateUpdate: (pod, old, subresource) =>
    subresource === '' ? [...validate(pod), ...validateSpecUpdate(podSpec(pod), podSpec(old))] : [],
  /** Without a node, or when it ended by itself, nobody would confirm the end of the pod. */
  gracePeriodSeconds(pod, requested) {
    const { nodeName, terminationGracePeriodSeconds = 0 } = podSpec(pod);
    const { phase } = podStatus(pod);
    if (!nodeName || phase === 'Failed' || phase === 'Succeeded') return 0;
    const period = requested ?? terminationGracePeriodSeconds;
    return period < 0 ? 1 : period;
  },
});

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const restartPolicies = ['Always', 'OnFailure', 'Never'];

function validate(pod: KubeObject): FieldError[] {
  const spec = podSpec(pod);
  const containers = spec.containers ?? [];
  const errors = containers.length === 0 ? [requiredField('spec.containers')] : [];
  errors.push(...validateContainers(containers, 'spec.containers', new Set()));
  errors.push(...validateContainers(spec.initContainers ?? [], 'spec.initContainers', names(containers)));
  if (!restartPolicies.includes(spec.restartPolicy ?? ''))
    errors.push(unsupportedField('spec.restartPolicy', spec.restartPolicy, restartPolicies));
  if (!dnsPolicies.includes(spec.dnsPolicy ?? '')) {
    errors.push(unsupportedField('spec.dnsPolicy', spec.dnsPolicy, dnsPolicies));
  }
  if (spec.nodeName) {
    errors.push(...checkDnsSubdomain(spec.nodeName).map((why) => invalidField('spec.nodeName', spec.nodeName, why)));
  }
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    errors.push(
      invalidField(
        'spec.terminationGracePeriodSeconds',
        spec.terminationGracePeriodSeconds,
        'must be greater than or equal to 0',
      ),
    );
  return errors;
}

function names(containers: Container[]): Set<string> {
  return new Set(containers.map(({ name }) => name));
}

function validateContainers(containers: Container[], path: string, taken: Set<string>): FieldError[] {
  return containers.flatMap((container, index) => {
    const { name, image = '' } = container;
    const at = `${path}[${index}]`;
    const errors =
      name === ''
        ? [requiredField(`${at}.name`)]
        : checkDnsLabel(name).map((message) => invalidField(`${at}.name`, name, message));
    if (taken.has(name)) errors.push(duplicateField(`${at}.name`, name));
    taken.add(name);
    if (image.trim() === '') errors.push(requiredField(`${at}.image`));
    return [...errors, ...validateParts(container, at)];
  });
}

const pullPolicies = ['Always', 'IfNotPresent', 'Never'];

function validateParts({ imagePullPolicy = '', ports = [], resources = {} }: Container, at: string): FieldError[] {
  const errors = ports.flatMap(({ containerPort }, index) => validatePort(containerPort, `${at}.ports[${index}]`));
  if (!pullPolicies.includes(imagePullPolicy)) {
    errors.push(unsupportedField(`${at}.imagePullPolicy`, imagePullPolicy, pullPolicies));
  }
  const { requests = {}, limits = {} } = resources;
  for (const [name, limit] of Object.entries(limits)) {
    const request = requests[name];
    if (request === undefined || isAtMost(request, limit)) continue;
    const why = `must be less than or equal to ${name} limit of ${limit}`;
    errors.push(invalidField(`${at}.resources.requests`, request, why));
  }
  return errors;
}

/** Both were read as quantities before. */
function isAtMost(request: string, limit: string): boolean {
  return compareQuantities(parseQuantity(request)!, parseQuantity(limit)!) <= 0;
}

function validatePort(port: number, at: string): FieldError[] {
  if (port === 0) return [requiredField(`${at}.containerPort`)];
  const isPort = port > 0 && port < 65_536;
  return isPort ? [] : [invalidField(`${at}.containerPort`, port, 'must be between 1 and 65535, inclusive')];
}

const maxDeadline = 2 ** 31 - 1;
const mutableFields =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function validateSpecUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  const counted = (['containers', 'initContainers'] as const).find((part) => spec[part]?.length !== old[part]?.length);
  if (counted !== undefined) return [forbiddenField(`spec.${counted}`, 'pod updates may not add or remove containers')];
  const deadline = validateDeadlineUpdate(spec, old);
  // Kubernetes looks no further once it has seen a deadline that cannot be.
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return deadline;
  return [...deadline, ...validateTolerationsUpdate(spec, old), ...validateFixedParts(spec, old)];
}

function validateFixedParts(spec: PodSpec, old: PodSpec): FieldError[] {
  const comparable = { ...spec, ...withoutMutable(spec) };
  const before = { ...old, ...withoutMutable(old) };
  return isEqual(comparable, before) ? [] : [forbiddenField('spec', mutableFields)];
}

/** A deadline may be set and come nearer. */
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

/** Tolerations are added; of those that are there only the seconds change. */
function validateTolerationsUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  const timeless = (tolerations: Record<string, unknown>[] = []) =>
    tolerations.map(({ tolerationSeconds: _, ...toleration }) => toleration);
  const now = timeless(spec.tolerations);
  const isKept = timeless(old.tolerations).every((toleration) => now.some((entry) => isEqual(entry, toleration)));
  return isKept
    ? []
    : [forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

/** The fields that may change, made equal on both sides. */
function withoutMutable(spec: PodSpec): Record<string, unknown> {
  const sameImage = (containers?: Container[]) => containers?.map((container) => ({ ...container, image: '' }));
  return {
    containers: sameImage(spec.containers),
    initContainers: sameImage(spec.initContainers),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
  };
}
