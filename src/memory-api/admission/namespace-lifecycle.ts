/**
 * NamespaceLifecycle: no objects are created in missing or terminating namespaces, and three namespaces cannot be
 * deleted.
 */

import type { Admission, AdmissionRequest } from '../admission.js';
import { notFound } from '../status-error.js';
import { nameOf, type Objects, rejection } from './rejection.js';

const immortal = new Set(['default', 'kube-system', 'kube-public']);

export function namespaceLifecycle(objects: Objects): Admission {
  return {
    mutate(request) {
      const { operation, resource, attributes } = request;
      const isNamespace = resource.group === '' && resource.plural === 'namespaces';
      if (isNamespace && operation === 'DELETE' && immortal.has(nameOf(request)))
        throw rejection(request, 'this namespace may not be deleted');
      if (!resource.namespaced || operation === 'DELETE' || isReview(request)) return;
      const name = attributes.namespace || request.object?.metadata.namespace || '';
      const namespace = objects.find({ group: '', resource: 'namespaces', namespace: '', name });
      if (namespace === undefined) throw notFound({ group: '', resource: 'namespaces' }, name);
      if (operation === 'CREATE' && namespace.metadata.deletionTimestamp !== undefined)
        throw terminating(request, name);
    },
    validate() {},
  };
}

/** Access reviews may be about missing namespaces. */
const isReview = ({ resource }: AdmissionRequest) => resource.group === 'authorization.k8s.io';

function terminating(request: AdmissionRequest, namespace: string) {
  const error = rejection(
    request,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  error.status.details = {
    ...error.status.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  };
  return error;
}
