/**
 * NodeRestriction: a kubelet may write only its own Node, its own Lease and what concerns pods bound to it. The Node
 * authorizer cannot see objects; this can. Above all a node must not choose its own config: reading a ConfigMap follows
 * from being assigned to it, so a node that could set its configSource could read any ConfigMap.
 */

import type { KubeObject } from '../../../api/object.js';
import { quote } from '../../../go/quote.js';
import { nameOf, type Objects, rejection } from '../../../memory-api/admission/rejection.js';
import type { Admission, AdmissionRequest } from '../../../memory-api/admission.js';
import { isSameJson } from '../../../memory-api/json-equality.js';
import { nodeNameOf } from '../well-known.js';
import { admitMirrorPod } from './mirror-pod.js';
import { forbiddenLabels } from './node-labels.js';
import { admitPodDelete, admitPodEviction, admitPodStatus, admitToken } from './node-pods.js';

export function nodeRestriction(objects: Objects): Admission {
  return {
    mutate(request) {
      const node = nodeNameOf(request.attributes.user);
      if (node === undefined) return;
      if (node === '')
        throw rejection(request, `could not determine node from user ${quote(request.attributes.user.name)}`);
      admit(node, request, objects);
    },
    validate() {},
  };
}

function admit(node: string, request: AdmissionRequest, objects: Objects): void {
  const resource = `${request.resource.group}/${request.resource.plural}`;
  if (resource === '/nodes') admitNode(node, request);
  else if (resource === '/pods') admitPod(node, request, objects);
  else if (resource === '/serviceaccounts') admitToken(node, request, objects);
  else if (resource === 'coordination.k8s.io/leases') admitLease(node, request);
}

interface NodeSpec {
  configSource?: unknown;
  taints?: unknown[];
}

function admitNode(node: string, request: AdmissionRequest): void {
  const { operation, object, oldObject } = request;
  const asked = nameOf(request);
  const who = `node ${quote(node)}`;
  if (asked !== node) throw rejection(request, `${who} is not allowed to modify node ${quote(asked)}`);
  if (operation === 'CREATE' && object !== undefined) {
    // Kubernetes names "pods" here.
    if (spec(object).configSource != null)
      throw rejection(request, `${who} is not allowed to create pods with a non-nil configSource`);
    const labels = forbiddenLabels(object.metadata.labels, {});
    if (labels.length > 0)
      throw rejection(request, `${who} is not allowed to set the following labels: ${labels.join(', ')}`);
  }
  if (operation === 'UPDATE' && object !== undefined && oldObject !== undefined)
    admitNodeUpdate(who, request, object, oldObject);
}

/** Setting configSource to nothing is allowed: old kubelets drop a field that they do not know. */
function admitNodeUpdate(who: string, request: AdmissionRequest, object: KubeObject, old: KubeObject): void {
  const { configSource, taints } = spec(object);
  if (configSource != null && !isSameJson(configSource, spec(old).configSource))
    throw rejection(request, `${who} is not allowed to update configSource to a new non-nil configSource`);
  if (!isSameJson(taints ?? [], spec(old).taints ?? []))
    throw rejection(request, `${who} is not allowed to modify taints`);
  const labels = forbiddenLabels(object.metadata.labels, old.metadata.labels);
  if (labels.length > 0) throw rejection(request, `is not allowed to modify labels: ${labels.join(', ')}`);
}

const spec = (object: KubeObject): NodeSpec => (object.spec ?? {}) as NodeSpec;

function admitPod(node: string, request: AdmissionRequest, objects: Objects): void {
  const { operation } = request;
  const { subresource } = request.attributes;
  if (subresource === 'status') admitPodStatus(node, request);
  else if (subresource === 'eviction') admitPodEviction(node, request, objects);
  else if (subresource !== '')
    throw rejection(
      request,
      `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`,
    );
  else if (operation === 'CREATE') admitMirrorPod(node, request, objects);
  else if (operation === 'DELETE') admitPodDelete(node, request, objects);
  else
    throw rejection(
      request,
      `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
}

function admitLease(node: string, request: AdmissionRequest): void {
  const namespace = request.attributes.namespace || request.object?.metadata.namespace;
  if (namespace !== 'kube-node-lease')
    throw rejection(request, 'can only access leases in the "kube-node-lease" system namespace');
  if (nameOf(request) !== node)
    throw rejection(request, 'can only access node lease with the same name as the requesting node');
}
