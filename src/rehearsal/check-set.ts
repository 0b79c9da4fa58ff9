/** Validates a NodeConfigSet manifest by its CRD as an API server would, before any server has it. */
import { checkDnsSubdomain } from '../api/names.js';
import type { KubeObject } from '../api/object.js';
import { customResources } from '../memory-api/crd/custom-resource.js';
import { crdSpec } from '../memory-api/crd/definition.js';
import { fieldErrorText } from '../memory-api/field-error.js';
import { DecodeError } from '../memory-api/resource.js';

/** In words, each with the field; `manifests` are those of deploy/base. */
export function setErrors(set: KubeObject, { manifests }: { manifests: readonly KubeObject[] }): string[] {
  const definition = manifests.find(
    (one) => one.kind === 'CustomResourceDefinition' && crdSpec(one).names.kind === 'NodeConfigSet',
  )!;
  const [resource] = customResources(definition);
  const { group, version, strategy, decode } = resource!;
  const apiVersion = `${group}/${version}`;
  if (set.apiVersion !== apiVersion) return [`apiVersion: '${set.apiVersion}' is not served, write ${apiVersion}`];
  try {
    const { object, unknownFields } = decode(set, 'json');
    strategy.setDefaults(object);
    return [
      ...checkDnsSubdomain(object.metadata.name).map((why) => `metadata.name: ${why}`),
      ...unknownFields.map((path) => `unknown field ${path}`),
      ...strategy.validateCreate(object).map(fieldErrorText),
    ];
  } catch (error) {
    if (error instanceof DecodeError) return [error.message];
    throw error;
  }
}
