/** Helpers of the admission plugins: read stored objects, name the object of a request, and build the error that rejects it. */
import type { KubeObject } from '../../api/object.js';
import type { ApiError } from '../../api/status.js';
import type { AdmissionRequest } from '../admission.js';
import { forbidden } from '../status-error.js';

/** Reads stored objects as they are now. */
export interface Objects {
  find(key: { group: string; resource: string; namespace: string; name: string }): KubeObject | undefined;
}

/** The name in the request or the object; empty where one will be generated later. */
export const nameOf = ({ attributes, object }: AdmissionRequest): string =>
  attributes.name || object?.metadata?.name || '';

export const resourceOf = ({ resource }: AdmissionRequest) => ({ group: resource.group, resource: resource.plural });

/** Whether the request is about this resource, and about the object itself unless a subresource is named. */
export function isAbout({ resource, attributes }: AdmissionRequest, plural: string, subresource = ''): boolean {
  return resource.group === '' && resource.plural === plural && attributes.subresource === subresource;
}

export function rejection(request: AdmissionRequest, why: string): ApiError {
  const name = nameOf(request) || request.object?.metadata?.generateName || 'Unknown';
  return forbidden(resourceOf(request), name, why);
}
