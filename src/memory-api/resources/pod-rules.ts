/** Validation of Pods: what a kubelet, a drain or an eviction relies on. Everything else is stored as it is. */
import { checkDnsLabel } from '../../api/names.js';
import type { KubeObject } from '../../api/object.js';
import { duplicateField, type FieldError, forbiddenField, invalidField, requiredField } from '../field-error.js';
import { isEquivalent } from '../json-equality.js';
import { type Container, type PodSpec, podSpec } from './pod-parts.js';

export function validatePod(pod: KubeObject): FieldError[] {
  // A missing required list is null.
  const containers = podSpec(pod).containers ?? [];
  const initContainers = podSpec(pod).initContainers ?? [];
  const taken = new Set<string>();
  return [
    ...(containers.length === 0 ? [requiredField('spec.containers')] : []),
    ...validateContainers(containers, 'spec.containers', taken),
    ...validateContainers(initContainers, 'spec.initContainers', taken),
  ];
}

function validateContainers(containers: Container[], path: string, taken: Set<string>): FieldError[] {
  return containers.flatMap(({ name, image = '' }, index) => {
    const at = `${path}[${index}]`;
    const isTaken = taken.size === taken.add(name).size;
    return [
      ...(name === ''
        ? [requiredField(`${at}.name`)]
        : checkDnsLabel(name).map((why) => invalidField(`${at}.name`, name, why))),
      ...(image === '' ? [requiredField(`${at}.image`)] : []),
      ...(isTaken ? [duplicateField(`${at}.name`, name)] : []),
    ];
  });
}

/** Rejects changes of the spec, except for images, the deadline and tolerations. */
export function validatePodUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  if (isEquivalent(withoutMutable(podSpec(pod)), withoutMutable(podSpec(old)))) return [];
  return [
    forbiddenField('spec', 'only images of containers, activeDeadlineSeconds and tolerations of a Pod may change'),
  ];
}

function withoutMutable(spec: PodSpec): object {
  const { activeDeadlineSeconds: _, tolerations: __, containers, initContainers, ...rest } = spec;
  const withoutImages = (list?: Container[]) => list?.map(({ image: _image, ...container }) => container);
  return { ...rest, containers: withoutImages(containers), initContainers: withoutImages(initContainers) };
}
